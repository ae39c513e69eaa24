"""Python's ``multiprocessing`` for tensors: what is sent to another process shares its memory.

Everything of the standard module is here too. A tensor that goes through a queue, a pipe, a pool,
a manager or the arguments of a process is moved to shared memory and only a handle travels; both
processes then see what either writes. The sending process must live until the tensor has arrived.

Shared memory has no name in a file system: it ends with the last process that uses it, however
that process ends.
"""

# Shared memory comes in two ways: as descriptors ("file_descriptor"), one for each storage, or as
# System V segments ("file_system"), which need no descriptor and also serve where those run short.

from multiprocessing import *  # noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.multiprocessing import reductions as reductions
from facula.multiprocessing.reductions import init_reductions as init_reductions
from facula.multiprocessing.spawn import ProcessContext as ProcessContext
from facula.multiprocessing.spawn import ProcessExitedException as ProcessExitedException
from facula.multiprocessing.spawn import ProcessRaisedException as ProcessRaisedException
from facula.multiprocessing.spawn import SpawnContext as SpawnContext
from facula.multiprocessing.spawn import spawn as spawn
from facula.multiprocessing.spawn import start_processes as start_processes

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory is shared from now on.

    Args:
        new_strategy: ``"file_descriptor"`` takes an open descriptor for each storage,
            ``"file_system"`` takes none, for programs that share thousands of tensors.

    Example:
        >>> facula.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"set_sharing_strategy: expected one of {sorted(_STRATEGIES)}, got {new_strategy!r}."
        )
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """How memory is shared.

    Example:
        >>> facula.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return _strategy


def get_all_sharing_strategies() -> set[str]:
    """The ways to share memory that there are.

    Example:
        >>> sorted(facula.multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


init_reductions()

if not _TYPE_CHECKING:
    __all__ = _public_names(globals(), "reducer", "reductions")

"""A doctor for mistakes that spoil a training without an error.

``facula doctor train.py`` runs a program and tells what it found; ``with facula.doctor.watch():``
does so for a block, :func:`enable` from now on. Each finding has an id, the lines concerned, why it
matters and what to write instead. ``# facula: ignore[F101]`` at the end of a line silences it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from facula.doctor._finding import Finding, Place
from facula.doctor._watch import Watch, _to_stderr

__all__ = ["Finding", "Place", "Watch", "disable", "enable", "watch"]


def watch(ignore: Iterable[str] = (), tell: Callable[[Finding], Any] = _to_stderr) -> Watch:
    """Watch the operations, modules, optimisers and loaders that a block uses.

    Args:
        ignore: ids of checks, or ids with a place as in ``"F101:train.py:12"``, that are not told.
        tell: is called with each new :class:`Finding`; prints it to standard error by default.

    Returns:
        The :class:`Watch`, a context manager whose ``findings`` is the list of what was found.

    Example:
        >>> import facula.doctor
        >>> with facula.doctor.watch() as watch:
        ...     loss = facula.ones(3, requires_grad=True).sum()
        >>> watch.findings
        []
    """
    return Watch(ignore, tell)


def enable(ignore: Iterable[str] = (), tell: Callable[[Finding], Any] = _to_stderr) -> Watch:
    """Watch the rest of the program, until :func:`disable`.

    Args:
        ignore: as for :func:`watch`.
        tell: as for :func:`watch`.

    Returns:
        The watch that is on: this one, or the one that was on already.

    Example:
        >>> import facula.doctor
        >>> watch = facula.doctor.enable()
        >>> facula.doctor.disable()
        >>> watch.findings
        []
    """
    if Watch.current is None:
        Watch(ignore, tell).start()
    assert Watch.current is not None
    return Watch.current


def disable() -> None:
    """End the watch that is on, if there is one.

    Example:
        >>> import facula.doctor
        >>> facula.doctor.disable()
    """
    if Watch.current is not None:
        Watch.current.stop()

"""What programs for PyTorch 0.1 to 0.4 expect, and later versions do otherwise.

Older names and arguments are understood in every program. Here are the rules that contradict those
of today, for programs that ``facula run`` takes for one of that time: ``docs/era.md`` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from facula.compat.era._source import compiled

__all__ = ["compiled", "enable"]

_enabled: str | None = None


def enable(version: str) -> None:
    """Follow the rules of an early version of PyTorch in this process.

    Args:
        version: the version that the program was written for, such as ``"0.3"``.

    Raises:
        ValueError: if it is no version from 0.1 to 0.4.
    """
    global _enabled
    if _enabled is not None:
        return
    numbers = _parsed(version)
    from facula.compat.era._mode import Era

    _enabled = version
    _read_older_sources()
    _keep_gradients()
    _begin_schedules_at_the_first_step()
    if numbers < (0, 4):
        _tell_variables_from_tensors()
        _pack_into_pairs()
    # For as long as the process lives: there is no end of a program to leave it at.
    Era(numbers).__enter__()


def _parsed(version: str) -> tuple[int, int]:
    parts = version.split(".")
    if len(parts) < 2 or parts[0] != "0" or parts[1] not in ["1", "2", "3", "4"]:
        raise ValueError(f"era: expected a version from 0.1 to 0.4, got {version!r}.")
    return 0, int(parts[1])


def _read_older_sources() -> None:
    """Let modules of the program be read as the program itself is."""
    from importlib.machinery import SourceFileLoader

    def source_to_code(self: Any, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        try:
            return read(self, data, path, _optimize=_optimize)
        except SyntaxError:
            return compiled(data, path)

    read: Any = SourceFileLoader.source_to_code
    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]


def _keep_gradients() -> None:
    """zero_grad() filled gradients with zeros, and never took them away."""
    from facula.nn import Module
    from facula.optim import Optimizer

    Module.zero_grad.__defaults__ = Optimizer.zero_grad.__defaults__ = (False,)


def _begin_schedules_at_the_first_step() -> None:
    """scheduler.step() stood at the beginning of an epoch: the first call set the first rate."""
    from facula.optim.lr_scheduler import LRScheduler

    def initial_step(self: LRScheduler) -> None:
        begin(self)
        self.last_epoch -= 1
        self._step_count = 2  # that the optimiser has not made a step is right

    begin = LRScheduler._initial_step
    LRScheduler._initial_step = initial_step  # type: ignore[method-assign]


def _tell_variables_from_tensors() -> None:
    from facula._tensor import attach
    from facula.autograd import _backward
    from facula.autograd.variable import _VariableType
    from facula.compat.era._stochastic import reinforce, roots_as_they_were
    from facula.compat.era._variables import is_variable, mark_variable

    _VariableType._is_variable = staticmethod(is_variable)
    _VariableType._mark = staticmethod(mark_variable)
    _backward._older_roots = roots_as_they_were
    attach("reinforce", reinforce)


def _pack_into_pairs() -> None:
    """``data, batch_sizes = pack_padded_sequence(...)``, in the program's own lines."""
    import os
    import sys

    import facula
    from facula._notes import note
    from facula.nn.utils.rnn import PackedSequence

    ours = os.path.dirname(os.path.abspath(facula.__file__)) + os.sep

    def pair(self: PackedSequence) -> Iterator[Any]:
        if sys._getframe(1).f_code.co_filename.startswith(ours):
            return tuple.__iter__(self)
        note("A PackedSequence of two parts is an older form: read its data and batch_sizes.")
        return iter(self[:2])

    PackedSequence.__iter__ = pair  # type: ignore[method-assign,assignment]

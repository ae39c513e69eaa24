"""Errors that say in which module of a model they were raised."""

from __future__ import annotations

import sys
from contextlib import suppress
from itertools import chain
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from facula._core import Tensor
from facula._ops._arguments import advice, type_name

if TYPE_CHECKING:
    from facula.nn.modules.module import Module


def note_failing_module(root: Module, error: Exception) -> None:
    """Note on an error that leaves the outermost module which module inside has raised it.

    The traceback holds the calls of the modules in between, so that a successful call need not keep
    any record.
    """
    call = sys._getframe(1).f_code  # Module.__call__
    # Only the outermost call writes a note: inner ones see a call of a module above them. The
    # frames are walked when there is an error, so that calls that succeed need no counter of depth.
    outer: FrameType | None = sys._getframe(2)
    while outer is not None:
        if outer.f_code is call:
            return
        outer = outer.f_back
    with suppress(Exception):  # a user's __repr__ may raise, and must not hide the first error
        for note in (_describe(root, call, error), _no_tensor(error)):
            if note:
                _add_note(error, note)


def _describe(root: Module, call: CodeType, error: Exception) -> str:
    """Path and text of the innermost module whose call is in the traceback; "" for the root."""
    path: list[str] = []
    failing = root
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is call:
            module = trace.tb_frame.f_locals["self"]
            inside = chain(failing.named_children(), failing.named_modules())
            name = next((name for name, m in inside if m is module), "")
            if name:
                path.append(name)
                failing = module
        trace = trace.tb_next
    if not path:
        return ""
    text = repr(failing)
    text = f"{type(failing).__name__}(...)" if "\n" in text else text
    return f"{'.'.join(path)}: {text}"


def _no_tensor(error: Exception) -> str:
    """What was given instead of a tensor, if an attribute of tensors was asked of it."""
    if not isinstance(error, AttributeError) or not hasattr(Tensor, error.name or ""):
        return ""
    convert = advice(error.obj)
    return convert and f"expected a tensor, got {type_name(error.obj)}.{convert}"


def _add_note(error: Exception, note: str) -> None:
    if sys.version_info >= (3, 11):
        error.add_note(note)
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{note}", *error.args[1:])

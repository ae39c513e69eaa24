"""Warnings that name the user's line."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import warnings
from types import FrameType

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Frames of ours, and of Python where it imports our modules.
_told: set[str] = set()  # by this process
_BETWEEN = _PACKAGE, os.path.dirname(os.path.abspath(importlib.__file__)) + os.sep, "<frozen"


@functools.lru_cache(maxsize=4096)
def _is_between(file: str) -> bool:
    return file.startswith(_BETWEEN)


def user_frame() -> FrameType | None:
    """The frame of the program that called the package; None if the package runs by itself."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def line_text(file: str, line: int, *, from_here: bool = False) -> str:
    """How a line of the program is named to a person: by its file, or by its cell in a notebook.

    Args:
        file: the file as Python knows it; that of a cell is a name which nobody has seen.
        line: the number of the line, from 1.
        from_here: name a file below the current folder by its way from there.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        kind_and_name = shell.compile.format_code_name(file)
        if kind_and_name is not None:
            return f"{' '.join(kind_and_name)}, line {line}"
    path = os.path.relpath(file) if from_here and os.path.isabs(file) else file
    return f"{file if path.startswith('..') else path}:{line}"


def warn_user(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn at the line of the program that called the package, however deep in it we are.

    Args:
        message: what is to be known.
        category: the kind of warning, ``UserWarning`` if not given.
    """
    frame = user_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    # Not by a stacklevel, which passes over some of Python's frames and not over others.
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    place = frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__")
    warnings.warn_explicit(message, category or UserWarning, *place, registry)


def warn_user_once(message: str) -> None:
    """Warn at the user's line, the first time in the process, however often it happens."""
    if message not in _told:
        _told.add(message)
        warn_user(message)

"""Where in the source something happened, as short texts."""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType
from typing import Any

__all__ = ["CapturedTraceback", "format_frame", "format_traceback_short", "shorten_filename"]


def shorten_filename(fn: str, *, base: str | None = None) -> str:
    """A file's name below a folder.

    Args:
        fn: the file.
        base: the folder, by default that of the package.
    """
    base = base or os.path.dirname(os.path.dirname(__file__))
    try:
        prefix = os.path.commonpath([fn, base])
    except ValueError:  # one of them is not absolute, or they are on different drives
        return fn
    return fn[len(prefix) + 1 :]


def format_frame(frame: Any, *, base: str | None = None, line: bool = False) -> str:
    """``file:line in function`` of a frame summary.

    Args:
        frame: the summary.
        base: the folder that the file's name is shortened by.
        line: whether the line itself is added.
    """
    extra = f"{frame.line}  # " if line else ""
    return f"{extra}{shorten_filename(frame.filename, base=base)}:{frame.lineno} in {frame.name}"


def format_traceback_short(tb: TracebackType | None) -> str:
    """The last place of a traceback.

    Args:
        tb: the traceback.
    """
    return format_frame(traceback.extract_tb(tb)[-1])


class CapturedTraceback:
    """The frames of a moment, as text when it is asked for.

    Args:
        tb: the frames.
        skip: how many of the innermost frames are left out.
    """

    def __init__(self, tb: traceback.StackSummary, skip: int = 0) -> None:
        self.tb, self.skip = tb, skip

    @staticmethod
    def extract(*, script: bool = False, cpp: bool = False, skip: int = 0) -> CapturedTraceback:
        """The frames of the caller.

        Args:
            script: accepted for compatibility.
            cpp: accepted for compatibility.
            skip: how many of the innermost frames are left out.
        """
        return CapturedTraceback(traceback.extract_stack(sys._getframe(1)), skip)

    def cleanup(self) -> None:
        """Forget the frames."""
        self.tb = traceback.StackSummary()

    def summary(self) -> traceback.StackSummary:
        """The frames, the outermost first."""
        return traceback.StackSummary.from_list(list(self.tb)[: len(self.tb) - self.skip])

    def format(self) -> list[str]:
        """The frames as lines of text."""
        return traceback.format_list(self.summary())

"""What the doctor found, where, and whether it was asked to be silent about it."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from facula._warnings import line_text, user_frame

# At the end of a line of the program: all findings, or those of some ids, are wanted there.
_MARK = re.compile(r"#\s*facula:\s*ignore(?:\[([\w\s,]+)\])?")


class Place(NamedTuple):
    """A line of the program.

    Args:
        file: the path of the file as Python knows it.
        line: the number of the line, from 1.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return line_text(self.file, self.line, from_here=True)

    @property
    def source(self) -> str:
        """The text of the line, without the space around it; "" if there is no such file."""
        linecache.checkcache(self.file)  # it may have changed, or the folder it is relative to
        return linecache.getline(self.file, self.line).strip()

    @property
    def is_installed(self) -> bool:
        """Whether the line is that of an installed package, whose reasons nobody here knows."""
        return bool({"site-packages", "dist-packages"}.intersection(Path(self.file).parts))

    def is_silenced(self, id: str) -> bool:
        """Whether the line has the mark ``# facula: ignore``, for all findings or for ``id``."""
        mark = _MARK.search(self.source)
        if mark is None:
            return False
        return mark[1] is None or id in re.split(r"[\s,]+", mark[1])


UNKNOWN = Place("<unknown>", 0)


def here() -> Place:
    """The line of the program that is running."""
    frame = user_frame()
    return UNKNOWN if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)


@dataclass(frozen=True)
class Finding:
    """A mistake that the program makes without an error.

    Args:
        id: the check that found it, such as ``"F101"``.
        message: what was seen, in one sentence.
        place: the line to look at first.
        other: the second line concerned, if there is one.
        why: what the mistake does to a training.
        fix: what to write instead, as code.

    Example:
        >>> from facula.doctor import Finding, Place
        >>> place = Place("train.py", 12)
        >>> print(Finding("F101", "softmax before cross_entropy.", place, None, "Why.", "Fix."))
        train.py:12: F101 softmax before cross_entropy.
            why: Why.
            fix: Fix.
            silence: # facula: ignore[F101] at the end of the line, or --ignore F101
            more: docs/doctor/F101.md
    """

    id: str
    message: str
    place: Place
    other: Place | None = None
    why: str = field(default="", repr=False)
    fix: str = field(default="", repr=False)

    def __str__(self) -> str:
        also = "" if self.other is None else f" (see also {self.other})"
        return (
            f"{self.place}: {self.id} {self.message}{also}\n"
            f"    why: {self.why}\n"
            f"    fix: {self.fix}\n"
            f"    silence: # facula: ignore[{self.id}] at the end of the line, "
            f"or --ignore {self.id}\n"
            f"    more: docs/doctor/{self.id}.md"
        )

    def as_dict(self) -> dict[str, Any]:
        """The finding as a dict that JSON can hold."""
        return {
            **asdict(self),
            "place": str(self.place),
            "other": None if self.other is None else str(self.other),
        }


class Findings:
    """The findings of one watch, each once for a place.

    Args:
        ignore: ids, or ids with a place as in ``"F101:train.py:12"``, that are not to be told.
        tell: is called with each new finding.
    """

    def __init__(self, ignore: Iterable[str], tell: Any) -> None:
        self._ignored = frozenset(ignore)
        self._tell = tell
        self._seen: set[tuple[str, Place]] = set()
        self.all: list[Finding] = []

    def add(self, finding: Finding) -> None:
        """Take a finding, unless it was made at this place before or is not wanted."""
        key = finding.id, finding.place
        if key in self._seen:
            return
        self._seen.add(key)
        places = [finding.place] + ([finding.other] if finding.other else [])
        if finding.id in self._ignored or any(p.is_silenced(finding.id) for p in places):
            return
        if any(f"{finding.id}:{p}" in self._ignored for p in places):
            return
        self.all.append(finding)
        self._tell(finding)

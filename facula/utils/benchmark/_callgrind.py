"""Counts of instructions, as Valgrind makes them: tables to compare, without the counting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from facula._refusing import refusing_class

__all__ = ["CallgrindStats", "CopyIfCallgrind", "FunctionCount", "FunctionCounts"]

_NO_COUNTS = "instructions are not counted. Measure time with Timer.blocked_autorange()."

CallgrindStats = refusing_class("torch.utils.benchmark.CallgrindStats", _NO_COUNTS)


class FunctionCount(NamedTuple):
    """How many instructions a function took."""

    count: int  # type: ignore[assignment]
    function: str


@dataclass(repr=False, eq=False, frozen=True)
class FunctionCounts:
    """Counts of functions, which can be added, subtracted and filtered.

    Example:
        >>> from facula.utils.benchmark import FunctionCount, FunctionCounts
        >>> a = FunctionCounts((FunctionCount(5, "f"), FunctionCount(2, "g")), inclusive=False)
        >>> b = FunctionCounts((FunctionCount(3, "f"),), inclusive=False)
        >>> (a - b).sum(), [tuple(count) for count in a - b]
        (4, [(2, 'f'), (2, 'g')])
    """

    _data: tuple[FunctionCount, ...]
    inclusive: bool
    truncate_rows: bool = True
    _linewidth: int | None = None

    def __iter__(self) -> Iterator[FunctionCount]:
        yield from self._data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, item: Any) -> Any:
        found = self._data[item]
        if isinstance(item, slice):
            return FunctionCounts(tuple(found), self.inclusive, truncate_rows=False)
        return found

    def __repr__(self) -> str:
        width = max((len(str(count)) for count, _ in self), default=0)
        return "\n".join(f"  {count:>{width}}  {name}" for count, name in self)

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merge(other, lambda count: count)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merge(other, lambda count: -count)

    def __mul__(self, other: float) -> FunctionCounts:
        return self._from_dict({name: int(count * other) for count, name in self}, self.inclusive)

    def transform(self, map_fn: Callable[[str], str]) -> FunctionCounts:
        """The counts by other names; those of the same name are added.

        Args:
            map_fn: takes a name and returns another.
        """
        counts: defaultdict[str, int] = defaultdict(int)
        for count, name in self._data:
            counts[map_fn(name)] += count
        return self._from_dict(counts, self.inclusive)

    def filter(self, filter_fn: Callable[[str], bool]) -> FunctionCounts:
        """The counts of some names.

        Args:
            filter_fn: says of a name whether it stays.
        """
        kept = tuple(count for count in self if filter_fn(count.function))
        return FunctionCounts(kept, self.inclusive)

    def sum(self) -> int:
        """All counts together."""
        return sum(count for count, _ in self)

    def denoise(self) -> FunctionCounts:
        """The counts without those of Python's dictionaries, which differ from run to run."""
        return self.filter(lambda name: "dictobject.c:lookdict_unicode" not in name)

    def _merge(self, second: FunctionCounts, change: Callable[[int], int]) -> FunctionCounts:
        if self.inclusive != second.inclusive:
            raise AssertionError("FunctionCounts: cannot merge inclusive and exclusive counts.")
        counts: defaultdict[str, int] = defaultdict(int)
        for count, name in self:
            counts[name] += count
        for count, name in second:
            counts[name] += change(count)
        return self._from_dict(counts, self.inclusive)

    @staticmethod
    def _from_dict(counts: dict[str, int], inclusive: bool) -> FunctionCounts:
        flat = (FunctionCount(count, name) for name, count in counts.items() if count)
        return FunctionCounts(tuple(sorted(flat, key=lambda each: -each.count)), inclusive)


class CopyIfCallgrind:
    """A value that a process of Valgrind's would get a copy of; here it is the value.

    Args:
        value: the value.
        setup: code that such a process would run first.
    """

    def __init__(self, value: Any, *, setup: str | None = None) -> None:
        self._value, self._setup = value, setup

    @property
    def value(self) -> Any:
        """The value."""
        return self._value

    @property
    def setup(self) -> str | None:
        """The code."""
        return self._setup

    @staticmethod
    def unwrap_all(globals: dict[str, Any]) -> dict[str, Any]:
        """Variables with the values themselves.

        Args:
            globals: the variables by name.
        """
        return {n: v.value if isinstance(v, CopyIfCallgrind) else v for n, v in globals.items()}

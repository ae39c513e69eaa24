"""Measured times and what can be said of them."""

from __future__ import annotations

import dataclasses
import math
import statistics
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from facula import _core

__all__ = [
    "Measurement",
    "TaskSpec",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "trim_sigfig",
    "unit_to_english",
]

_MAX_FIGURES = 4
_SHORTEST_INTERVAL_S = 25e-9  # no clock is better
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is measured: the statement, and how a table names it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """A line, or the statement where there is no label."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        sub = f" ({self.sub_label})" if self.sub_label else ""
        return f"stmt:{sub}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The setup as it is printed."""
        if self.setup == "pass" or not self.setup:
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """What is measured, as it is printed above the times."""
        parts = [self.title, self.description or "", self.setup_str()]
        separator = "\n\n" if any("\n" in part for part in parts) else "\n"
        text = separator.join(filter(None, parts))
        return text + "\n" if "\n" in self.stmt or "\n" in self.setup else text


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of several blocks of runs.

    Args:
        number_per_run: how many runs a block has.
        raw_times: the seconds that each block took.
        task_spec: what was measured.
        metadata: whatever else belongs to it.

    Example:
        >>> from facula.utils.benchmark import Measurement, TaskSpec
        >>> Measurement(10, [0.02, 0.04, 0.03], TaskSpec("x + y", "pass")).median
        0.003
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        # What is not of the times is of the task.
        if name.startswith("__") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """The seconds of one run, for each block."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self._sorted())

    @property
    def median(self) -> float:
        """The median of the times, which few long ones do not change."""
        return statistics.median(self._sorted())

    @property
    def iqr(self) -> float:
        """The width of the middle half of the times."""
        return self._quantile(0.75) - self._quantile(0.25)

    def _sorted(self) -> list[float]:
        if not self.raw_times:
            raise ValueError("Measurement: no times were recorded.")
        return sorted(self.times)

    def _quantile(self, q: float) -> float:
        times = self._sorted()
        below, part = divmod(q * (len(times) - 1), 1)
        low, high = times[int(below)], times[math.ceil(q * (len(times) - 1))]
        return low + part * (high - low)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median mean something, from the middle half of the times."""
        times = self._sorted()
        middle = times[len(times) // 4 : math.ceil(3 * len(times) / 4)]
        # 1.645 deviations of the mean hold it with 90%.
        interval = 1.645 * statistics.pstdev(middle) / math.sqrt(len(middle))
        figures = math.floor(math.log10(self.median / max(interval, _SHORTEST_INTERVAL_S)))
        return min(max(figures, 1), _MAX_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ so much that they say little."""
        return bool(self._warnings())

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the middle half of the times is narrow.

        Args:
            threshold: the width that is allowed, as a part of the median.
        """
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """A line that says what was measured."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The environment that was measured."""
        return "Unspecified env" if self.task_spec.env is None else self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    def _warnings(self) -> list[str]:
        # Of few times the spread says nothing.
        if len(self.raw_times) < 4 or self.meets_confidence():
            return []
        width = self.iqr / self.median
        reason = (
            "This suggests significant environmental influence."
            if width > 0.25
            else "This could indicate system fluctuation."
        )
        return [
            f"  WARNING: Interquartile range is {width * 100:.1f}% of the median measurement.",
            f"           {reason}",
        ]

    def __repr__(self) -> str:
        n = len(self.raw_times)
        unit, scale = select_unit(self.median)
        low, high = self._quantile(0.25) / scale, self._quantile(0.75) / scale
        n_threads = self.num_threads
        spread = [f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})"]
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}",
            *(spread if n >= 4 else []),
            f"  {n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement,' if n > 1 else ','} {n_threads} "
            f"thread{'s' if n_threads > 1 else ''}",
            *self._warnings(),
        ]
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same task as one.

        Args:
            measurements: the measurements.
        """
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        return [
            Measurement(1, [t for m in group for t in m.times], task)
            for task, group in groups.items()
        ]


def select_unit(t: float) -> tuple[str, float]:
    """The unit that suits a time, and its length in seconds.

    Args:
        t: the time in seconds.

    Example:
        >>> facula.utils.benchmark.select_unit(3e-5)
        ('us', 1e-06)
    """
    exponent = math.floor(math.log10(t)) // 3 if t > 0 else 0
    unit = {-1: "ms", -2: "us", -3: "ns"}.get(exponent, "s")
    return unit, _UNITS[unit]


def unit_to_english(u: str) -> str:
    """The name of a unit.

    Example:
        >>> facula.utils.benchmark.unit_to_english("us")
        'microsecond'
    """
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to ``n`` significant figures.

    Example:
        >>> facula.utils.benchmark.trim_sigfig(123456, 3)
        123000.0
    """
    if n != int(n):
        raise AssertionError(f"trim_sigfig: expected n as an int, got {n}.")
    place = 10 ** (math.floor(math.log10(abs(x)) if x != 0 else 1) - n + 1)
    return float(round(x / place) * place)


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The elements without repetition, in their order.

    Example:
        >>> facula.utils.benchmark.ordered_unique([2, 1, 2])
        [2, 1]
    """
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """A block with another number of threads.

    Args:
        n: the number of threads.
    """
    before = _core.get_num_threads()
    try:
        _core.set_num_threads(n)
        yield
    finally:
        _core.set_num_threads(before)

"""``Timer``: measures a statement."""

from __future__ import annotations

import enum
import statistics
import textwrap
import timeit as _timeit
from collections.abc import Callable
from typing import Any, NoReturn

from facula import cuda
from facula.utils.benchmark._measurement import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]

Callback = Callable[[int, float], NoReturn]


class Language(enum.Enum):
    """The language of a statement."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Seconds, when all work of the GPU is done."""
    if cuda.is_available() and cuda.is_initialized():
        cuda.synchronize()
    return _timeit.default_timer()


class Timer:
    """Measures how long a statement takes.

    As :class:`timeit.Timer`, with a warm-up, a number of threads (one, if nothing else is asked
    for), several blocks of runs, and names for :class:`Compare`.

    Args:
        stmt: the statement.
        setup: a statement that runs before each block of runs.
        global_setup: for statements in C++, which are not supported.
        timer: a function that returns the time in seconds.
        globals: the names that the statements know.
        label: the name of the table.
        sub_label: the name of the row.
        description: the name of the column.
        env: the environment, to tell measurements of several apart.
        num_threads: the number of threads that operations use.
        language: the language of the statement; it must be Python.

    Example:
        >>> timer = facula.utils.benchmark.Timer("x + x", globals={"x": facula.ones(8)})
        >>> timer.timeit(100).number_per_run
        100
    """

    _timer_cls = _timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Timer: currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Timer: expected language Language.PYTHON, got {language!r}.")
        if global_setup:
            raise ValueError(f"Timer: global_setup is C++ only, got `{global_setup}`.")
        # Statements in quotes over several lines may be indented as the program is.
        stmt = textwrap.dedent(stmt[1:] if stmt[:1] == "\n" else stmt).rstrip()
        setup = textwrap.dedent(setup[1:] if setup[:1] == "\n" else setup).rstrip()
        import facula

        names = {**(globals or {})}
        names.setdefault("torch", facula)
        names.setdefault("facula", facula)
        self._globals = names
        self._language = Language.PYTHON
        self._timer = self._timer_cls(stmt, setup, timer, globals=names)
        self._task_spec = TaskSpec(
            stmt=stmt,
            setup=setup,
            label=label,
            sub_label=sub_label,
            description=description,
            env=env,
            num_threads=num_threads,
        )

    def _time(self, number: int) -> float:
        # At least the resolution of the clock: it is divided by.
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run the statement a number of times.

        Args:
            number: how many times.
        """
        with set_torch_threads(self._task_spec.num_threads):
            self._time(max(number // 100, 2))  # a warm-up
            return Measurement(number, [self._time(number)], self._task_spec)

    def autorange(self, callback: Callback | None = None) -> None:
        """Not there: :meth:`blocked_autorange` is better."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callback | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Run blocks of the statement until a time has passed.

        A block is so long that the clock does not count.

        Args:
            callback: a function that is called after each block with its runs and their time.
            min_run_time: the seconds that all blocks together take at least.
        """
        number = self._block_size(min_run_time)
        return self._measure(number, lambda _: True, min_run_time, min_run_time, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callback | None = None,
    ) -> Measurement:
        """As :meth:`blocked_autorange`, until the times differ little.

        Args:
            threshold: the width of the middle half of the times, as a part of the median, that is
                small enough.
            min_run_time: the seconds that all blocks together take at least.
            max_run_time: the seconds after which it ends in any case.
            callback: a function that is called after each block with its runs and their time.
        """
        number = self._block_size(0.05)

        def is_enough(times: list[float]) -> bool:
            measured = Measurement(number, times, self._task_spec)
            return len(times) > 3 and measured.meets_confidence(threshold)

        return self._measure(number, is_enough, min_run_time, max_run_time, callback)

    def _block_size(self, min_run_time: float) -> int:
        with set_torch_threads(self._task_spec.num_threads):
            overhead = statistics.median(self._time(0) for _ in range(5))
            number = 1
            while True:
                taken = self._time(number)
                is_long = overhead / taken <= 1e-4 and taken >= min_run_time / 1000
                if is_long or taken > min_run_time or number > 10**8:
                    return number
                number *= 10

    def _measure(
        self,
        number: int,
        is_enough: Callable[[list[float]], bool],
        least: float,
        most: float,
        callback: Callback | None,
    ) -> Measurement:
        times: list[float] = []
        total = 0.0
        with set_torch_threads(self._task_spec.num_threads):
            while total < least or (total < most and not is_enough(times)):
                times.append(self._time(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not supported: it needs valgrind and an interpreter built for it."""
        raise NotImplementedError(
            "Timer.collect_callgrind: counting instructions is not supported. Use "
            "blocked_autorange()."
        )

"""``Compare``: measurements as a table."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from facula.utils.benchmark._measurement import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"
_BOLD, _END = "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    """What colours in a table compare."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Measurements side by side: a table for each label, a row for each ``sub_label``, a column
    for each ``description``.

    Args:
        results: the measurements; those of the same task are put together.

    Example:
        >>> from facula.utils.benchmark import Compare, Measurement, TaskSpec
        >>> def measured(name, seconds):
        ...     return Measurement(1, [seconds], TaskSpec("", "", label="sort", description=name))
        >>> print(Compare([measured("fast", 2e-6), measured("slow", 8e-6)]))
        [------------ sort -------------]
                         |  fast  |  slow
        1 threads: ----------------------
              [Unknown]  |   2.0  |   8.0
        <BLANKLINE>
        Times are in microseconds (us).
        <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trims = False
        self._colors: str | None = None
        self._highlights = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Args:
            results: the measurements.
        """
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(
                    "Compare: expected an instance of `Measurement`, got "
                    f"{type(result).__name__} instead."
                )
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Show only the figures that mean something."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show the best and the worst in colours.

        Args:
            rowwise: whether the best of each row is meant, not of each column.
        """
        self._colors = "row" if rowwise else "column"

    def highlight_warnings(self) -> None:
        """Mark measurements whose times differ much."""
        self._highlights = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            groups.setdefault(result.label or "", []).append(result)
        return "\n".join(self._table(label, group) for label, group in groups.items())

    def _table(self, label: str, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(result.median for result in results))
        columns = ordered_unique(result.description or "" for result in results)
        environments = ordered_unique(result.env for result in results)
        rows: dict[tuple[int, str, str], dict[str, Measurement]] = {}
        for result in sorted(results, key=lambda r: r.num_threads):
            key = (result.num_threads, result.env, result.as_row_name)
            rows.setdefault(key, {})[result.description or ""] = result

        def name_of(env: str, row: str) -> str:
            return f"      {f'({env})  ' if len(environments) > 1 else ''}{row}"

        cells = {
            key: [self._cell(row[c], scale) if c in row else "" for c in columns]
            for key, row in rows.items()
        }
        if self._highlights:
            cells = _aligned(cells)
        first = max(len(name_of(env, name)) for _, env, name in rows)
        widths = [
            max([len(column), *(len(line[i]) for line in cells.values())])
            for i, column in enumerate(columns)
        ]
        header = " " * first + "".join(
            f"  |  {column.center(width)}" for column, width in zip(columns, widths, strict=True)
        )
        dashes = max(len(header) - len(label) - 4, 0)
        lines = [f"[{'-' * (dashes // 2)} {label} {'-' * (dashes - dashes // 2)}]", header]
        best = self._best(rows)
        n_threads = 0
        for (threads, env, name), row in rows.items():
            if threads != n_threads:
                n_threads = threads
                title = f"{threads} threads: "
                lines.append(title + "-" * max(len(header) - len(title), 0))
            line = name_of(env, name).ljust(first)
            for i, column in enumerate(columns):
                text = cells[threads, env, name][i].rjust(widths[i])
                if self._colors and column in row:
                    by_row = self._colors == "row"
                    limit = best[(threads, env, name) if by_row else (threads, column)]
                    text = _color(text, row[column].median, limit)
                line += f"  |  {text}"
            lines.append(line)
        lines += ["", f"Times are in {unit_to_english(unit)}s ({unit})."]
        if self._highlights and any(result.has_warnings for result in results):
            lines.append(
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."
            )
        return "\n".join(lines) + "\n"

    def _cell(self, result: Measurement, scale: float) -> str:
        value = result.median / scale
        if self._trims:
            figures = result.significant_figures
            value = trim_sigfig(value, figures)
            n_decimals = max(figures - len(str(int(value))), 0)
            text = f"{value:.{n_decimals}f}"
        else:
            text = f"{value:.1f}"
        if self._highlights and result.has_warnings:
            text += f" (! {result.iqr / result.median * 100:.0f}%)"
        return text

    def _best(
        self, rows: dict[tuple[int, str, str], dict[str, Measurement]]
    ) -> dict[object, float]:
        """The shortest time of each row, or of each column with the same number of threads."""
        if self._colors == "row":
            return {key: min(m.median for m in row.values()) for key, row in rows.items()}
        best: dict[object, float] = {}
        for (threads, _, _), row in rows.items():
            for column, result in row.items():
                key = (threads, column)
                best[key] = min(best.get(key, result.median), result.median)
        return best


def _color(text: str, value: float, best: float) -> str:
    if value <= best * 1.01 or value <= best + 100e-9:
        color = _BEST + _BOLD
    elif value <= best * 1.1:
        color = _GOOD + _BOLD
    elif value >= best * 5:
        color = _VERY_BAD + _BOLD
    elif value >= best * 2:
        color = _BAD
    else:
        return text
    return color + text + _END * 2


def _aligned(cells: dict[tuple[int, str, str], list[str]]) -> dict[tuple[int, str, str], list[str]]:
    """The cells with spaces behind those without a mark, as wide as the marks of the column."""
    marks = [
        max((len(text) - len(text.partition(" (!")[0]) for text in column), default=0)
        for column in zip(*cells.values(), strict=True)
    ]
    return {
        key: [
            text if not text or " (!" in text else text + " " * width
            for text, width in zip(line, marks, strict=True)
        ]
        for key, line in cells.items()
    }

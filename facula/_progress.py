"""The one progress bar of the package, for whatever takes long: on a terminal or in a notebook."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_INTERVAL_S = 0.1  # a bar that is drawn more often costs time and looks the same


@contextmanager
def bar(
    name: str, total: int | None, *, start: int = 0, is_shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show on stderr how many bytes are done, if a person is watching.

    Args:
        name: what is being done.
        total: the number of bytes of all of it; None if nobody knows.
        start: how many of them were done before.
        is_shown: False for no bar.

    Returns:
        A function to call with the number of bytes that have just been done.

    Example:
        >>> from facula._progress import bar
        >>> with bar("reading", 100) as advance:
        ...     advance(100)
    """
    if not (is_shown and _is_watched()):
        yield lambda n: None
        return
    begin = drawn = time.monotonic()
    done = start

    def draw() -> None:
        rate = (done - start) / max(time.monotonic() - begin, 1e-9)
        sys.stderr.write("\r" + _line(name, done, total, rate))
        sys.stderr.flush()

    def advance(n: int) -> None:
        nonlocal done, drawn
        done += n
        if time.monotonic() - drawn >= _INTERVAL_S:
            drawn = time.monotonic()
            draw()

    try:
        yield advance
    finally:
        draw()
        sys.stderr.write("\n")


def _is_watched() -> bool:
    # The streams of a notebook are no terminals, but go back to the start of a line as one does.
    return bool(sys.stderr and (sys.stderr.isatty() or "ipykernel" in sys.modules))


def _line(name: str, done: int, total: int | None, rate: float) -> str:
    width = shutil.get_terminal_size().columns - 1
    said = f"{size_text(done)}, {size_text(rate)}/s"
    if total:
        part = min(done / total, 1.0)
        left_s = round((total - done) / rate) if rate and done < total else 0
        said = f"{part:4.0%} of {size_text(total)}, {size_text(rate)}/s"
        said += f", {left_s // 60}:{left_s % 60:02} left" if left_s else ""
        n_cells = min(30, width - len(name) - len(said) - 4)
        if n_cells > 2:
            filled = int(part * n_cells)
            said = f"[{'#' * filled}{'.' * (n_cells - filled)}] {said}"
    # What is left of a longer line before it is overwritten by spaces.
    return f"{name} {said}"[:width].ljust(width)


def size_text(n_bytes: float) -> str:
    """A number of bytes with a unit.

    Args:
        n_bytes: the number.

    Example:
        >>> from facula._progress import size_text
        >>> size_text(1234)
        '1.2 kB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"

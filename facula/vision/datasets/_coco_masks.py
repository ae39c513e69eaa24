"""Masks of COCO: polygons and runs of pixels as arrays."""

from __future__ import annotations

from typing import Any

# Polygons are walked on a grid this many times finer than the pixels.
_SCALE = 5


def mask_of(segmentation: Any, height: int, width: int) -> Any:
    """The mask of an annotation, a NumPy array of uint8 ``(height, width)``.

    Args:
        segmentation: polygons, lists of x and y in turn; or a dict of runs, ``counts``, of the
            pixels column by column, outside first, as numbers or in COCO's compressed text.
        height: height of the image.
        width: width of the image.
    """
    import numpy

    if isinstance(segmentation, dict):
        return _of_runs(segmentation["counts"], height, width)
    mask = numpy.zeros((height, width), "uint8")
    for polygon in segmentation:
        mask |= _of_polygon(polygon, height, width)
    return mask


def _of_runs(counts: Any, height: int, width: int) -> Any:
    import numpy

    runs = _decompressed(counts) if isinstance(counts, (str, bytes)) else counts
    if min(runs, default=0) < 0 or sum(runs) != height * width:
        raise ValueError(
            f"mask_of: the runs have {sum(runs)} pixels, expected {height * width} for an image of "
            f"{height} x {width}."
        )
    values = numpy.arange(len(runs), dtype="uint8") % 2
    return numpy.repeat(values, runs).reshape(width, height).T


def _decompressed(text: str | bytes) -> list[int]:
    """Runs from text: six bits a character, five of them of a number, low ones first.

    From the fourth on, numbers are differences to the last but one.
    """
    data = text.encode() if isinstance(text, str) else text
    runs: list[int] = []
    value = shift = 0
    for character in data:
        bits = character - 48
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue  # the number goes on
        if bits & 16:
            value -= 1 << shift  # its sign
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value = shift = 0
    return runs


def _of_polygon(polygon: Any, height: int, width: int) -> Any:
    """The pixels inside, by COCO's rule.

    The outline is walked on a finer grid. Wherever it goes from one column of pixels' centres to
    the next, all pixels below that point change sides.
    """
    import numpy

    # Towards zero here and below, as C makes integers of floats.
    points = (_SCALE * numpy.asarray(polygon, float).reshape(-1, 2) + 0.5).astype(int)
    xs, ys = [], []
    for start, end in zip(points, numpy.roll(points, -1, axis=0), strict=True):
        x, y = _walk(start, end)
        xs.append(x)
        ys.append(y)
    x, y = numpy.concatenate(xs), numpy.concatenate(ys)
    (steps,) = numpy.nonzero(x[1:] != x[:-1])
    columns = (numpy.minimum(x[steps + 1], x[steps]) + 0.5) / _SCALE - 0.5
    rows = (numpy.minimum(y[steps + 1], y[steps]) + 0.5) / _SCALE - 0.5
    is_centre = (columns == numpy.floor(columns)) & (columns >= 0) & (columns <= width - 1)
    rows = numpy.ceil(numpy.clip(rows[is_centre], 0, height)).astype(int)
    changes = numpy.zeros(height * width + 1, int)
    numpy.add.at(changes, columns[is_centre].astype(int) * height + rows, 1)
    return (numpy.cumsum(changes[:-1]) % 2).astype("uint8").reshape(width, height).T


def _walk(start: Any, end: Any) -> tuple[Any, Any]:
    """The points of the fine grid from one corner to the next, both included."""
    import numpy

    (dx, dy) = numpy.abs(end - start)
    along, across = (0, 1) if dx >= dy else (1, 0)
    # Rounded as if walked upwards: both sides of an edge that polygons share get the same points.
    low, high = (end, start) if start[along] > end[along] else (start, end)
    n = high[along] - low[along]
    t = numpy.arange(n + 1)
    slope = (high[across] - low[across]) / n if n else 0.0
    walked = numpy.empty((2, n + 1), int)
    walked[along] = low[along] + t

    walked[across] = low[across] + slope * t + 0.5
    if low is end:
        walked = walked[:, ::-1]
    return walked[0], walked[1]

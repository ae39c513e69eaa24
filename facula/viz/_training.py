"""The curves of a training, as a page or a picture."""

from __future__ import annotations

import csv
import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import facula
from facula.viz._page import Page

Curve = list[tuple[float, float]]


class TrainingPage(Page):
    """Curves over the steps of a training: a page that can also be saved as a PNG.

    Args:
        title: the name of the run.
        curves: pairs of step and value, by the name of the curve.
    """

    def __init__(self, title: str, curves: dict[str, Curve]) -> None:
        self.curves = curves
        # JSON has no word for NaN: a gap in the curve.
        data = {
            name: [[step, value if math.isfinite(value) else None] for step, value in curve]
            for name, curve in curves.items()
        }
        super().__init__(title, "training.html", {"title": title, "curves": data})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, or a picture if its name ends with ``.png``.

        Args:
            path: the file, which is replaced if it is there.
        """
        if os.fspath(path).endswith(".png"):
            _draw(self.curves, path)
        else:
            super().save(path)


def training(log: Any) -> TrainingPage:
    """The curves of a run: losses, learning rates, norms of gradients, whatever was logged.

    Args:
        log: a folder or a file of TensorBoard's, a CSV file whose first column is the step, a
            checkpoint with lists of numbers such as ``"losses"``, or a dict of lists of numbers.

    Returns:
        A page: ``save("run.html")`` and ``save("run.png")`` write it, a notebook shows it.

    Example:
        >>> page = facula.viz.training({"loss": [2.0, 1.0, 0.5], "lr": [0.1, 0.1, 0.01]})
        >>> page.curves["loss"]
        [(0, 2.0), (1, 1.0), (2, 0.5)]
    """
    if isinstance(log, Mapping):
        title, curves = "training", dict(_lists_in(log, ""))
    else:
        path = Path(log)
        title = path.name
        if path.is_dir():
            curves = _read_events(sorted(path.rglob("*tfevents*")))
        elif "tfevents" in path.name:
            curves = _read_events([path])
        elif path.suffix == ".csv":
            curves = _read_csv(path)
        else:
            curves = dict(_lists_in(facula.load(path, map_location="cpu"), ""))
    if not curves:
        raise ValueError(f"training: found no numbers over steps in {log!r}.")
    return TrainingPage(title, curves)


def _lists_in(value: Any, path: str) -> Iterator[tuple[str, Curve]]:
    """The lists of numbers, or of pairs of step and number, in a dict of dicts."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _lists_in(item, f"{path}/{key}" if path else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 1:
        if all(isinstance(x, (int, float)) for x in value):
            yield path, [(step, float(x)) for step, x in enumerate(value)]
        elif all(isinstance(x, (tuple, list)) and len(x) == 2 for x in value):
            yield path, [(float(step), float(x)) for step, x in value]


def _read_csv(path: Path) -> dict[str, Curve]:
    with path.open(newline="", encoding="utf-8") as stream:
        rows = csv.DictReader(stream)
        step, *names = rows.fieldnames or [""]
        curves: dict[str, Curve] = {name: [] for name in names}
        for row in rows:
            for name in names:
                if row[name]:
                    curves[name].append((float(row[step]), float(row[name])))
    return curves


def _read_events(paths: Iterable[Path]) -> dict[str, Curve]:
    """The scalars in TensorBoard's files."""
    try:
        from tensorboardX.proto.event_pb2 import Event
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "training: reading TensorBoard's files needs tensorboardX: "
            "pip install facula[tensorboard]"
        ) from error
    curves: dict[str, Curve] = {}
    for path in paths:
        for record in _records(path.read_bytes()):
            event = Event.FromString(record)
            for value in event.summary.value:
                if value.HasField("simple_value"):
                    curves.setdefault(value.tag, []).append((event.step, value.simple_value))
    return {name: sorted(curve) for name, curve in curves.items()}


def _records(data: bytes) -> Iterator[bytes]:
    """The records of a file: each has its length (8 bytes) and two checksums (4) around it."""
    at = 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        if at + 16 + length > len(data):
            return  # the last record is still being written
        yield data[at + 12 : at + 12 + length]
        at += 16 + length


def _draw(curves: dict[str, Curve], path: str | os.PathLike[str]) -> None:
    """The curves below each other in a picture."""
    try:
        from PIL import Image, ImageDraw
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "training: pictures need Pillow: pip install facula[vision]"
        ) from error
    width, height, margin = 900, 260, 60
    image = Image.new("RGB", (width, height * len(curves)), "white")
    draw = ImageDraw.Draw(image)
    for i, (name, curve) in enumerate(curves.items()):
        points = [(step, value) for step, value in curve if math.isfinite(value)]
        top, bottom = i * height + 30, (i + 1) * height - 30
        draw.rectangle((margin, top, width - 20, bottom), outline="#bbbbbb")
        draw.text((margin, top - 16), name, fill="black")
        if not points:
            continue
        (first, last), (low, high) = (
            (min(numbers), max(numbers)) for numbers in zip(*points, strict=True)
        )
        x_scale = (width - 20 - margin) / ((last - first) or 1)
        y_scale = (bottom - top) / ((high - low) or 1)
        line = [
            (margin + (step - first) * x_scale, bottom - (value - low) * y_scale)
            for step, value in points
        ]
        draw.line(line, fill="#1f6feb", width=2)
        for text, y in ((f"{high:.3g}", top), (f"{low:.3g}", bottom - 10)):
            draw.text((4, y), text, fill="black")
        for text, x in ((f"{first:g}", margin), (f"{last:g}", width - 60)):
            draw.text((x, bottom + 4), text, fill="black")
    image.save(path)

"""Food-101: photographs of dishes."""

from __future__ import annotations

import json
from pathlib import Path

from facula.vision.datasets._base import Files, Samples, SplitListed, numbered

__all__ = ["Food101"]


class Food101(SplitListed):
    """Photographs of 101 dishes.

    Args:
        root: the folder that has, or is to have, the folder ``food-101``.
        split: ``"train"`` or ``"test"``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Food101(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _URL = "http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz"
    _MD5 = "85eeb15f3717b99a5da872d97d918f87"
    _FILES = Files(["food-101/meta", "food-101/images"], [(_URL, _MD5)])

    def _list(self, root: Path) -> Samples:
        base = root / "food-101"
        listed = json.loads((base / "meta" / f"{self._split}.json").read_text())
        self.classes = sorted(listed)
        self.class_to_idx = numbered(self.classes)
        for name, files in listed.items():
            for file in files:
                yield base / "images" / f"{file}.jpg", self.class_to_idx[name]

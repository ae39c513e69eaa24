"""CLEVR: drawn scenes with a number of objects."""

from __future__ import annotations

import json
from pathlib import Path

from facula.vision.datasets._base import Files, Samples, SplitListed

__all__ = ["CLEVRClassification"]


class CLEVRClassification(SplitListed):
    """Drawn scenes, classified by the number of their objects.

    Args:
        root: the folder that has, or is to have, the folder ``clevr``.
        split: ``"train"``, ``"val"`` or ``"test"``, whose targets are None.
        transform: applied to the image.
        target_transform: applied to the number of objects.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.CLEVRClassification(".", split="valid")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'val', 'test', got 'valid'.
    """

    _URL = "https://dl.fbaipublicfiles.com/clevr/CLEVR_v1.0.zip"
    _FILES = Files(["clevr/CLEVR_v1.0"], [(_URL, "b11922020e72d0cd9154779b2d3d07d2")], into="clevr")
    _SPLITS = ("train", "val", "test")

    def _list(self, root: Path) -> Samples:
        base = root / "clevr" / "CLEVR_v1.0"
        counts = {}
        if self._split != "test":
            listed = (base / "scenes" / f"CLEVR_{self._split}_scenes.json").read_text()
            scenes = json.loads(listed)["scenes"]
            counts = {scene["image_filename"]: len(scene["objects"]) for scene in scenes}
        for path in sorted((base / "images" / self._split).glob("*")):
            yield path, None if self._split == "test" else counts[path.name]

"""Rendered SST2: sentences as images."""

from __future__ import annotations

from pathlib import Path

from facula.vision.datasets._base import Files, Samples, SplitListed, numbered
from facula.vision.datasets.folder import make_dataset

__all__ = ["RenderedSST2"]


class RenderedSST2(SplitListed):
    """Sentences of film reviews as images, positive or negative.

    Args:
        root: the folder that has, or is to have, the folder ``rendered-sst2``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.RenderedSST2(".", split="valid")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'val', 'test', got 'valid'.
    """

    _URL = "https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz"
    _MD5 = "2384d08e9dcfa4bd55b324e610496ee5"
    # The folder of each split.
    _SPLITS = {"train": "train", "val": "valid", "test": "test"}
    _FILES = Files([f"rendered-sst2/{name}" for name in _SPLITS.values()], [(_URL, _MD5)])

    def _list(self, root: Path) -> Samples:
        self.classes = ["negative", "positive"]
        self.class_to_idx = numbered(self.classes)
        folder = root / "rendered-sst2" / self._SPLITS[self._split]
        return make_dataset(folder, extensions=(".png",))

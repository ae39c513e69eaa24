"""The Describable Textures Dataset."""

from __future__ import annotations

from pathlib import Path

from facula.vision.datasets._base import Files, Samples, SplitListed, numbered
from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.vision import Root, Transform

__all__ = ["DTD"]


class DTD(SplitListed):
    """Photographs of 47 textures.

    Args:
        root: the folder that has, or is to have, the folder ``dtd``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        partition: one of ten ways to split, 1 to 10.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.DTD(".", partition=11)
        Traceback (most recent call last):
        ValueError: DTD: expected a partition from 1 to 10, got 11.
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz"
    _MD5 = "fff73e5086ae6bdbea199a49dfb8a4c1"
    _FILES = Files(["dtd/dtd/labels", "dtd/dtd/images"], [(_URL, _MD5)], into="dtd")
    _SPLITS = ("train", "val", "test")

    def __init__(
        self,
        root: Root,
        split: str = "train",
        partition: int = 1,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        if not 1 <= partition <= 10:
            raise ValueError(f"DTD: expected a partition from 1 to 10, got {partition!r}.")
        self._partition = partition
        super().__init__(root, split, transform, target_transform, download, loader)

    def _list(self, root: Path) -> Samples:
        base = root / "dtd" / "dtd"
        listed = (base / "labels" / f"{self._split}{self._partition}.txt").read_text().splitlines()
        names = [line.partition("/")[0] for line in listed]
        self.classes = sorted(set(names))
        self.class_to_idx = numbered(self.classes)
        for line, name in zip(listed, names, strict=True):
            yield base / "images" / line, self.class_to_idx[name]

    def extra_repr(self) -> str:
        return f"split={self._split}, partition={self._partition}"

"""Imagenette: ten classes of ImageNet."""

from __future__ import annotations

from pathlib import Path

from facula.vision.datasets._base import Files, Listed, Samples
from facula.vision.datasets.folder import Loader, default_loader, find_classes, make_dataset
from facula.vision.datasets.utils import verify_str_arg
from facula.vision.datasets.vision import Root, Transform

__all__ = ["Imagenette"]


class Imagenette(Listed):
    """Ten classes of ImageNet that are easy to tell apart.

    Args:
        root: the folder that has, or is to have, the folder ``imagenette2``.
        split: ``"train"`` or ``"val"``.
        size: ``"full"``, ``"320px"`` or ``"160px"``.
        download: download what is not there.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Imagenette(".", size="64px")
        Traceback (most recent call last):
        ValueError: size: expected one of 'full', '320px', '160px', got '64px'.
    """

    _URL = "https://s3.amazonaws.com/fast-ai-imageclas/"
    _ARCHIVES = {
        "full": ("imagenette2", "fe2fc210e6bb7c5664d602c3cd71e612"),
        "320px": ("imagenette2-320", "3df6f0d01a2c9592104656642f5e78a3"),
        "160px": ("imagenette2-160", "e793b78cc4c9e9a4ccc0c1155377a412"),
    }
    _WNID_TO_CLASS = {
        "n01440764": ("tench", "Tinca tinca"),
        "n02102040": ("English springer", "English springer spaniel"),
        "n02979186": ("cassette player",),
        "n03000684": ("chain saw", "chainsaw"),
        "n03028079": ("church", "church building"),
        "n03394916": ("French horn", "horn"),
        "n03417042": ("garbage truck", "dustcart"),
        "n03425413": ("gas pump", "gasoline pump", "petrol pump", "island dispenser"),
        "n03445777": ("golf ball",),
        "n03888257": ("parachute", "chute"),
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        size: str = "full",
        download: bool = False,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ["train", "val"])
        self._size = verify_str_arg(size, "size", tuple(self._ARCHIVES))
        super().__init__(root, transform, target_transform, download, loader)

    def _provide(self, download: bool) -> None:
        name, md5 = self._ARCHIVES[self._size]
        Files([name], [(f"{self._URL}{name}.tgz", md5)]).provide(self, self.root, download)

    def _list(self, root: Path) -> Samples:
        folder = root / self._ARCHIVES[self._size][0] / self._split
        self.wnids, self.wnid_to_idx = find_classes(folder)
        self.classes = [self._WNID_TO_CLASS[wnid] for wnid in self.wnids]
        self.class_to_idx = {
            name: index for index, names in enumerate(self.classes) for name in names
        }
        return make_dataset(folder, self.wnid_to_idx, extensions=".jpeg")

"""The German Traffic Sign Recognition Benchmark."""

from __future__ import annotations

import csv
from pathlib import Path

from facula.vision.datasets._base import Files, Samples, SplitListed
from facula.vision.datasets.folder import make_dataset
from facula.vision.datasets.vision import Root, Transform

__all__ = ["GTSRB"]


class GTSRB(SplitListed):
    """German traffic signs of 43 kinds.

    Args:
        root: the folder that has, or is to have, the folder ``gtsrb``.
        split: ``"train"`` or ``"test"``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.GTSRB(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _URL = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
    _FILES_BY_SPLIT = {
        "train": Files(
            ["gtsrb/GTSRB/Training"],
            [(_URL + "GTSRB-Training_fixed.zip", "513f3c79a4c5141765e10e952eaa2478")],
            into="gtsrb",
        ),
        "test": Files(
            ["gtsrb/GTSRB/Final_Test/Images"],
            [
                (_URL + "GTSRB_Final_Test_Images.zip", "c7e4e6327067d32654124b0fe9e82185"),
                (_URL + "GTSRB_Final_Test_GT.zip", "fe31e9c9270bbcd7b84b7f21a9d9d9e5"),
            ],
            into="gtsrb",
        ),
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, split, transform, target_transform, download)

    def _provide(self, download: bool) -> None:
        self._FILES_BY_SPLIT[self._split].provide(self, self.root, download)

    def _list(self, root: Path) -> Samples:
        base = root / "gtsrb"
        if self._split == "train":
            return make_dataset(base / "GTSRB" / "Training", extensions=(".ppm",))
        with open(base / "GT-final_test.csv") as file:
            rows = list(csv.DictReader(file, delimiter=";"))
        folder = base / "GTSRB" / "Final_Test" / "Images"
        return [(str(folder / row["Filename"]), int(row["ClassId"])) for row in rows]

    def extra_repr(self) -> str:
        return ""  # as torchvision's

"""USPS: digits of postal codes."""

from __future__ import annotations

import bz2
import os
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets.utils import download_url
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["USPS"]

_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"


class USPS(VisionDataset):
    """Digits of postal codes, 16 x 16 in grey.

    Args:
        root: the folder that has, or is to have, the ``.bz2`` files.
        train: whether images are those to train with, or those to test.
        transform: applied to the image, a PIL image in grey.
        target_transform: applied to the digit.
        download: download what is not there.

    Attributes:
        data: the images, a NumPy array of uint8 ``(N, 16, 16)``.
        targets: the digits.

    Example:
        >>> facula.vision.datasets.USPS.split_list["test"][1]
        'usps.t.bz2'
    """

    split_list = {
        "train": [_URL + "usps.bz2", "usps.bz2", "ec16c51db3855ca6c91edd34d0e9b197"],
        "test": [_URL + "usps.t.bz2", "usps.t.bz2", "8ea070ee2aca1ac39742fdd1ef5ed118"],
    }

    def __init__(
        self,
        root: Root,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        import numpy

        url, name, md5 = self.split_list["train" if train else "test"]
        if download:
            download_url(url, self.root, name, md5)
        path = os.path.join(self.root, name)
        try:
            # A line is the digit and one, and pixels from -1 to 1 as "index:value".
            with bz2.open(path, "rt") as file:
                rows = [line.split() for line in file]
            pixels = [[cell.split(":")[1] for cell in row[1:]] for row in rows]
            values = numpy.asarray(pixels, dtype=numpy.float32).reshape(-1, 16, 16)
            self.targets = [int(row[0]) - 1 for row in rows]
        except (EOFError, IndexError, ValueError) as error:
            raise RuntimeError(f"USPS: {path!r} is damaged: {error}") from error
        self.data = ((values + 1) / 2 * 255).astype(numpy.uint8)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = optional("PIL.Image").fromarray(self.data[index])
        return self._transformed(image, self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

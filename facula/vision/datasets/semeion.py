"""SEMEION: handwritten digits in black and white."""

from __future__ import annotations

import os
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets.utils import check_integrity, download_url
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["SEMEION"]


class SEMEION(VisionDataset):
    """Handwritten digits, 16 x 16 in black and white.

    Args:
        root: the folder that has, or is to have, the file ``semeion.data``.
        transform: applied to the image, a PIL image in grey.
        target_transform: applied to the digit.
        download: download what is not there.

    Attributes:
        data: the images, a NumPy array of uint8 ``(N, 16, 16)``.
        labels: the digits, a NumPy array.

    Example:
        >>> facula.vision.datasets.SEMEION.filename
        'semeion.data'
    """

    url = "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data"
    filename = "semeion.data"
    md5_checksum = "cb545d371d2ce14ec121470795a77432"

    def __init__(
        self,
        root: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        import numpy

        if download:
            self.download()
        path = os.path.join(self.root, self.filename)
        if not check_integrity(path, self.md5_checksum):
            raise self._missing(f"{path!r} is not there or is damaged")
        rows = numpy.loadtxt(path, ndmin=2)  # 256 pixels, and ten numbers that mark the digit
        self.data = (rows[:, :256] * 255).astype("uint8").reshape(-1, 16, 16)
        self.labels = numpy.nonzero(rows[:, 256:])[1]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = optional("PIL.Image").fromarray(self.data[index])
        return self._transformed(image, int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def download(self) -> None:
        """Download the file, if it is not there."""
        download_url(self.url, self.root, self.filename, self.md5_checksum)

"""Street View House Numbers."""

from __future__ import annotations

import os
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets._base import fetch
from facula.vision.datasets.utils import check_integrity, download_url, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["SVHN"]

_URL = "http://ufldl.stanford.edu/housenumbers/"


class SVHN(VisionDataset):
    """Digits of house numbers, 32 x 32 in colour. The digit 0 has the class 0. It needs SciPy.

    Args:
        root: the folder that has, or is to have, the ``.mat`` files.
        split: ``"train"``, ``"test"`` or ``"extra"``.
        transform: applied to the image, a PIL image in RGB.
        target_transform: applied to the digit.
        download: download what is not there.

    Attributes:
        data: the images, a NumPy array of uint8 ``(N, 3, 32, 32)``.
        labels: the digits, a NumPy array of int64 ``(N,)``.

    Example:
        >>> sorted(facula.vision.datasets.SVHN.split_list)
        ['extra', 'test', 'train']
    """

    split_list = {
        split: [f"{_URL}{split}_32x32.mat", f"{split}_32x32.mat", md5]
        for split, md5 in (
            ("train", "e26dedcc434d2e4c54c9b2d4a06d8373"),
            ("test", "eb5a983be6a315427106f1b164d9cef3"),
            ("extra", "a93ce644f1a588dc4d68dda5feec44a7"),
        )
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", tuple(self.split_list))
        self.url, self.filename, self.file_md5 = self.split_list[split]
        fetch(self, download, f"{self._path()!r} is not there or is damaged")
        loaded = optional("scipy.io").loadmat(self._path())
        self.labels = loaded["y"].astype("int64").squeeze()
        self.labels[self.labels == 10] = 0
        self.data = loaded["X"].transpose(3, 2, 0, 1)

    def _path(self) -> str:
        return os.path.join(self.root, self.filename)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = optional("PIL.Image").fromarray(self.data[index].transpose(1, 2, 0))
        return self._transformed(image, int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def _check_integrity(self) -> bool:
        return check_integrity(self._path(), self.file_md5)

    def download(self) -> None:
        """Download the file of the split, if it is not there."""
        download_url(self.url, self.root, self.filename, self.file_md5)

    def extra_repr(self) -> str:
        return f"Split: {self.split}"

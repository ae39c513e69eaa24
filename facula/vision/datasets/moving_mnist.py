"""Moving MNIST: films of two digits."""

from __future__ import annotations

import os
from typing import Any

import facula
from facula.vision.datasets.utils import check_integrity, download_url, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["MovingMNIST"]


class MovingMNIST(VisionDataset):
    """10,000 films of two digits that move: 20 frames of 64 x 64 each.

    Args:
        root: the folder that has, or is to have, the folder ``MovingMNIST``.
        split: ``"train"`` for the first frames of all films, ``"test"`` for the others, or None for
            all frames.
        split_ratio: the number of first frames, 1 to 19.
        download: download what is not there.
        transform: applied to a film, a uint8 tensor ``(frames, 1, 64, 64)``.

    Attributes:
        data: the films, uint8 ``(N, frames, 1, 64, 64)``.

    Example:
        >>> facula.vision.datasets.MovingMNIST(".", split="train", split_ratio=20)
        Traceback (most recent call last):
        ValueError: MovingMNIST: expected a split_ratio from 1 to 19, got 20.
    """

    _URL = "http://www.cs.toronto.edu/~nitish/unsupervised_video/mnist_test_seq.npy"
    _MD5 = "be083ec986bfe91a449d63653c411eb2"

    def __init__(
        self,
        root: Root,
        split: str | None = None,
        split_ratio: int = 10,
        download: bool = False,
        transform: Transform | None = None,
    ) -> None:
        super().__init__(root, transform=transform)
        import numpy

        if split is not None:
            verify_str_arg(split, "split", ("train", "test"))
        if not isinstance(split_ratio, int):
            raise TypeError(f"MovingMNIST: expected an integer split_ratio, got {split_ratio!r}.")
        if not 1 <= split_ratio <= 19:
            raise ValueError(
                f"MovingMNIST: expected a split_ratio from 1 to 19, got {split_ratio}."
            )
        self.split = split
        self.split_ratio = split_ratio
        self._folder = os.path.join(self.root, "MovingMNIST")
        if download:
            self.download()
        path = os.path.join(self._folder, os.path.basename(self._URL))
        if not check_integrity(path):
            raise self._missing(f"there is no {path!r}")
        frames = facula.from_numpy(numpy.load(path))
        chosen = {"train": slice(0, split_ratio), "test": slice(split_ratio, None)}
        frames = frames[chosen[split]] if split is not None else frames
        self.data = frames.transpose(0, 1).unsqueeze(2).contiguous()

    def __getitem__(self, index: int) -> Any:
        film = self.data[index]
        return film if self.transform is None else self.transform(film)

    def __len__(self) -> int:
        return len(self.data)

    def download(self) -> None:
        """Download the file, if it is not there."""
        name = os.path.basename(self._URL)
        if not check_integrity(os.path.join(self._folder, name)):
            download_url(self._URL, self._folder, name, self._MD5)

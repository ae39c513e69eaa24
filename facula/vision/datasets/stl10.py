"""STL-10."""

from __future__ import annotations

import os
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets.utils import (
    check_integrity,
    download_and_extract_archive,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["STL10"]


class STL10(VisionDataset):
    """Photographs of ten classes, 96 x 96: 5,000 to train with, 8,000 to test, 100,000 of no class.

    Args:
        root: the folder that has, or is to have, the folder ``stl10_binary``.
        split: ``"train"``, ``"test"``, ``"unlabeled"`` or ``"train+unlabeled"``.
        folds: one of the ten choices of 1,000 images to train with, 0 to 9; None for all images.
        transform: applied to the image, a PIL image in RGB.
        target_transform: applied to the index of the class, -1 without one.
        download: download what is not there.

    Attributes:
        data: the images, a NumPy array of uint8 ``(N, 3, 96, 96)``.
        labels: the index of the class of each image, a NumPy array.
        classes: the names of the classes.

    Example:
        >>> facula.vision.datasets.STL10.splits
        ('train', 'train+unlabeled', 'unlabeled', 'test')
    """

    base_folder = "stl10_binary"
    url = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"
    filename = "stl10_binary.tar.gz"
    tgz_md5 = "91f7769df0f17e558f3565bffb0c7dfb"
    class_names_file = "class_names.txt"
    folds_list_file = "fold_indices.txt"
    train_list = [
        ["train_X.bin", "918c2871b30a85fa023e0c44e0bee87f"],
        ["train_y.bin", "5a34089d4802c674881badbb80307741"],
        ["unlabeled_X.bin", "5242ba1fed5e4be9e1e742405eb56ca4"],
    ]
    test_list = [
        ["test_X.bin", "7f263ba9f9e0b06b93213547f721ac82"],
        ["test_y.bin", "36f9794fa4beb8a2c72628de14fa638e"],
    ]
    splits = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(
        self,
        root: Root,
        split: str = "train",
        folds: int | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        import numpy

        self.split = verify_str_arg(split, "split", self.splits)
        if folds is not None and not (isinstance(folds, int) and 0 <= folds < 10):
            raise ValueError(f"STL10: expected folds from 0 to 9 or None, got {folds!r}.")
        self.folds = folds
        if download:
            self.download()
        elif not self._check_integrity():
            raise self._missing(f"the dataset is not in {self._path('')!r}, or is damaged")
        parts = [self._read(name) for name in self.split.split("+")]
        self.data = numpy.concatenate([data for data, _ in parts])
        self.labels: Any = numpy.concatenate([labels for _, labels in parts])
        with open(self._path(self.class_names_file)) as file:
            self.classes = file.read().splitlines()

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _read(self, name: str) -> tuple[Any, Any]:
        """The images and the classes of a file."""
        import numpy

        pixels = numpy.fromfile(self._path(f"{name}_X.bin"), "u1")
        data = pixels.reshape(-1, 3, 96, 96).transpose(0, 1, 3, 2)  # columns come first in files
        if name == "unlabeled":
            return data, numpy.full(len(data), -1)
        labels = numpy.fromfile(self._path(f"{name}_y.bin"), "u1") - 1
        if name == "train" and self.folds is not None:
            with open(self._path(self.folds_list_file)) as file:
                chosen = [int(index) for index in file.read().splitlines()[self.folds].split()]
            return data[chosen], labels[chosen]
        return data, labels

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = optional("PIL.Image").fromarray(self.data[index].transpose(1, 2, 0))
        return self._transformed(image, int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def _check_integrity(self) -> bool:
        files = self.train_list + self.test_list
        return all(check_integrity(self._path(name), md5) for name, md5 in files)

    def download(self) -> None:
        """Download and unpack the archive, if the files are not there."""
        if not self._check_integrity():
            download_and_extract_archive(
                self.url, self.root, filename=self.filename, md5=self.tgz_md5
            )
            if not self._check_integrity():
                raise RuntimeError(f"STL10: the files in {self._path('')!r} are damaged.")

    def extra_repr(self) -> str:
        return f"Split: {self.split}"

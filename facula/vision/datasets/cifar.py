"""CIFAR-10 and CIFAR-100."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets._base import fetch, numbered
from facula.vision.datasets.utils import check_integrity, download_and_extract_archive
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["CIFAR10", "CIFAR100"]


def read_pickle(path: Root) -> Any:
    """The object of a file that Python 2 or 3 pickled: containers, numbers, strings, arrays.

    It is read as data, so that no code of the archive is run.
    """
    from facula.serialization._source import Budget
    from facula.serialization._unpickle import Unpickle

    data = Path(path).read_bytes()
    # Byte strings of Python 2 are counted at four bytes a letter, and become arrays after that.
    budget = Budget(8 * len(data) + (40 << 20))
    return Unpickle(False, None, "latin1").plain(data, 0, budget, os.fspath(path))[0]


class CIFAR10(VisionDataset):
    """Photographs of ten classes: 50,000 of 32 x 32 to train with and 10,000 to test.

    Args:
        root: the folder that has, or is to have, the folder ``cifar-10-batches-py``.
        train: whether images are those to train with, or those to test.
        transform: applied to the image, a PIL image in RGB.
        target_transform: applied to the index of the class.
        download: download what is not there.

    Attributes:
        data: the images, a NumPy array of uint8 ``(N, 32, 32, 3)``.
        targets: the index of the class of each image.
        classes: the names of the classes.
        class_to_idx: the index of each class.

    Example:
        >>> facula.vision.datasets.CIFAR10.base_folder
        'cifar-10-batches-py'
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta = {
        "filename": "batches.meta",
        "key": "label_names",
        "md5": "5ff9c542aee3614f3951f8cda6e48888",
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

        self.train = train
        fetch(self, download, f"the dataset is not in {self._path('')!r}, or is damaged")
        batches = [read_pickle(self._path(name)) for name, _ in self._files()]
        self.targets: list[int] = []
        for batch in batches:
            self.targets += batch["labels"] if "labels" in batch else batch["fine_labels"]
        rows = numpy.concatenate([batch["data"] for batch in batches])
        # Contiguous: each image becomes a PIL image without a copy.
        self.data = numpy.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.classes: list[str] = read_pickle(self._path(self.meta["filename"]))[self.meta["key"]]
        self.class_to_idx = numbered(self.classes)

    def _files(self) -> list[list[str]]:
        return self.train_list if self.train else self.test_list

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = optional("PIL.Image").fromarray(self.data[index])
        return self._transformed(image, self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

    def _check_integrity(self) -> bool:
        meta = [self.meta["filename"], self.meta["md5"]]
        files = [*self.train_list, *self.test_list, meta]
        return all(check_integrity(self._path(name), md5) for name, md5 in files)

    def download(self) -> None:
        """Download and unpack the archive, if the files are not there."""
        if not self._check_integrity():
            download_and_extract_archive(
                self.url, self.root, filename=self.filename, md5=self.tgz_md5
            )

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """Photographs of a hundred classes, in the format of :class:`CIFAR10`, whose arguments it has.

    Example:
        >>> facula.vision.datasets.CIFAR100.base_folder
        'cifar-100-python'
    """

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta = {
        "filename": "meta",
        "key": "fine_label_names",
        "md5": "7973b15100ade9c7d40fb424638fde48",
    }

"""MNIST and the datasets that have its format: IDX files, compressed with gzip."""

from __future__ import annotations

import math
import os
import shutil
import string
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import facula
from facula import Tensor
from facula._warnings import warn_user
from facula.vision._imports import optional
from facula.vision.datasets._base import numbered
from facula.vision.datasets.utils import (
    check_integrity,
    download_and_extract_archive,
    download_first,
    extract_archive,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = [
    "EMNIST",
    "KMNIST",
    "MNIST",
    "QMNIST",
    "FashionMNIST",
    "read_image_file",
    "read_label_file",
    "read_sn3_pascalvincent_tensor",
]

# The types of IDX files by their code, as NumPy names them; numbers are big-endian.
_IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def _parts(*md5s: str) -> list[tuple[str, str]]:
    """The four files of a dataset with their MD5 hashes."""
    kinds = ("images-idx3", "labels-idx1")
    names = (f"{start}-{kind}-ubyte.gz" for start in ("train", "t10k") for kind in kinds)
    return list(zip(names, md5s, strict=True))


def read_sn3_pascalvincent_tensor(path: Root, strict: bool = True) -> Tensor:
    """Read an IDX file, the format of MNIST.

    It has two zero bytes, the code of the type, the number of dims, their sizes, and the elements,
    all numbers big-endian.

    Args:
        path: the file, not compressed.
        strict: the file must end where its last element does.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "labels"
        >>> _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3]) + bytes([5, 0, 4]))
        >>> facula.vision.datasets.mnist.read_sn3_pascalvincent_tensor(path)
        tensor([5, 0, 4], dtype=torch.uint8)
    """
    import numpy

    data = Path(path).read_bytes()
    n_dims = data[3] if len(data) > 3 else 0
    start = 4 + 4 * n_dims
    is_idx = len(data) >= start and data[:2] == b"\0\0" and data[2] in _IDX_TYPES
    if not is_idx or not 1 <= n_dims <= 3:
        raise ValueError(f"{os.fspath(path)} is not an IDX file of 1 to 3 dimensions.")
    shape = [int.from_bytes(data[i : i + 4], "big") for i in range(4, start, 4)]
    dtype = numpy.dtype(_IDX_TYPES[data[2]])
    expected = start + math.prod(shape) * dtype.itemsize
    if len(data) < expected or (strict and len(data) > expected):
        raise ValueError(
            f"{os.fspath(path)} has {len(data)} bytes, expected {expected} for a shape of "
            f"{tuple(shape)}: it is damaged."
        )
    array = numpy.frombuffer(data, dtype, math.prod(shape), start).reshape(shape)
    return facula.from_numpy(array.astype(dtype.newbyteorder("=")))


def read_label_file(path: Root) -> Tensor:
    """The labels of an IDX file, int64 ``(N,)``."""
    return _read_bytes(path, 1).long()


def read_image_file(path: Root) -> Tensor:
    """The images of an IDX file, uint8 ``(N, H, W)``."""
    return _read_bytes(path, 3)


def _read_bytes(path: Root, n_dims: int) -> Tensor:
    x = read_sn3_pascalvincent_tensor(path, strict=False)
    if x.dtype != facula.uint8:
        raise TypeError(f"{os.fspath(path)}: expected elements of dtype uint8, got {x.dtype}.")
    if x.dim() != n_dims:
        raise ValueError(f"{os.fspath(path)}: expected {n_dims} dimensions, got {x.dim()}.")
    return x


def _old_name(old: str, new: str) -> Any:
    """A property that warns and returns the attribute of the new name."""

    def renamed(self: Any) -> Any:
        warn_user(f"{type(self).__name__}.{old} is called {new} now.")
        return getattr(self, new)

    return property(renamed, doc=f"An old name of ``{new}``.")


class MNIST(VisionDataset):
    """Handwritten digits: 60,000 images of 28 x 28 to train with and 10,000 to test.

    Args:
        root: the folder that has, or is to have, the folder ``MNIST/raw``.
        train: whether images are those to train with, or those to test.
        transform: applied to the image, a PIL image in grey.
        target_transform: applied to the digit.
        download: download what is not there.

    Attributes:
        data: the images, uint8 ``(N, 28, 28)``.
        targets: the digits, int64 ``(N,)``.

    Example:
        >>> facula.vision.datasets.MNIST.classes[:3]
        ['0 - zero', '1 - one', '2 - two']
    """

    mirrors = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    resources: Any = _parts(
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    )
    training_file = "training.pt"
    test_file = "test.pt"
    classes = [
        f"{digit} - {name}"
        for digit, name in enumerate(
            ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
        )
    ]

    def __init__(
        self,
        root: Root,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if self._has_processed():
            self.data, self.targets = self._load_processed()
            return
        if download:
            self.download()
        if not self._check_exists():
            raise self._missing(f"the dataset is not in {self.raw_folder!r}")
        self.data, self.targets = self._load_data()
        if len(self.data) != len(self.targets):
            raise ValueError(
                f"{type(self).__name__}: {self.raw_folder!r} has {len(self.data)} images and "
                f"{len(self.targets)} labels: a file is damaged, or of another split."
            )

    # Versions of torchvision before 0.10 kept tensors in files of PyTorch.
    def _has_processed(self) -> bool:
        files = (self.training_file, self.test_file)
        return all(check_integrity(os.path.join(self.processed_folder, name)) for name in files)

    def _load_processed(self) -> tuple[Tensor, Tensor]:
        name = self.training_file if self.train else self.test_file
        data, targets = facula.load(os.path.join(self.processed_folder, name))
        return data, targets

    def _load_data(self) -> tuple[Tensor, Tensor]:
        start = "train" if self.train else "t10k"
        return (
            read_image_file(os.path.join(self.raw_folder, f"{start}-images-idx3-ubyte")),
            read_label_file(os.path.join(self.raw_folder, f"{start}-labels-idx1-ubyte")),
        )

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(self._image(index), int(self.targets[index]))

    def _image(self, index: int) -> Any:
        return optional("PIL.Image").fromarray(self.data[index].numpy())

    def __len__(self) -> int:
        return len(self.data)

    @property
    def raw_folder(self) -> str:
        """The folder of the files that are downloaded."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def processed_folder(self) -> str:
        """The folder where old versions of torchvision keep the dataset."""
        return os.path.join(self.root, type(self).__name__, "processed")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The index of each class."""
        return numbered(self.classes)

    train_labels = _old_name("train_labels", "targets")
    test_labels = _old_name("test_labels", "targets")
    train_data = _old_name("train_data", "data")
    test_data = _old_name("test_data", "data")

    def _check_exists(self) -> bool:
        names = (os.path.splitext(name)[0] for name, _ in self.resources)
        return all(check_integrity(os.path.join(self.raw_folder, name)) for name in names)

    def download(self) -> None:
        """Download the files that are not there, from the first mirror that has them."""
        if self._check_exists():
            return
        for name, md5 in self.resources:
            urls = [urljoin(mirror, name) for mirror in self.mirrors]
            download_first(urls, self.raw_folder, name, md5)
            extract_archive(os.path.join(self.raw_folder, name))

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Articles of clothing, in the format of :class:`MNIST`, whose arguments it has.

    Example:
        >>> facula.vision.datasets.FashionMNIST.classes[:2]
        ['T-shirt/top', 'Trouser']
    """

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources = _parts(
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    )
    classes = [
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    ]


class KMNIST(MNIST):
    """Cursive Japanese characters, in the format of :class:`MNIST`, whose arguments it has.

    Example:
        >>> facula.vision.datasets.KMNIST.classes
        ['o', 'ki', 'su', 'tsu', 'na', 'ha', 'ma', 'ya', 're', 'wo']
    """

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources = _parts(
        "bdb82020997e1d708af4cf47b453dcf7",
        "e144d726b3acfaa3e44228e80efcd344",
        "5c965bf0a639b31b8f53240b1b52f4d7",
        "7320c461ea6c1c855c0b718fb2a4b134",
    )
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]


class EMNIST(MNIST):
    """Handwritten letters and digits, in six splits.

    Args:
        root: the folder that has, or is to have, the folder ``EMNIST/raw``.
        split: ``"byclass"``, ``"bymerge"``, ``"balanced"``, ``"letters"``, ``"digits"`` or
            ``"mnist"``.
        **kwargs: other arguments of :class:`MNIST`.

    Example:
        >>> facula.vision.datasets.EMNIST.classes_split_dict["letters"][:3]
        ['N/A', 'a', 'b']
    """

    url = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
    md5 = "58c8d27c78d21e728a6bc7b3cc06412e"
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    # Letters whose capitals look the same are one class in two of the splits.
    _merged_classes = set("cijklmopsuvwxyz")
    _all_classes = set(string.digits + string.ascii_letters)
    classes_split_dict = {
        "byclass": sorted(_all_classes),
        "bymerge": sorted(_all_classes - _merged_classes),
        "balanced": sorted(_all_classes - _merged_classes),
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }

    def __init__(self, root: Root, split: str, **kwargs: Any) -> None:
        self.split = verify_str_arg(split, "split", self.splits)
        self.training_file = f"training_{split}.pt"
        self.test_file = f"test_{split}.pt"
        super().__init__(root, **kwargs)
        self.classes = self.classes_split_dict[self.split]

    @property
    def _file_prefix(self) -> str:
        return f"emnist-{self.split}-{'train' if self.train else 'test'}"

    @property
    def images_file(self) -> str:
        """The file of the images."""
        return os.path.join(self.raw_folder, f"{self._file_prefix}-images-idx3-ubyte")

    @property
    def labels_file(self) -> str:
        """The file of the labels."""
        return os.path.join(self.raw_folder, f"{self._file_prefix}-labels-idx1-ubyte")

    def _load_data(self) -> tuple[Tensor, Tensor]:
        return read_image_file(self.images_file), read_label_file(self.labels_file)

    def _check_exists(self) -> bool:
        return check_integrity(self.images_file) and check_integrity(self.labels_file)

    def download(self) -> None:
        """Download and unpack the archive of all splits, if it is not there."""
        if self._check_exists():
            return
        download_and_extract_archive(self.url, self.raw_folder, md5=self.md5)
        packed = Path(self.raw_folder, "gzip")
        for path in packed.glob("*.gz"):
            extract_archive(path, self.raw_folder)
        shutil.rmtree(packed)


class QMNIST(MNIST):
    """MNIST made again from its sources, with 60,000 images to test and more about each.

    Args:
        root: the folder that has, or is to have, the folder ``QMNIST/raw``.
        what: ``"train"``, ``"test"``, ``"test10k"`` (those of MNIST), ``"test50k"`` (the others) or
            ``"nist"`` (all digits of the source). By default as ``train`` says.
        compat: the target is the digit; else all eight numbers about the image.
        train: whether images are those to train with, where ``what`` is not given.
        **kwargs: other arguments of :class:`MNIST`.

    Example:
        >>> facula.vision.datasets.QMNIST.subsets["test10k"]
        'test'
    """

    subsets = {
        "train": "train",
        "test": "test",
        "test10k": "test",
        "test50k": "test",
        "nist": "nist",
    }
    _URL = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"
    resources = {
        "train": [
            (_URL + "qmnist-train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"),
            (_URL + "qmnist-train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"),
        ],
        "test": [
            (_URL + "qmnist-test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"),
            (_URL + "qmnist-test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"),
        ],
        "nist": [
            (_URL + "xnist-images-idx3-ubyte.xz", "7f124b3b8ab81486c9d8c2749c17f834"),
            (_URL + "xnist-labels-idx2-int.xz", "5ed0e788978e45d4a8bd4b7caec3d79d"),
        ],
    }

    def __init__(
        self,
        root: Root,
        what: str | None = None,
        compat: bool = True,
        train: bool = True,
        **kwargs: Any,
    ) -> None:
        what = ("train" if train else "test") if what is None else what
        self.what = verify_str_arg(what, "what", tuple(self.subsets))
        self.compat = compat
        self.data_file = self.training_file = self.test_file = f"{what}.pt"
        super().__init__(root, train, **kwargs)

    @property
    def images_file(self) -> str:
        """The file of the images."""
        return self._unpacked(0)

    @property
    def labels_file(self) -> str:
        """The file of the labels."""
        return self._unpacked(1)

    def _unpacked(self, part: int) -> str:
        url, _ = self.resources[self.subsets[self.what]][part]
        return os.path.join(self.raw_folder, os.path.splitext(os.path.basename(url))[0])

    def _load_data(self) -> tuple[Tensor, Tensor]:
        data = read_image_file(self.images_file)
        targets = read_sn3_pascalvincent_tensor(self.labels_file)
        if targets.dtype != facula.int32 or targets.dim() != 2:
            raise ValueError(f"{self.labels_file}: expected a matrix of int32.")
        halves = {"test10k": slice(0, 10000), "test50k": slice(10000, None)}
        chosen = halves.get(self.what, slice(None))
        return data[chosen], targets[chosen].long()

    def _check_exists(self) -> bool:
        return check_integrity(self.images_file) and check_integrity(self.labels_file)

    def download(self) -> None:
        """Download the files of the subset that are not there."""
        if self._check_exists():
            return
        for url, md5 in self.resources[self.subsets[self.what]]:
            download_and_extract_archive(url, self.raw_folder, md5=md5)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = self.targets[index]
        return self._transformed(self._image(index), int(target[0]) if self.compat else target)

    def extra_repr(self) -> str:
        return f"Split: {self.what}"

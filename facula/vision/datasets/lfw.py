"""Labeled Faces in the Wild."""

from __future__ import annotations

import os
from typing import Any

from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.utils import check_integrity, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["LFWPairs", "LFWPeople"]

# The folder of each set of images, its archive and the MD5 hash of that.
_LFW_IMAGES = {
    "original": ("lfw", "lfw.tgz", "a17d05bd522c52d84eca14327a23d494"),
    "funneled": ("lfw_funneled", "lfw-funneled.tgz", "1b42dfed7d15c9b2dd63d5e5840c86ad"),
    "deepfunneled": (
        "lfw-deepfunneled",
        "lfw-deepfunneled.tgz",
        "68331da3eb755a505a502b5aacb3c201",
    ),
}

_LFW_LISTS = {
    "pairs.txt": "9f1ba174e4e1c508ff7cdf10ac338a7d",
    "pairsDevTest.txt": "5132f7440eb68cf58910c8a45a2ac10b",
    "pairsDevTrain.txt": "4f27cbf15b2da4a85c1907eb4181ad21",
    "people.txt": "450f0863dd89e85e73936a6d71a3474b",
    "peopleDevTest.txt": "e4bf5be0a43b5dcd9dc5ccfcb8fb19c5",
    "peopleDevTrain.txt": "54eaac34beb6d042ed3a7d883e247a21",
    "lfw-names.txt": "a6d0a479bd074669f656265a6e693f6d",
}

_SPLITS = {"10fold": "", "train": "DevTrain", "test": "DevTest"}


class _LFW(VisionDataset):
    base_folder = "lfw-py"
    data: list[Any]
    targets: list[int]
    _view = ""

    def __init__(
        self,
        root: Root,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        root = os.path.join(os.path.expanduser(root), self.base_folder)
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.image_set = verify_str_arg(image_set.lower(), "image_set", tuple(_LFW_IMAGES))
        self.split = verify_str_arg(split.lower(), "split", tuple(_SPLITS))
        folder, self.filename, self.md5 = _LFW_IMAGES[self.image_set]
        self.images_dir = os.path.join(self.root, folder)
        self.labels_file = f"{self._view}{_SPLITS[self.split]}.txt"
        self._loader = loader
        if download:
            raise ValueError(
                f"{type(self).__name__}: the site of LFW is gone; it cannot be downloaded. Put "
                f"{self.filename}, unpacked beside it, and the lists into {self.root!r}."
            )
        lists = [self.labels_file, *(["lfw-names.txt"] if self._view == "people" else [])]
        files = [(self.filename, self.md5), *((name, _LFW_LISTS[name]) for name in lists)]
        for name, md5 in files:
            if not check_integrity(os.path.join(self.root, name), md5):
                raise RuntimeError(
                    f"{type(self).__name__}: {name} is not in {self.root!r}, or is damaged."
                )
        self.data = []
        self.targets = []
        self._list()

    def _list(self) -> None:
        """Read the list of images into ``data`` and ``targets``."""
        raise NotImplementedError

    def _lines(self, name: str) -> list[list[str]]:
        with open(os.path.join(self.root, name)) as file:
            return [line.split() for line in file]

    def _path(self, person: str, number: str | int) -> str:
        return os.path.join(self.images_dir, person, f"{person}_{int(number):04d}.jpg")

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Alignment: {self.image_set}\nSplit: {self.split}"


class LFWPeople(_LFW):
    """Faces of famous people, classified by the person. It can no longer be downloaded.

    Args:
        root: the folder that has the folder ``lfw-py``.
        split: ``"train"``, ``"test"`` or ``"10fold"``.
        image_set: how faces are aligned: ``"original"``, ``"funneled"`` or ``"deepfunneled"``.
        transform: applied to the image.
        target_transform: applied to the index of the person.
        download: must be False.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.LFWPeople(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of '10fold', 'train', 'test', got 'val'.
    """

    _view = "people"

    def _list(self) -> None:
        self.class_to_idx = {row[0]: i for i, row in enumerate(self._lines("lfw-names.txt"))}
        # Lines of one number count the folds or the people of one; the others are people.
        people = [row for row in self._lines(self.labels_file) if len(row) == 2]
        for name, count in people:
            self.data += [self._path(name, number) for number in range(1, int(count) + 1)]
            self.targets += [self.class_to_idx[name]] * int(count)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(self._loader(self.data[index]), self.targets[index])

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}\nClasses (identities): {len(self.class_to_idx)}"


class LFWPairs(_LFW):
    """Pairs of faces, of one person or of two. It can no longer be downloaded.

    Args:
        root: the folder that has the folder ``lfw-py``.
        split: ``"train"``, ``"test"`` or ``"10fold"``.
        image_set: how faces are aligned: ``"original"``, ``"funneled"`` or ``"deepfunneled"``.
        transform: applied to each image.
        target_transform: applied to 1 for the same person, 0 for different ones.
        download: must be False.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.LFWPairs(".", image_set="no")
        Traceback (most recent call last):
        ValueError: image_set: expected one of 'original', 'funneled', 'deepfunneled', got 'no'.
    """

    _view = "pairs"

    def _list(self) -> None:
        self.pair_names: list[tuple[str, str]] = []
        # Three cells are a person and two numbers, four are two of each; the first line counts.
        for row in self._lines(self.labels_file)[1:]:
            first, second = (row[0], row[1]), (row[0], row[2]) if len(row) == 3 else tuple(row[2:])
            self.pair_names.append((first[0], second[0]))
            self.data.append((self._path(*first), self._path(*second)))
            self.targets.append(int(len(row) == 3))

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        first, second = (self._loader(path) for path in self.data[index])
        if self.transform is not None:
            first, second = self.transform(first), self.transform(second)
        target: Any = self.targets[index]
        if self.target_transform is not None:
            target = self.target_transform(target)
        return first, second, target

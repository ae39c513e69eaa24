"""Places365: photographs of kinds of places."""

from __future__ import annotations

import os
from typing import Any

from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.utils import (
    check_integrity,
    download_and_extract_archive,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["Places365"]


class Places365(VisionDataset):
    """Photographs of 365 kinds of places.

    Args:
        root: the folder that has, or is to have, the lists and the folders of images.
        split: ``"train-standard"``, ``"train-challenge"``, ``"val"`` or ``"test"``, whose targets
            are None.
        small: images of 256 x 256, not the large ones.
        download: download what is not there.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        loader: reads the image of a path.

    Attributes:
        classes: the names of the classes, sorted.
        class_to_idx: the index of each class.
        imgs: pairs of a path and an index of a class.
        targets: the index of the class of each image.

    Example:
        >>> facula.vision.datasets.Places365(".", split="train")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train-standard', 'train-challenge', 'val', 'test', got
        'train'.
    """

    _SPLITS = ("train-standard", "train-challenge", "val", "test")
    _BASE_URL = "http://data.csail.mit.edu/places/places365/"
    _DEVKIT_META = {
        "standard": ("filelist_places365-standard.tar", "35a0585fee1fa656440f3ab298f8479c"),
        "challenge": ("filelist_places365-challenge.tar", "70a8307e459c3de41690a7c76c931734"),
    }
    _CATEGORIES_META = ("categories_places365.txt", "06c963b85866bd0649f97cb43dd16673")
    _FILE_LIST_META = {
        "train-standard": ("places365_train_standard.txt", "30f37515461640559006b8329efbed1a"),
        "train-challenge": ("places365_train_challenge.txt", "b2931dc997b8c33c27e7329c073a6b57"),
        "val": ("places365_val.txt", "e9f2fd57bfd9d07630173f4e8708e4b1"),
        "test": ("places365_test.txt", "2fce8233fe493576d724142e45d93653"),
    }
    # By split: the archive and hash of the large images, then of the small ones.
    _IMAGES_META = {
        "train-standard": (
            ("train_large_places365standard.tar", "67e186b496a84c929568076ed01a8aa1"),
            ("train_256_places365standard.tar", "53ca1c756c3d1e7809517cc47c5561c5"),
        ),
        "train-challenge": (
            ("train_large_places365challenge.tar", "605f18e68e510c82b958664ea134545f"),
            ("train_256_places365challenge.tar", "741915038a5e3471ec7332404dfb64ef"),
        ),
        "val": (
            ("val_large.tar", "9b71c4993ad89d2d8bcbdc4aef38042f"),
            ("val_256.tar", "e27b17d8d44f4af9a78502beb927f808"),
        ),
        "test": (
            ("test_large.tar", "41a4b6b724b1d2cd862fb3871ed59913"),
            ("test_256.tar", "f532f6ad7b582262a2ec8009075e186b"),
        ),
    }

    def __init__(
        self,
        root: Root,
        split: str = "train-standard",
        small: bool = False,
        download: bool = False,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self._SPLITS)
        self.small = small
        self.loader = loader
        if download:
            self.download_devkit()
        self.classes, self.class_to_idx = self.load_categories(download)
        self.imgs, self.targets = self.load_file_list(download)
        if download:
            self.download_images()

    @property
    def variant(self) -> str:
        """Which lists the split belongs to."""
        return "challenge" if "challenge" in self.split else "standard"

    @property
    def images_dir(self) -> str:
        """The folder of the images."""
        size = "256" if self.small else "large"
        is_train = self.split.startswith("train")
        name = f"data_{size}_{self.variant}" if is_train else f"{self.split}_{size}"
        return os.path.join(self.root, name)

    def _lines(self, name: str, md5: str, download: bool) -> list[list[str]]:
        path = os.path.join(self.root, name)
        if not check_integrity(path, md5):
            if not download:
                raise self._missing(f"{path!r} is not there or is damaged")
            self.download_devkit()
        with open(path) as file:
            return [line.split() for line in file]

    def load_categories(self, download: bool = True) -> tuple[list[str], dict[str, int]]:
        """The names of the classes, sorted, and the index of each."""
        class_to_idx = {
            name: int(index) for name, index in self._lines(*self._CATEGORIES_META, download)
        }
        return sorted(class_to_idx), class_to_idx

    def load_file_list(
        self, download: bool = True
    ) -> tuple[list[tuple[str, int | None]], list[int | None]]:
        """The paths of the images with their classes, and the classes alone."""
        rows = self._lines(*self._FILE_LIST_META[self.split], download)
        targets = [None if self.split == "test" else int(row[1]) for row in rows]
        paths = [os.path.join(self.images_dir, row[0].lstrip("/")) for row in rows]
        return list(zip(paths, targets, strict=True)), targets

    def download_devkit(self) -> None:
        """Download and unpack the lists of images and classes."""
        name, md5 = self._DEVKIT_META[self.variant]
        download_and_extract_archive(self._BASE_URL + name, self.root, md5=md5)

    def download_images(self) -> None:
        """Download and unpack the images, if their folder is not there."""
        if os.path.exists(self.images_dir):
            return
        name, md5 = self._IMAGES_META[self.split][self.small]
        download_and_extract_archive(self._BASE_URL + name, self.root, md5=md5)
        if self.split.startswith("train"):
            os.rename(self.images_dir.rsplit("_", 1)[0], self.images_dir)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.imgs[index]
        return self._transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.imgs)

    def extra_repr(self) -> str:
        return f"Split: {self.split}\nSmall: {self.small}"

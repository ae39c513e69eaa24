"""Places365 and iNaturalist: millions of images, in archives by split."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from facula.vision.datasets._targets import one_or_all
from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.utils import (
    check_integrity,
    download_and_extract_archive,
    read_image,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset


class Places365(VisionDataset):
    """Photographs of 365 kinds of places.

    Args:
        root: the folder that has, or is to have, the lists and the folders of images.
        split: ``"train-standard"``, ``"train-challenge"``, ``"val"`` or ``"test"``, whose targets
            are None.
        small: images of 256 x 256, not the large ones.
        download: download what is not there.
        transform: of the image.
        target_transform: of the index of the class.
        loader: reads the image of a path.

    Attributes:
        classes: the names, sorted.
        class_to_idx: the index of each.
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
                raise RuntimeError(
                    f"Places365: {path!r} is not there or is damaged. Pass download=True to "
                    "download it."
                )
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


_INAT = "https://ml-inat-competition-datasets.s3.amazonaws.com/"

# The archive of each version, and its MD5 hash.
_INAT_ARCHIVES = {
    "2017": ("2017/train_val_images.tar.gz", "7c784ea5e424efaec655bd392f87301f"),
    "2018": ("2018/train_val2018.tar.gz", "b1c6952ce38f31868cc50ea72d066cc3"),
    "2019": ("2019/train_val2019.tar.gz", "c60a6e2962c9b8ccbd458d12c8582644"),
    "2021_train": ("2021/train.tar.gz", "e0526d53c7f7b2e3167b2b43bb2690ed"),
    "2021_train_mini": ("2021/train_mini.tar.gz", "db6ed8330e634445efc8fec83ae81442"),
    "2021_valid": ("2021/val.tar.gz", "f6f6e0e242e3d4c9569ba56400938afc"),
}
_RANKS = ("kingdom", "phylum", "class", "order", "family", "genus")


class INaturalist(VisionDataset):
    """Photographs of plants and animals.

    Args:
        root: the folder that has, or is to have, a folder named after the version.
        version: ``"2021_train"``, ``"2021_train_mini"``, ``"2021_valid"``, ``"2019"``, ``"2018"``
            or ``"2017"``.
        target_type: what to return with an image, one of these or a list of them: ``"full"`` (the
            index of the species); before 2021 ``"super"``; in 2021 ``"kingdom"``, ``"phylum"``,
            ``"class"``, ``"order"``, ``"family"``, ``"genus"``.
        transform: of the image.
        target_transform: of the target, a tuple where there are several types.
        download: download what is not there.
        loader: reads the image of a path.

    Attributes:
        all_categories: the names of the species.
        index: pairs of the index of the species and the name of an image.

    Example:
        >>> facula.vision.datasets.INaturalist(".", target_type="super")
        Traceback (most recent call last):
        RuntimeError: INaturalist: there is no folder './2021_train'. Pass download=True to download
        it.
    """

    def __init__(
        self,
        root: Root,
        version: str = "2021_train",
        target_type: list[str] | str = "full",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader | None = None,
    ) -> None:
        self.version = verify_str_arg(version, "version", tuple(_INAT_ARCHIVES))
        super().__init__(
            os.path.join(root, version), transform=transform, target_transform=target_transform
        )
        self.loader = loader
        if download:
            self.download()
        if not os.path.isdir(self.root) or not os.listdir(self.root):
            raise RuntimeError(
                f"INaturalist: there is no folder {self.root!r}. Pass download=True to download it."
            )
        self.categories_index: dict[str, dict[str, int]] = {}
        self.categories_map: list[dict[str, int]] = []
        self.all_categories: list[str] = []
        if version.startswith("2021"):
            self._index_2021()
        else:
            self._index_before_2021()
        types = [target_type] if isinstance(target_type, str) else target_type
        valid = ("full", *self.categories_index)
        self.target_type = [verify_str_arg(kind, "target_type", valid) for kind in types]
        self.index = [
            (i, name)
            for i, category in enumerate(self.all_categories)
            for name in sorted(os.listdir(os.path.join(self.root, category)))
        ]

    def _index_2021(self) -> None:
        """Species are folders, named after their ranks: number_kingdom_..._genus_species."""
        self.all_categories = sorted(os.listdir(self.root))
        self.categories_index = {rank: {} for rank in _RANKS}
        for folder in self.all_categories:
            parts = folder.split("_")
            if len(parts) != 8:
                raise RuntimeError(
                    f"INaturalist: the folder {folder!r} is not named after its ranks."
                )
            ids = {}
            for rank, name in zip(_RANKS, parts[1:7], strict=True):
                known = self.categories_index[rank]
                ids[rank] = known.setdefault(name, len(known))
            self.categories_map.append(ids)

    def _index_before_2021(self) -> None:
        """Species are folders in those of their group; from 2018 on they are numbered."""
        groups = {group: i for i, group in enumerate(sorted(os.listdir(self.root)))}
        self.categories_index = {"super": groups}
        found: list[tuple[Any, str, int]] = []
        for group, i in groups.items():
            for name in sorted(os.listdir(os.path.join(self.root, group))):
                category = os.path.join(group, name)
                if self.version == "2017":
                    found.append((len(found), category, i))
                elif name.isdigit():
                    found.append((int(name), category, i))
                else:
                    raise RuntimeError(f"INaturalist: the folder {category!r} is no number.")
        found.sort()
        if [key for key, _, _ in found] != list(range(len(found))):
            raise RuntimeError(f"INaturalist: a species is missing in {self.root!r}.")
        self.all_categories = [category for _, category, _ in found]
        self.categories_map = [{"super": i} for _, _, i in found]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        species, name = self.index[index]
        path = os.path.join(self.root, self.all_categories[species], name)
        image = self.loader(path) if self.loader else read_image(path, mode=None)
        parts = [
            species if kind == "full" else self.categories_map[species][kind]
            for kind in self.target_type
        ]
        return self._transformed(image, one_or_all(parts))

    def __len__(self) -> int:
        return len(self.index)

    def category_name(self, category_type: str, category_id: int) -> str:
        """The name of a category.

        Args:
            category_type: one of the target types.
            category_id: its index.
        """
        if category_type == "full":
            return self.all_categories[category_id]
        if category_type not in self.categories_index:
            raise ValueError(f"INaturalist: there is no category type {category_type!r} here.")
        for name, index in self.categories_index[category_type].items():
            if index == category_id:
                return name
        raise ValueError(f"INaturalist: there is no {category_type} of index {category_id}.")

    def download(self) -> None:
        """Download and unpack the archive of the version."""
        if os.path.isdir(self.root) and os.listdir(self.root):
            raise RuntimeError(
                f"INaturalist: {self.root!r} is there already. Delete it to download it again."
            )
        base = os.path.dirname(self.root)
        url, md5 = _INAT_ARCHIVES[self.version]
        download_and_extract_archive(_INAT + url, base, filename=f"{self.version}.tgz", md5=md5)
        unpacked = Path(base, os.path.basename(url).partition(".")[0])
        if not unpacked.is_dir():
            raise RuntimeError(f"INaturalist: the archive of {self.version} has no {unpacked}.")
        unpacked.rename(self.root)

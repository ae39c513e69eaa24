"""iNaturalist: photographs of plants and animals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from facula.vision.datasets._base import one_or_all, verify_str_args
from facula.vision.datasets.folder import Loader
from facula.vision.datasets.utils import download_and_extract_archive, read_image, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["INaturalist"]

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
        transform: applied to the image.
        target_transform: applied to the target, a tuple where there are several types.
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
            raise self._missing(f"there is no folder {self.root!r}")
        self.categories_index: dict[str, dict[str, int]] = {}
        self.categories_map: list[dict[str, int]] = []
        self.all_categories: list[str] = []
        if version.startswith("2021"):
            self._index_2021()
        else:
            self._index_before_2021()
        valid = ("full", *self.categories_index)
        self.target_type = verify_str_args(target_type, "target_type", valid)
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
            category_id: the index of the category among those of its type.
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

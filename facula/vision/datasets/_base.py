"""What datasets repeat: a table of their files, and a list of classified images.

A dataset of classified images is its table and its samples::

    class Food101(SplitListed):
        _FILES = Files(["food-101/meta", "food-101/images"], [(address, md5)])

        def _list(self, root: Path) -> Samples:
            ...  # yields the path and the class of each image
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.utils import download_and_extract_archive, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

# Paths of images with the class of each.
Samples = Iterable[tuple[Root, Any]]


@dataclass(frozen=True)
class Files:
    """What a dataset needs below its root folder, and the archives that have it.

    Args:
        needed: the paths without which the archives are downloaded.
        archives: the address and the MD5 hash of each archive.
        into: the folder below the root that the archives are unpacked into.
    """

    needed: Sequence[str]
    archives: Sequence[tuple[str, str | None]]
    into: str = ""

    def provide(self, dataset: VisionDataset, root: Root, download: bool) -> None:
        """Download the archives if anything is missing; raise if it still is."""
        paths = [Path(root, name) for name in self.needed]
        if download and not all(path.exists() for path in paths):
            for url, md5 in self.archives:
                download_and_extract_archive(url, Path(root, self.into), md5=md5)
        for path in paths:
            if not path.exists():
                raise dataset._missing(f"there is no {str(path)!r}", "the dataset")


class Listed(VisionDataset):
    """Classified images. A subclass has a table of its files, and lists its images."""

    _FILES: Files
    _image_files: Sequence[Root]
    _labels: Sequence[Any]

    def __init__(
        self,
        root: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._provide(download)
        samples = list(self._list(Path(self.root)))
        self._image_files = [path for path, _ in samples]
        self._labels = [label for _, label in samples]

    def _provide(self, download: bool) -> None:
        self._FILES.provide(self, self.root, download)

    def _list(self, root: Path) -> Samples:
        """The images below the root folder, all of which are there."""
        raise NotImplementedError

    @property
    def _samples(self) -> list[tuple[Root, Any]]:
        return list(zip(self._image_files, self._labels, strict=True))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(self.loader(self._image_files[index]), self._labels[index])

    def __len__(self) -> int:
        return len(self._image_files)


class SplitListed(Listed):
    """Classified images in splits. A subclass names these too."""

    _SPLITS: Iterable[str] = ("train", "test")

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", self._SPLITS)
        super().__init__(root, transform, target_transform, download, loader)

    def extra_repr(self) -> str:
        return f"split={self._split}"


def fetch(dataset: Any, download: bool, *missing: str) -> None:
    """Call the dataset's ``download`` if it is wanted; raise if files are still missing."""
    if download:
        dataset.download()
    if not dataset._check_integrity():
        raise dataset._missing(*missing)


def numbered(classes: Iterable[str]) -> dict[str, int]:
    """The index of each class."""
    return {name: index for index, name in enumerate(classes)}


def one_or_all(parts: Sequence[Any]) -> Any:
    """None for no parts, one part itself, and several as a tuple."""
    return None if not parts else parts[0] if len(parts) == 1 else tuple(parts)


def verify_str_args(values: Sequence[str] | str, arg: str, valid: Iterable[str]) -> list[str]:
    """The strings of an argument that is one of ``valid`` or a list of them."""
    listed = [values] if isinstance(values, str) else values
    return [verify_str_arg(value, arg, valid) for value in listed]

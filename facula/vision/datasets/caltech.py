"""Caltech 101 and Caltech 256: photographs of kinds of things."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets._base import Files, fetch, one_or_all, verify_str_args
from facula.vision.datasets.utils import download_and_extract_archive, extract_archive, read_image
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["Caltech101", "Caltech256"]


class Caltech101(VisionDataset):
    """Photographs of 101 kinds of things, and their outlines. Outlines need SciPy.

    Args:
        root: the folder that has, or is to have, the folder ``caltech101``.
        target_type: ``"category"`` (the index of the class), ``"annotation"`` (the points of the
            outline, an array) or a list of both.
        transform: applied to the image.
        target_transform: applied to the target.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.Caltech101(".", target_type="box")
        Traceback (most recent call last):
        ValueError: target_type: expected one of 'category', 'annotation', got 'box'.
    """

    _URL = "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip"
    _MD5 = "3138e1922a9193bfa496528edbbc45d0"
    # Where the folder of the outlines has another name than that of the images.
    _ANNOTATIONS = {
        "Faces": "Faces_2",
        "Faces_easy": "Faces_3",
        "Motorbikes": "Motorbikes_16",
        "airplanes": "Airplanes_Side_2",
    }

    def __init__(
        self,
        root: Root,
        target_type: list[str] | str = "category",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        root = os.path.join(os.path.expanduser(root), "caltech101")
        super().__init__(root, transform=transform, target_transform=target_transform)
        valid = ("category", "annotation")
        self.target_type = verify_str_args(target_type, "target_type", valid)
        fetch(self, download, f"there is no folder {self._images!r}", "the dataset")
        self.categories = sorted(os.listdir(self._images))
        self.categories.remove("BACKGROUND_Google")  # no class of things
        self.annotation_categories = [self._ANNOTATIONS.get(c, c) for c in self.categories]
        self.index: list[int] = []
        self.y: list[int] = []
        for i, name in enumerate(self.categories):
            n = len(os.listdir(os.path.join(self._images, name)))
            self.index += range(1, n + 1)
            self.y += [i] * n

    @property
    def _images(self) -> str:
        return os.path.join(self.root, "101_ObjectCategories")

    def _outline(self, index: int) -> Any:
        folder = os.path.join(self.root, "Annotations", self.annotation_categories[self.y[index]])
        path = os.path.join(folder, f"annotation_{self.index[index]:04d}.mat")
        return optional("scipy.io").loadmat(path)["obj_contour"]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        folder = os.path.join(self._images, self.categories[self.y[index]])
        image = read_image(os.path.join(folder, f"image_{self.index[index]:04d}.jpg"), mode=None)
        parts = [
            self.y[index] if kind == "category" else self._outline(index)
            for kind in self.target_type
        ]
        return self._transformed(image, one_or_all(parts))

    def __len__(self) -> int:
        return len(self.index)

    def _check_integrity(self) -> bool:
        return os.path.isdir(self._images)

    def download(self) -> None:
        """Download and unpack the archive, if the images are not there."""
        if self._check_integrity():
            return
        download_and_extract_archive(self._URL, self.root, md5=self._MD5)
        inner = os.path.join(self.root, "caltech-101")
        for name in ("101_ObjectCategories.tar.gz", "Annotations.tar"):
            extract_archive(os.path.join(inner, name), self.root)

    def extra_repr(self) -> str:
        return f"Target type: {self.target_type}"


class Caltech256(VisionDataset):
    """Photographs of 256 kinds of things.

    Args:
        root: the folder that has, or is to have, the folder ``caltech256``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.

    Example:
        >>> import tempfile
        >>> facula.vision.datasets.Caltech256(tempfile.mkdtemp())  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        RuntimeError: Caltech256: there is no ...
    """

    _URL = "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar"
    _FILES = Files(["256_ObjectCategories"], [(_URL, "67b4f42ca05d46448c6bb8ecd2220f6d")])

    def __init__(
        self,
        root: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        root = os.path.join(os.path.expanduser(root), "caltech256")
        super().__init__(root, transform=transform, target_transform=target_transform)
        base = Path(root, "256_ObjectCategories")
        self._FILES.provide(self, root, download)
        self.categories = sorted(os.listdir(base))
        self.index: list[int] = []
        self.y: list[int] = []
        for i, name in enumerate(self.categories):
            n = sum(file.endswith(".jpg") for file in os.listdir(base / name))
            self.index += range(1, n + 1)
            self.y += [i] * n

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        category = self.y[index]
        file = f"{category + 1:03d}_{self.index[index]:04d}.jpg"
        path = os.path.join(self.root, "256_ObjectCategories", self.categories[category], file)
        return self._transformed(read_image(path, mode=None), category)

    def __len__(self) -> int:
        return len(self.index)

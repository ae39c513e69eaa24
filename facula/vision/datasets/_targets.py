"""Datasets of images that have several targets, or targets of their own kind."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import facula
from facula.vision._imports import optional
from facula.vision.datasets._listed import numbered, provide
from facula.vision.datasets.folder import Loader
from facula.vision.datasets.utils import (
    check_integrity,
    download_and_extract_archive,
    extract_archive,
    list_dir,
    list_files,
    read_image,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset


def one_or_all(parts: Sequence[Any]) -> Any:
    """Of no parts None, one part itself, and several a tuple."""
    return None if not parts else parts[0] if len(parts) == 1 else tuple(parts)


class OxfordIIITPet(VisionDataset):
    """Photographs of 37 breeds of cats and dogs, and the outline of each animal.

    Args:
        root: the folder that has, or is to have, the folder ``oxford-iiit-pet``.
        split: ``"trainval"`` or ``"test"``.
        target_types: what to return with an image, one of these or a list of them: ``"category"``
            (the index of the breed), ``"binary-category"`` (0 for a cat, 1 for a dog),
            ``"segmentation"`` (an image).
        transforms: of image and target, in place of the following two.
        transform: of the image.
        target_transform: of the target, a tuple where there are several types.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.OxfordIIITPet(".", split="train")
        Traceback (most recent call last):
        ValueError: split: expected one of 'trainval', 'test', got 'train'.
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/pets/data/"
    _RESOURCES = (
        (_URL + "images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"),
        (_URL + "annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"),
    )
    _VALID_TARGET_TYPES = ("category", "binary-category", "segmentation")

    def __init__(
        self,
        root: Root,
        split: str = "trainval",
        target_types: Sequence[str] | str = "category",
        transforms: Transform | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("trainval", "test"))
        types = [target_types] if isinstance(target_types, str) else list(target_types)
        valid = self._VALID_TARGET_TYPES
        self._target_types = [verify_str_arg(kind, "target_types", valid) for kind in types]
        super().__init__(root, transforms, transform, target_transform)
        base = Path(self.root, "oxford-iiit-pet")
        listed = base / "annotations"
        provide(self, [base / "images", listed], download, base, *self._RESOURCES)
        rows = [line.split() for line in (listed / f"{split}.txt").read_text().splitlines()]
        ids = [row[0] for row in rows]
        self._labels = [int(row[1]) - 1 for row in rows]
        self._bin_labels = [int(row[2]) - 1 for row in rows]
        self.bin_classes = ["Cat", "Dog"]
        self.bin_class_to_idx = numbered(self.bin_classes)
        breeds = {
            label: name.rpartition("_")[0] for label, name in zip(self._labels, ids, strict=False)
        }
        self.classes = [
            " ".join(part.title() for part in breeds[label].split("_")) for label in sorted(breeds)
        ]
        self.class_to_idx = numbered(self.classes)
        self._images = [base / "images" / f"{name}.jpg" for name in ids]
        self._segs = [listed / "trimaps" / f"{name}.png" for name in ids]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = one_or_all([self._target(kind, index) for kind in self._target_types])
        return self._transformed_together(read_image(self._images[index]), target)

    def _target(self, kind: str, index: int) -> Any:
        if kind == "segmentation":
            return read_image(self._segs[index], mode=None)
        return self._labels[index] if kind == "category" else self._bin_labels[index]

    def __len__(self) -> int:
        return len(self._images)


class Caltech101(VisionDataset):
    """Photographs of 101 kinds of things, and their outlines. Outlines need SciPy.

    Args:
        root: the folder that has, or is to have, the folder ``caltech101``.
        target_type: ``"category"`` (the index of the class), ``"annotation"`` (the points of the
            outline, an array) or a list of both.
        transform: of the image.
        target_transform: of the target.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.Caltech101(".", target_type="box")
        Traceback (most recent call last):
        ValueError: target_type: expected one of 'category', 'annotation', got 'box'.
    """

    _ARCHIVE = (
        "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
        "3138e1922a9193bfa496528edbbc45d0",
    )
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
        types = [target_type] if isinstance(target_type, str) else target_type
        valid = ("category", "annotation")
        self.target_type = [verify_str_arg(kind, "target_type", valid) for kind in types]
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(
                f"Caltech101: there is no folder {self._images!r}. Pass download=True to download "
                "the dataset."
            )
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
        url, md5 = self._ARCHIVE
        download_and_extract_archive(url, self.root, md5=md5)
        inner = os.path.join(self.root, "caltech-101")
        for name in ("101_ObjectCategories.tar.gz", "Annotations.tar"):
            extract_archive(os.path.join(inner, name), self.root)

    def extra_repr(self) -> str:
        return f"Target type: {self.target_type}"


class Caltech256(VisionDataset):
    """Photographs of 256 kinds of things.

    Args:
        root: the folder that has, or is to have, the folder ``caltech256``.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.

    Example:
        >>> import tempfile
        >>> facula.vision.datasets.Caltech256(tempfile.mkdtemp())  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        RuntimeError: Caltech256: there is no ...
    """

    _ARCHIVE = (
        "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
        "67b4f42ca05d46448c6bb8ecd2220f6d",
    )

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
        provide(self, [base], download, Path(root), self._ARCHIVE)
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


class Omniglot(VisionDataset):
    """Handwritten characters of 50 alphabets, 20 of each. Characters are numbered by their names.

    Args:
        root: the folder that has, or is to have, the folder ``omniglot-py``.
        background: the 30 alphabets of the background set, or the 20 of the evaluation set.
        transform: of the image, in grey.
        target_transform: of the index of the character.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Omniglot.folder
        'omniglot-py'
    """

    folder = "omniglot-py"
    download_url_prefix = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
    zips_md5 = {
        "images_background": "68d2efa1b9178cc56df9314c21c6e718",
        "images_evaluation": "6b91aef0f799c5bb55b94e3f2daec811",
    }

    def __init__(
        self,
        root: Root,
        background: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader | None = None,
    ) -> None:
        root = os.path.join(os.path.expanduser(root), self.folder)
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.background = background
        self.loader = loader
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(
                f"Omniglot: {self._archive()!r} is not in {self.root!r}, or is damaged. Pass "
                "download=True to download it."
            )
        self.target_folder = os.path.join(self.root, self._target())
        self._alphabets = sorted(list_dir(self.target_folder))
        self._characters = [
            os.path.join(alphabet, character)
            for alphabet in self._alphabets
            for character in sorted(list_dir(os.path.join(self.target_folder, alphabet)))
        ]
        self._flat_character_images = [
            (name, i)
            for i, character in enumerate(self._characters)
            for name in sorted(list_files(os.path.join(self.target_folder, character), ".png"))
        ]

    def _target(self) -> str:
        return "images_background" if self.background else "images_evaluation"

    def _archive(self) -> str:
        return f"{self._target()}.zip"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        name, character = self._flat_character_images[index]
        path = os.path.join(self.target_folder, self._characters[character], name)
        image = self.loader(path) if self.loader else read_image(path, "L")
        return self._transformed(image, character)

    def __len__(self) -> int:
        return len(self._flat_character_images)

    def _check_integrity(self) -> bool:
        return check_integrity(
            os.path.join(self.root, self._archive()), self.zips_md5[self._target()]
        )

    def download(self) -> None:
        """Download and unpack the archive, if it is not there."""
        if not self._check_integrity():
            url = f"{self.download_url_prefix}/{self._archive()}"
            download_and_extract_archive(url, self.root, md5=self.zips_md5[self._target()])


class FER2013(VisionDataset):
    """Faces that express seven emotions, 48 x 48 in grey.

    Args:
        root: the folder that has the folder ``fer2013``, with ``train.csv`` and ``test.csv``,
            ``icml_face_data.csv`` or ``fer2013.csv``: they are downloaded by hand from Kaggle.
        split: ``"train"`` or ``"test"``. With ``test.csv`` alone targets are None.
        transform: of the image.
        target_transform: of the index of the emotion.

    Example:
        >>> facula.vision.datasets.FER2013(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _RESOURCES = {
        "train": ("train.csv", "3f0dfb3d3fd99c811a1299cb947e3131"),
        "test": ("test.csv", "b02c2298636a634e8c2faabbf3ea9a23"),
        "fer": ("fer2013.csv", "f8428a1edbd21e88f42c73edd2a14f95"),
        "icml": ("icml_face_data.csv", "b114b9e04e6949e5fe8b6a98b3892b1d"),
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "test"))
        super().__init__(root, transform=transform, target_transform=target_transform)
        folder = os.path.join(self.root, "fer2013")
        kinds = [kind for kind in ("fer", "icml", split) if self._has(folder, kind)]
        if not kinds:
            raise RuntimeError(
                f"FER2013: {split}.csv is not in {folder!r}, or is damaged. Download it from "
                "https://www.kaggle.com/c/"
                "challenges-in-representation-learning-facial-expression-recognition-challenge"
            )
        path = os.path.join(folder, self._RESOURCES[kinds[0]][0])
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file, skipinitialspace=True))
        uses = ("Training",) if split == "train" else ("PublicTest", "PrivateTest")
        rows = [row for row in rows if row.get("Usage", uses[0]) in uses]
        try:
            self._samples = [self._sample(row) for row in rows]
        except (KeyError, RuntimeError, ValueError) as error:
            raise ValueError(f"FER2013: {path!r} is damaged: {error!r}") from error

    def _has(self, folder: str, kind: str) -> bool:
        name, md5 = self._RESOURCES[kind]
        return check_integrity(os.path.join(folder, name), md5)

    @staticmethod
    def _sample(row: dict[str, str]) -> tuple[Any, int | None]:
        values = [int(value) for value in row["pixels"].split()]
        pixels = facula.tensor(values, dtype=facula.uint8).reshape(48, 48)
        return pixels, int(row["emotion"]) if "emotion" in row else None

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        pixels, target = self._samples[index]
        return self._transformed(optional("PIL.Image").fromarray(pixels.numpy()), target)

    def __len__(self) -> int:
        return len(self._samples)

    def extra_repr(self) -> str:
        return f"split={self._split}"

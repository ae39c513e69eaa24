"""LSUN: scenes in databases of LMDB."""

from __future__ import annotations

import io
import os
from bisect import bisect_right
from itertools import accumulate
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets.utils import iterable_to_str, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["LSUN", "LSUNClass"]

_CATEGORIES = (
    *("bedroom", "bridge", "church_outdoor", "classroom", "conference_room"),
    *("dining_room", "kitchen", "living_room", "restaurant", "tower"),
)
_SPLITS = ("train", "val", "test")


class LSUNClass(VisionDataset):
    """The images of one database. It needs lmdb.

    Args:
        root: the folder of the database.
        transform: applied to the image.
        target_transform: applied to the target, which is None.

    Example:
        >>> facula.vision.datasets.lsun.LSUNClass  # doctest: +ELLIPSIS
        <class '...LSUNClass'>
    """

    def __init__(
        self,
        root: str,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        options = {"readonly": True, "lock": False, "readahead": False, "meminit": False}
        self.env = optional("lmdb").open(root, max_readers=1, **options)
        with self.env.begin(write=False) as transaction:
            self.length = transaction.stat()["entries"]
            self.keys = list(transaction.cursor().iternext(keys=True, values=False))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        with self.env.begin(write=False) as transaction:
            data = transaction.get(self.keys[index])
        image = optional("PIL.Image").open(io.BytesIO(data)).convert("RGB")
        return self._transformed(image, None)

    def __len__(self) -> int:
        return int(self.length)


class LSUN(VisionDataset):
    """Photographs of ten kinds of scenes. It needs lmdb.

    Args:
        root: the folder of the databases, such as ``bedroom_train_lmdb``.
        classes: ``"train"``, ``"val"`` or ``"test"``, or a list such as ``["bedroom_train"]``.
        transform: applied to the image.
        target_transform: applied to the index of the class in the list.

    Example:
        >>> facula.vision.datasets.LSUN(".", ["bedroom_all"])
        Traceback (most recent call last):
        ValueError: classes: expected one of 'train', 'val', 'test', got 'all'.
    """

    def __init__(
        self,
        root: Root,
        classes: str | list[str] = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes = self._verify_classes(classes)
        paths = (os.path.join(self.root, f"{name}_lmdb") for name in self.classes)
        self.dbs = [LSUNClass(path, transform) for path in paths]
        self.indices = list(accumulate(len(db) for db in self.dbs))
        self.length = self.indices[-1] if self.indices else 0

    @staticmethod
    def _verify_classes(classes: Any) -> list[str]:
        if isinstance(classes, str):
            verify_str_arg(classes, "classes", _SPLITS)
            return ["test"] if classes == "test" else [f"{c}_{classes}" for c in _CATEGORIES]
        if not isinstance(classes, (list, tuple)):
            raise ValueError(f"classes: expected a string or a list of strings, got {classes!r}.")
        for name in classes:
            if not isinstance(name, str):
                raise ValueError(f"classes: expected a list of strings, got {name!r} in it.")
            category, _, split = name.rpartition("_")
            if category not in _CATEGORIES:
                valid = iterable_to_str(_CATEGORIES)
                raise ValueError(f"classes: expected categories of {valid}, got {category!r}.")
            verify_str_arg(split, "classes", _SPLITS)
        return list(classes)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.length:
            raise IndexError(f"LSUN: index {index} is out of range of {self.length} images.")
        target: Any = bisect_right(self.indices, index)
        start = self.indices[target - 1] if target else 0
        image, _ = self.dbs[target][index - start]
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __len__(self) -> int:
        return self.length

    def extra_repr(self) -> str:
        return f"Classes: {self.classes}"

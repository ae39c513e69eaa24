"""The Oxford-IIIT pets: breeds and outlines of cats and dogs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from facula.vision.datasets._base import Files, numbered, one_or_all, verify_str_args
from facula.vision.datasets.utils import read_image, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["OxfordIIITPet"]


class OxfordIIITPet(VisionDataset):
    """Photographs of 37 breeds of cats and dogs, and the outline of each animal.

    Args:
        root: the folder that has, or is to have, the folder ``oxford-iiit-pet``.
        split: ``"trainval"`` or ``"test"``.
        target_types: what to return with an image, one of these or a list of them: ``"category"``
            (the index of the breed), ``"binary-category"`` (0 for a cat, 1 for a dog),
            ``"segmentation"`` (an image).
        transforms: applied to image and target together, in place of the other two.
        transform: applied to the image.
        target_transform: applied to the target, a tuple where there are several types.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.OxfordIIITPet(".", split="train")
        Traceback (most recent call last):
        ValueError: split: expected one of 'trainval', 'test', got 'train'.
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/pets/data/"
    _FILES = Files(
        ["oxford-iiit-pet/images", "oxford-iiit-pet/annotations"],
        [
            (_URL + "images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"),
            (_URL + "annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"),
        ],
        into="oxford-iiit-pet",
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
        valid = self._VALID_TARGET_TYPES
        self._target_types = verify_str_args(target_types, "target_types", valid)
        super().__init__(root, transforms, transform, target_transform)
        base = Path(self.root, "oxford-iiit-pet")
        listed = base / "annotations"
        self._FILES.provide(self, self.root, download)
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

"""Cityscapes: streets with the class of every pixel."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from facula.vision.datasets._base import one_or_all, verify_str_args
from facula.vision.datasets.utils import extract_archive, read_image, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["Cityscapes"]


class CityscapesClass(NamedTuple):
    """A class of :class:`Cityscapes`."""

    name: str
    id: int
    train_id: int
    category: str
    category_id: int
    has_instances: bool
    ignore_in_eval: bool
    color: tuple[int, int, int]


# Name, train id, category, whether it has instances, colour. Train id 255 is not evaluated.
_CITYSCAPES = """
unlabeled            255 void         0 0,0,0
ego vehicle          255 void         0 0,0,0
rectification border 255 void         0 0,0,0
out of roi           255 void         0 0,0,0
static               255 void         0 0,0,0
dynamic              255 void         0 111,74,0
ground               255 void         0 81,0,81
road                 0   flat         0 128,64,128
sidewalk             1   flat         0 244,35,232
parking              255 flat         0 250,170,160
rail track           255 flat         0 230,150,140
building             2   construction 0 70,70,70
wall                 3   construction 0 102,102,156
fence                4   construction 0 190,153,153
guard rail           255 construction 0 180,165,180
bridge               255 construction 0 150,100,100
tunnel               255 construction 0 150,120,90
pole                 5   object       0 153,153,153
polegroup            255 object       0 153,153,153
traffic light        6   object       0 250,170,30
traffic sign         7   object       0 220,220,0
vegetation           8   nature       0 107,142,35
terrain              9   nature       0 152,251,152
sky                  10  sky          0 70,130,180
person               11  human        1 220,20,60
rider                12  human        1 255,0,0
car                  13  vehicle      1 0,0,142
truck                14  vehicle      1 0,0,70
bus                  15  vehicle      1 0,60,100
caravan              255 vehicle      1 0,0,90
trailer              255 vehicle      1 0,0,110
train                16  vehicle      1 0,80,100
motorcycle           17  vehicle      1 0,0,230
bicycle              18  vehicle      1 119,11,32
license plate        -1  vehicle      0 0,0,142
"""


def _cityscapes_classes() -> list[CityscapesClass]:
    classes: list[CityscapesClass] = []
    categories: list[str] = []
    for i, line in enumerate(_CITYSCAPES.strip().splitlines()):
        *words, train_id, category, has_instances, color = line.split()
        if category not in categories:
            categories.append(category)
        name = " ".join(words)
        red, green, blue = (int(part) for part in color.split(","))
        classes.append(
            CityscapesClass(
                name,
                -1 if name == "license plate" else i,
                int(train_id),
                category,
                categories.index(category),
                has_instances == "1",
                train_id in ("255", "-1"),
                (red, green, blue),
            )
        )
    return classes


class Cityscapes(VisionDataset):
    """Photographs of streets of 50 cities, with classes and instances of pixels.

    Args:
        root: the folder that has the folders ``leftImg8bit`` and ``gtFine`` or ``gtCoarse``, or the
            archives that the web site offers.
        split: ``"train"``, ``"val"``, and with ``mode="fine"`` ``"test"``, with ``mode="coarse"``
            ``"train_extra"``.
        mode: ``"fine"`` or ``"coarse"``.
        target_type: what to return with an image, one of these or a list of them: ``"instance"``,
            ``"semantic"``, ``"color"`` (images), ``"polygon"`` (a dict).
        transform: applied to the image.
        target_transform: applied to the target, a tuple where there are several types.
        transforms: applied to image and target together, in place of the other two.

    Example:
        >>> facula.vision.datasets.Cityscapes.classes[7].name
        'road'
    """

    CityscapesClass = CityscapesClass
    classes = _cityscapes_classes()
    _SUFFIXES = {
        "instance": "instanceIds.png",
        "semantic": "labelIds.png",
        "color": "color.png",
        "polygon": "polygons.json",
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        mode: str = "fine",
        target_type: list[str] | str = "instance",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        verify_str_arg(mode, "mode", ("fine", "coarse"))
        self.mode = "gtFine" if mode == "fine" else "gtCoarse"
        splits = ("train", "test", "val") if mode == "fine" else ("train", "train_extra", "val")
        self.split = verify_str_arg(split, "split", splits)
        valid = ("instance", "semantic", "polygon", "color")
        self.target_type = verify_str_args(target_type, "target_type", valid)
        self.images_dir = os.path.join(self.root, "leftImg8bit", split)
        self.targets_dir = os.path.join(self.root, self.mode, split)
        if not self._is_there():
            self._unpack()
        self.images: list[str] = []
        self.targets: list[list[str]] = []
        for city in sorted(os.listdir(self.images_dir)):
            for name in sorted(os.listdir(os.path.join(self.images_dir, city))):
                start = f"{name.split('_leftImg8bit')[0]}_{self.mode}_"
                self.images.append(os.path.join(self.images_dir, city, name))
                self.targets.append(
                    [
                        os.path.join(self.targets_dir, city, start + self._SUFFIXES[kind])
                        for kind in self.target_type
                    ]
                )

    def _is_there(self) -> bool:
        return os.path.isdir(self.images_dir) and os.path.isdir(self.targets_dir)

    def _unpack(self) -> None:
        """Unpack the archives, if they are in the root folder."""
        extra = self.split == "train_extra"
        images = "leftImg8bit_trainextra.zip" if extra else "leftImg8bit_trainvaltest.zip"
        labels = "gtCoarse.zip" if self.mode == "gtCoarse" else "gtFine_trainvaltest.zip"
        paths = [os.path.join(self.root, name) for name in (images, labels)]
        if all(map(os.path.isfile, paths)):
            for path in paths:
                extract_archive(path, self.root)
        if not self._is_there():
            raise RuntimeError(
                f"Cityscapes: there is no {self.images_dir!r} or no {self.targets_dir!r}. Put "
                f"{images} and {labels} of https://www.cityscapes-dataset.com into {self.root!r}."
            )

    def _load(self, path: str) -> Any:
        if path.endswith(".json"):
            with open(path) as file:
                return json.load(file)
        return read_image(path, mode=None)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = one_or_all([self._load(path) for path in self.targets[index]])
        return self._transformed_together(read_image(self.images[index]), target)

    def __len__(self) -> int:
        return len(self.images)

    def extra_repr(self) -> str:
        return f"Split: {self.split}\nMode: {self.mode}\nType: {self.target_type}"

"""Datasets whose masks and boxes tell the transforms what they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from typing import Any

import facula
from facula import Tensor
from facula.vision import tv_tensors
from facula.vision.datasets._base import Listed, numbered
from facula.vision.datasets._coco_masks import mask_of
from facula.vision.datasets.caltech import Caltech101, Caltech256
from facula.vision.datasets.celeba import CelebA
from facula.vision.datasets.cifar import CIFAR10
from facula.vision.datasets.cityscapes import Cityscapes
from facula.vision.datasets.coco import CocoCaptions, CocoDetection
from facula.vision.datasets.fakedata import FakeData
from facula.vision.datasets.fer2013 import FER2013
from facula.vision.datasets.folder import DatasetFolder
from facula.vision.datasets.inaturalist import INaturalist
from facula.vision.datasets.kitti import Kitti
from facula.vision.datasets.lfw import LFWPeople
from facula.vision.datasets.mnist import MNIST
from facula.vision.datasets.omniglot import Omniglot
from facula.vision.datasets.oxford_iiit_pet import OxfordIIITPet
from facula.vision.datasets.places365 import Places365
from facula.vision.datasets.sbd import SBDataset
from facula.vision.datasets.semeion import SEMEION
from facula.vision.datasets.stl10 import STL10
from facula.vision.datasets.svhn import SVHN
from facula.vision.datasets.usps import USPS
from facula.vision.datasets.vision import VisionDataset
from facula.vision.datasets.voc import VOCDetection, VOCSegmentation
from facula.vision.datasets.widerface import WIDERFace

TargetKeys = Collection[str] | str | None
# Makes the target anew from the dataset, the index, the image, the target and the keys wanted.
Convert = Callable[[Any, int, Any, Any, Any], Any]

_VOC = numbered(
    (
        *("__background__", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat"),
        *("chair", "cow", "diningtable", "dog", "horse", "motorbike", "person", "pottedplant"),
        *("sheep", "sofa", "train", "tvmonitor"),
    )
)
_KITTI = numbered(
    ("Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc", "DontCare")
)

# The keys of targets that are dicts; those before None are returned unless others are asked for.
_KEYS: dict[type, tuple[str | None, ...]] = {
    CocoDetection: (
        *("image_id", "boxes", "labels", None),
        *("masks", "segmentation", "area", "iscrowd", "bbox", "category_id"),
    ),
    VOCDetection: ("boxes", "labels", None, "annotation"),
    Kitti: (
        *("boxes", "labels", None, "type", "truncated", "occluded", "alpha", "bbox"),
        *("dimensions", "location", "rotation_y"),
    ),
    WIDERFace: ("bbox", "blur", "expression", "illumination", "occlusion", "pose", "invalid", None),
}


def wrap_dataset_for_transforms_v2(dataset: Any, target_keys: TargetKeys = None) -> Any:
    """A dataset as :mod:`facula.vision.transforms.v2` wants it: boxes and masks by their types.

    Classes stay as they are. Masks become :class:`facula.vision.tv_tensors.Mask`. For
    :class:`CocoDetection` and :class:`Kitti` the list of dicts becomes a dict of lists with
    ``"boxes"`` (corners), ``"labels"`` and for COCO ``"masks"``; :class:`VOCDetection` gets
    ``"boxes"`` and ``"labels"``; boxes of :class:`CelebA` and :class:`WIDERFace` become corners;
    instances of :class:`Cityscapes` a dict of ``"masks"`` and ``"labels"``.

    Args:
        dataset: a dataset of this package; it is not changed.
        target_keys: the keys to return of targets that are dicts; ``"all"``; or None for those that
            most programs use.

    Returns:
        An object of a subclass of the dataset's class.

    Example:
        >>> from facula.vision import datasets
        >>> wrapped = datasets.wrap_dataset_for_transforms_v2(datasets.FakeData(2, (3, 4, 4)))
        >>> isinstance(wrapped, datasets.FakeData), len(wrapped)
        (True, 2)
    """
    is_names = isinstance(target_keys, Collection) and all(isinstance(k, str) for k in target_keys)
    if not (target_keys is None or is_names) or (
        isinstance(target_keys, str) and target_keys != "all"
    ):
        raise ValueError(
            "wrap_dataset_for_transforms_v2: expected target_keys to be None, 'all' or a "
            f"collection of strings, got {target_keys!r}."
        )
    return _wrap(dataset, target_keys)


def _wrap(dataset: Any, target_keys: TargetKeys) -> Any:
    if not isinstance(dataset, VisionDataset):
        raise TypeError(
            "wrap_dataset_for_transforms_v2: expected a VisionDataset, got "
            f"{type(dataset).__name__}. Wrap its boxes and masks in facula.vision.tv_tensors "
            "yourself."
        )
    kind = next((cls for cls in type(dataset).__mro__ if cls in _CONVERT), None)
    if kind is None:
        raise TypeError(
            f"wrap_dataset_for_transforms_v2: {type(dataset).__name__} is none of the datasets "
            "that it knows. Wrap its boxes and masks in facula.vision.tv_tensors yourself."
        )
    keys = _chosen_keys(kind, target_keys)
    _check_supported(dataset)
    wrapped_class = type(f"Wrapped{type(dataset).__name__}", (_Wrapped, type(dataset)), {})
    return wrapped_class(dataset, target_keys, keys, _CONVERT[kind])


def _chosen_keys(kind: type, target_keys: TargetKeys) -> tuple[str, ...]:
    if kind not in _KEYS:
        if target_keys is not None:
            names = ", ".join(cls.__name__ for cls in _KEYS)
            raise ValueError(
                f"wrap_dataset_for_transforms_v2: target_keys are for {names}, got {kind.__name__}."
            )
        return ()
    listed = _KEYS[kind]
    available = tuple(key for key in listed if key is not None)
    if target_keys is None:
        return available[: listed.index(None)]
    if target_keys == "all":
        return available
    unknown = sorted(set(target_keys) - set(available))
    if unknown:
        raise ValueError(
            f"wrap_dataset_for_transforms_v2: {kind.__name__} has no target keys {unknown}, only "
            f"{list(available)}."
        )
    return tuple(key for key in available if key in target_keys)


# Targets that no transform knows how to move, by dataset: an attribute and its values.
_UNSUPPORTED: dict[type, tuple[str, set[str]]] = {
    Caltech101: ("target_type", {"annotation"}),
    CelebA: ("target_type", {"attr", "landmarks"}),
    Cityscapes: ("target_type", {"polygon", "color"}),
    SBDataset: ("mode", {"boundaries"}),
}


def _check_supported(dataset: VisionDataset) -> None:
    for kind, (attribute, values) in _UNSUPPORTED.items():
        if isinstance(dataset, kind):
            given = getattr(dataset, attribute)
            bad = values & ({given} if isinstance(given, str) else set(given))
            if bad:
                raise RuntimeError(
                    f"wrap_dataset_for_transforms_v2: {kind.__name__} with {attribute}="
                    f"{sorted(bad)} has targets that transforms cannot follow."
                )


class _Wrapped:
    """What every wrapped dataset does, before its own class."""

    def __init__(self, dataset: Any, given_keys: TargetKeys, keys: Any, convert: Convert) -> None:
        self.transforms = dataset.transforms
        self._dataset = copy.copy(dataset)
        self._dataset.transform = None
        self._dataset.target_transform = None
        self._dataset.transforms = None
        self._given_keys = given_keys
        self._keys = keys
        self._convert = convert

    def __getattr__(self, name: str) -> Any:
        if name == "_dataset":  # asked for while it is being copied
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def __getitem__(self, index: int) -> Any:
        image, target = self._dataset[index]
        target = self._convert(self._dataset, index, image, target, self._keys)
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self) -> int:
        return len(self._dataset)

    def __reduce__(self) -> Any:
        # The class is made at run time, so workers make it again.
        return _rewrapped, (self._dataset, self._given_keys, self.transforms)


def _rewrapped(dataset: Any, target_keys: TargetKeys, transforms: Any) -> Any:
    wrapped = _wrap(dataset, target_keys)
    wrapped.transforms = transforms
    return wrapped


# The targets by kind of dataset.


def _same(dataset: Any, index: int, image: Any, target: Any, keys: Any) -> Any:
    return target


def _tensor_of(image: Any) -> Tensor:
    from facula.vision.transforms.v2.functional import pil_to_tensor

    tensor: Tensor = pil_to_tensor(image)
    return tensor


def _mask(image: Any) -> Any:
    return tv_tensors.Mask(_tensor_of(image))


def _boxes(boxes: Any, image: Any, has_sizes: bool) -> Any:
    """Boxes as corners, of corners or of a corner and sizes."""
    corners = facula.as_tensor(boxes).reshape(-1, 4)
    if has_sizes:
        corners = facula.cat([corners[:, :2], corners[:, :2] + corners[:, 2:]], 1)
    size = (image.height, image.width)
    return tv_tensors.BoundingBoxes(corners, format="XYXY", canvas_size=size)


def _of_mask(dataset: Any, index: int, image: Any, target: Any, keys: Any) -> Any:
    return _mask(target)


def _by_type(convert: dict[str, Callable[[Any, Any], Any]], attribute: str) -> Convert:
    """For datasets whose target is one part, or a tuple of parts, each of a type."""

    def of(dataset: Any, index: int, image: Any, target: Any, keys: Any) -> Any:
        kinds: Sequence[str] = getattr(dataset, attribute)
        parts = target if len(kinds) > 1 else (target,) * len(kinds)
        made = [
            convert[kind](part, image) if kind in convert else part
            for kind, part in zip(kinds, parts, strict=True)
        ]
        return tuple(made) if len(made) > 1 else made[0] if made else None

    return of


def _instances(target: Any, image: Any) -> dict[str, Any]:
    pixels = _tensor_of(target)
    ids = pixels.unique()
    # 1000 times the class and a number, or the class alone where there are no instances.
    wide = ids.long()
    labels = facula.where(wide >= 1000, wide // 1000, wide).to(ids.dtype)
    masks = pixels == ids.reshape(-1, 1, 1, 1)
    return {"masks": tv_tensors.Mask(masks), "labels": labels}


def _of_coco(dataset: Any, index: int, image: Any, target: Any, keys: Any) -> Any:
    made: dict[str, Any] = {"image_id": dataset.ids[index]}
    if not target:
        return made
    size = (image.height, image.width)
    for key in keys:
        if key == "boxes":
            made[key] = _boxes([a["bbox"] for a in target], image, has_sizes=True)
        elif key == "labels":
            made[key] = facula.tensor([a["category_id"] for a in target])
        elif key == "masks":
            masks = [facula.from_numpy(mask_of(a["segmentation"], *size).copy()) for a in target]
            made[key] = tv_tensors.Mask(facula.stack(masks))
        elif key != "image_id":
            made[key] = [annotation[key] for annotation in target]
    return {key: made[key] for key in keys}


def _of_voc(dataset: Any, index: int, image: Any, target: Any, keys: Any) -> Any:
    objects = target["annotation"]["object"]
    corners = [[int(o["bndbox"][k]) for k in ("xmin", "ymin", "xmax", "ymax")] for o in objects]
    made = {
        **target,
        "boxes": _boxes(corners, image, has_sizes=False),
        "labels": facula.tensor([_VOC[o["name"]] for o in objects]),
    }
    return {key: made[key] for key in keys}


def _of_kitti(dataset: Any, index: int, image: Any, target: Any, keys: Any) -> Any:
    if target is None:
        return None
    made: dict[str, Any] = {
        key: [o[key] for o in target] for key in keys if key not in ("boxes", "labels")
    }
    made["boxes"] = _boxes([o["bbox"] for o in target], image, has_sizes=False)
    made["labels"] = facula.tensor([_KITTI[o["type"]] for o in target])
    return {key: made[key] for key in keys}


def _of_faces(dataset: Any, index: int, image: Any, target: Any, keys: Any) -> Any:
    if target is None:
        return None
    boxes = _boxes(target["bbox"], image, has_sizes=True)
    return {key: boxes if key == "bbox" else target[key] for key in keys}


_CLASSIFIED = [
    *(CIFAR10, Caltech101, Caltech256, CocoCaptions, DatasetFolder, FER2013, FakeData),
    *(INaturalist, LFWPeople, Listed, MNIST, Omniglot, Places365, SEMEION, STL10, SVHN, USPS),
]

_CONVERT: dict[type, Convert] = {
    **dict.fromkeys(_CLASSIFIED, _same),
    CocoDetection: _of_coco,
    VOCDetection: _of_voc,
    VOCSegmentation: _of_mask,
    SBDataset: _of_mask,
    Kitti: _of_kitti,
    WIDERFace: _of_faces,
    CelebA: _by_type(
        {"bbox": lambda box, image: _boxes(box, image, has_sizes=True)}, "target_type"
    ),
    OxfordIIITPet: _by_type({"segmentation": lambda mask, image: _mask(mask)}, "_target_types"),
    Cityscapes: _by_type(
        {"semantic": lambda mask, image: _mask(mask), "instance": _instances}, "target_type"
    ),
}

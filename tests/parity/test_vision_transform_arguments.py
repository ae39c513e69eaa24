"""What the transforms refuse, and their arguments, against torchvision."""

from __future__ import annotations

import inspect
from enum import Enum
from typing import Any

import PIL.Image
import pytest

from .frameworks import facula

from .vision_oracle import torch  # isort: skip

import torchvision.transforms as T1
import torchvision.transforms.v2 as T2
from torchvision import tv_tensors as torch_tensors

import facula.vision.transforms as F1
import facula.vision.transforms.v2 as F2
from facula.vision import tv_tensors as facula_tensors

pytestmark = [
    pytest.mark.promise("D3"),
    pytest.mark.filterwarnings("ignore::UserWarning:torchvision.*"),
    pytest.mark.filterwarnings("ignore:.*deprecated"),
]

WRONG = """
    T.Resize((1, 2, 3))             T.Resize([])                  T.Resize(None)
    T.Resize(2.5)                   T.CenterCrop((3, 4, 5))       T.RandomCrop((1, 2, 3))
    T.Pad((1, 2, 3))                T.Pad("a")                    T.Pad(1, padding_mode="zz")
    T.Pad(1, fill="a")              T.RandomResizedCrop(3, scale=5)
    T.RandomResizedCrop(3, ratio=5) T.RandomResizedCrop((1, 2, 3))
    T.RandomRotation(-5)            T.RandomRotation((1, 2, 3))   T.RandomRotation("a")
    T.RandomRotation(5, center=(1, 2, 3))                         T.RandomAffine(-5)
    T.RandomAffine(5, translate=(1, 2))                           T.RandomAffine(5, translate=3)
    T.RandomAffine(5, translate=(0.1, 0.2, 0.3))                  T.RandomAffine(5, scale=(0, 1))
    T.RandomAffine(5, scale=2)      T.RandomAffine(5, scale=(-1, 1))
    T.RandomAffine(5, shear=-1)     T.RandomAffine(5, shear=(1, 2, 3))
    T.RandomAffine(5, center=(1,))  T.ColorJitter(-1)             T.ColorJitter(hue=0.6)
    T.ColorJitter(hue=(-0.6, 0.1))  T.ColorJitter((2, 1))         T.ColorJitter((-1, 1))
    T.ColorJitter("a")              T.ColorJitter((1, 2, 3))      T.ColorJitter(hue=-1)
    T.GaussianBlur(2)               T.GaussianBlur(-1)            T.GaussianBlur(0)
    T.GaussianBlur(3, -1)           T.GaussianBlur(3, (2, 1))     T.GaussianBlur(3, "a")
    T.GaussianBlur((1, 2, 3))       T.GaussianBlur(3, (1, 2, 3))  T.GaussianBlur(3, 0)
    T.RandomErasing(p=2)            T.RandomErasing(value="x")    T.RandomErasing(value={})
    T.RandomErasing(scale=(2, 3))   T.RandomErasing(scale=3)      T.RandomErasing(ratio=3)
    T.LinearTransformation(lib.ones(3, 2), lib.zeros(3))
    T.LinearTransformation(lib.eye(3), lib.zeros(2))              T.FiveCrop((1, 2, 3))
    T.RandomChoice(3)               T.RandomChoice([T.Pad(1)], p=3)
    T.RandomOrder(3)                T.AutoAugment("x")            T.AugMix(severity=11)
    T.RandomCrop(50)(image)         T.Grayscale(2)(image)         T.FiveCrop(50)(image)
    T.Resize(5, max_size=5)(image)  T.Normalize([0.5], [0.5])(image)
    T.Normalize([0.5], [0.0])(image.float())
    T.RandomErasing(p=1, value=(1, 2))(image)
    T.RandAugment(magnitude=40, num_ops=20)(image)
"""
WRONG_1 = """
    T.Lambda(3)                     T.ToTensor()(image)           T.PILToTensor()(image)
    T.ToPILImage()(3)               T.RandomHorizontalFlip(1.0)("abc")
    T.Resize(3)("abc")              T.CenterCrop(3)(None)         T.Pad(1, fill=None)
    T.ConvertImageDtype(lib.float32)(pil)
"""
WRONG_2 = """
    T.RandomHorizontalFlip(1.5)     T.RandomHorizontalFlip(-1)    T.RandomPerspective(2)
    T.RandomPerspective(p=3)        T.RandomGrayscale(3)          T.Compose([])
    T.RandomApply([])               T.RandomApply([T.Pad(1)], p=2)
    T.RandomChoice([])              T.RandomChoice([T.Pad(1)], p=[1, 2])
    T.Compose(3)                    T.Compose(None)               T.RandomApply(T.Pad(1))
    T.RandomOrder([])               T.ToDtype("a")                T.ToDtype(3)
    T.RandomCrop(3, padding="a")    T.RandomCrop(3, padding=(1, 2, 3))
    T.RandomCrop(3, fill="a")       T.ElasticTransform("a")       T.ElasticTransform((1, 2, 3))
    T.JPEG(0)                       T.JPEG((5, 101))              T.JPEG((6, 5))
    T.JPEG("a")                     T.JPEG((1, 2, 3))             T.JPEG(2.5)
    T.MixUp(alpha=0)                T.MixUp(alpha=-1)             T.CutMix(labels_getter=3)
    T.SanitizeBoundingBoxes(min_size=0)
    T.SanitizeBoundingBoxes(min_area=0)
    T.SanitizeBoundingBoxes(labels_getter="x")                    T.SanitizeKeyPoints(3)
    T.SetClampingMode("x")          T.ClampBoundingBoxes("x")(boxes)
    T.ConvertBoundingBoxFormat("zz")(boxes)
    T.RandomZoomOut(side_range=(0.5, 2))                          T.RandomZoomOut(side_range=(3, 2))
    T.RandomZoomOut(side_range=3)   T.RandomZoomOut(side_range=(1,))
    T.FiveCrop(3)(image, boxes)     T.TenCrop(3)(mask)            T.AutoAugment()(image, boxes)
    T.AutoAugment()(3)              T.AutoAugment()(tv.Image(image), tv.Image(image))
    T.RandomErasing(p=1.0)(boxes)   T.RandomIoUCrop()(image)      T.Transform()(image)
    T.MixUp(num_classes=3)(image, lib.tensor(1))
    T.MixUp(num_classes=3)(batch, lib.tensor([1, 2, 0]))
    T.MixUp()(batch, lib.tensor([1, 2]))
    T.MixUp(num_classes=3)(batch)   T.MixUp(num_classes=3)(batch, 3)
    T.MixUp(num_classes=3)(batch, boxes)
    T.MixUp(num_classes=3, labels_getter=None)(batch, lib.tensor([1, 2]))
    T.MixUp(num_classes=3)(batch, lib.ones(2, 2))
    T.CutMix(num_classes=3)(batch[None], lib.tensor([1]))
    T.SanitizeBoundingBoxes()(image, boxes)
    T.SanitizeBoundingBoxes()({"boxes": boxes, "labels": lib.tensor([1, 2, 3])})
    T.SanitizeBoundingBoxes()({"boxes": boxes, "no": 3})
    T.SanitizeBoundingBoxes()({"boxes": boxes, "labels": [1]})
    T.SanitizeBoundingBoxes(labels_getter=None)({"image": 3})     T.SanitizeKeyPoints()(boxes)
    T.ToDtype({tv.Image: lib.float32})(boxes)
    T.GaussianNoise(sigma=-1)(image.float())
    T.LinearTransformation(lib.eye(3), lib.zeros(3))(image)
    T.query_size([3])               T.query_chw([3])              T.get_bounding_boxes([3])
    T.get_keypoints([3])            T.query_size([image, image[:, :2]])
"""


def calls(text: str) -> list[str]:
    """The calls of a table, which may have blanks inside their brackets."""
    found, depth, start = [], 0, None
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c != " " and c != "\n" and start is None:
            start = i
        elif start is not None and depth == 0 and c in " \n":
            found.append(text[start:i])
            start = None
    return found


def error_of(text: str, namespace: dict[str, Any]) -> type[BaseException] | None:
    try:
        eval(text, dict(namespace))
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize(
    "version, text",
    [(v, text) for v in (1, 2) for text in calls(WRONG)]
    + [(1, text) for text in calls(WRONG_1)]
    + [(2, text) for text in calls(WRONG_2)],
)
def test_wrong_arguments_and_inputs_raise_the_same_type_of_error(version, text):
    def values(lib: Any, tv: Any) -> dict[str, Any]:
        return {
            "lib": lib,
            "tv": tv,
            "image": lib.zeros(3, 8, 9, dtype=lib.uint8),
            "pil": PIL.Image.new("RGB", (9, 8)),
            "batch": lib.zeros(2, 3, 4, 4),
            "mask": tv.Mask(lib.zeros(8, 9, dtype=lib.uint8)),
            "boxes": tv.BoundingBoxes(
                lib.tensor([[1.0, 1.0, 3.0, 3.0]]), format="XYXY", canvas_size=(8, 9)
            ),
        }

    expected = error_of(text, {"T": T1 if version == 1 else T2, **values(torch, torch_tensors)})
    assert expected is not None
    result = error_of(text, {"T": F1 if version == 1 else F2, **values(facula, facula_tensors)})
    assert result is expected


def classes(module: Any) -> dict[str, type]:
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and name[0] != "_" and value.__module__.startswith("torchvision")
    }


@pytest.mark.parametrize("version", [1, 2])
def test_every_class_of_torchvision_is_there_with_its_arguments(version):
    theirs, ours = (T1, F1) if version == 1 else (T2, F2)
    differing = []
    for name, cls in classes(theirs).items():
        other = getattr(ours, name)
        assert name in ours.__all__
        if issubclass(cls, Enum):
            assert [m.value for m in cls] == [m.value for m in other]
            continue
        expected = inspect.signature(cls).parameters.values()
        result = inspect.signature(other).parameters.values()
        as_text = [
            [(p.name, p.kind, str(p.default).replace("torch.", "")) for p in parameters]
            for parameters in (expected, result)
        ]
        if as_text[0] != [(n, k, d.replace("facula.", "")) for n, k, d in as_text[1]]:
            differing.append((name, *as_text))
    assert not differing


def test_warnings_of_deprecated_names_are_given():
    with pytest.warns(UserWarning, match="use transforms.Resize"):
        assert repr(F1.Scale(3)).startswith("Scale(size=3")
    with pytest.warns(UserWarning, match="use transforms.RandomResizedCrop"):
        F1.RandomSizedCrop(3)
    with pytest.warns(UserWarning, match="ToDtype"):
        F2.ToTensor()

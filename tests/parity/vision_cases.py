"""One expression, computed with torchvision and with facula.vision, and the two compared."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import PIL.Image

import facula
import facula.vision.transforms.functional
import facula.vision.transforms.v2.functional

from .vision_oracle import torch, torchvision  # isort: skip
import torchvision.transforms.v2.functional
import torchvision.tv_tensors

_RANDOM = np.random.RandomState(0)
# Smooth, as photographs are, with some noise; odd sizes, so that no rounding is hidden.
_Y, _X = np.mgrid[0:17, 0:23]
_SMOOTH = np.stack([_X * 9 + _Y * 2, _Y * 13, 255 - _X * 5 - _Y * 4], -1)
_PIXELS = (_SMOOTH + _RANDOM.randint(0, 25, _SMOOTH.shape)).clip(0, 255).astype(np.uint8)
_BOXES = np.array([[2, 3, 10, 12], [0, 0, 22, 16], [5, 5, 9, 7], [15, 2, 30, 20]], np.float32)
_ANGLES = np.array([[30.0], [-45.0], [90.0], [170.0]], np.float32)
_SIZES = np.concatenate([_BOXES[:, :2], _BOXES[:, 2:] - _BOXES[:, :2]], 1)
_POINTS = np.array([[[2, 3], [10, 12]], [[0, 0], [22, 16]], [[5.5, 7.25], [30, -4]]], np.float32)


def _corners() -> Any:
    boxes = torchvision.tv_tensors.BoundingBoxes(
        torch.from_numpy(np.concatenate([_SIZES, _ANGLES], 1)),
        format="XYWHR",
        canvas_size=(17, 23),
    )
    convert = torchvision.transforms.v2.functional.convert_bounding_box_format
    return convert(boxes, new_format="XYXYXYXY").numpy().copy()


_CORNERS = _corners()


@functools.cache
def names(lib: Any) -> dict[str, Any]:
    """What the expressions of cases can use, of PyTorch or of Facula."""
    vision = torchvision if lib is torch else facula.vision
    tv = vision.tv_tensors

    def tensor(array: Any) -> Any:
        return lib.from_numpy(np.ascontiguousarray(array))

    def boxes(array: Any, format: str, **options: Any) -> Any:
        return tv.BoundingBoxes(tensor(array), format=format, canvas_size=(17, 23), **options)

    u8 = tensor(_PIXELS.transpose(2, 0, 1))
    f32 = u8.to(lib.float32) / 255
    mask = tensor(_PIXELS[:, :, 0] // 40)
    pil = PIL.Image.fromarray(_PIXELS)
    rotated = np.concatenate([_SIZES, _ANGLES], 1)
    return {
        "L": lib,
        "np": np,
        "PIL": PIL,
        "tv": tv,
        "F": vision.transforms.v2.functional,
        "F1": vision.transforms.functional,
        "IM": vision.transforms.InterpolationMode,
        "vision": vision,
        "u8": u8,
        "f32": f32,
        "gray": u8[:1].clone(),
        "batch": lib.stack([f32, f32.flip(-1)]),
        "image": tv.Image(u8),
        "video": tv.Video(lib.stack([u8, u8.flip(-1)])),
        "mask": tv.Mask(mask),
        "masks": tv.Mask(lib.stack([mask, mask.flip(-1)])),
        "pil": pil,
        "pil_gray": pil.convert("L"),
        "xyxy": boxes(_BOXES, "XYXY"),
        "xyxy_int": boxes(_BOXES.astype(np.int64), "XYXY"),
        "xyxy_hard": boxes(_BOXES, "XYXY", clamping_mode="hard"),
        "xyxy_free": boxes(_BOXES, "XYXY", clamping_mode=None),
        "xywh": boxes(_SIZES, "XYWH"),
        "xywh_int": boxes(_SIZES.astype(np.int64), "XYWH"),
        "cxcywh": boxes(_SIZES, "CXCYWH"),
        "cxcywh_int": boxes(_SIZES.astype(np.int64), "CXCYWH"),
        "xywhr": boxes(rotated, "XYWHR"),
        "xywhr_free": boxes(rotated, "XYWHR", clamping_mode=None),
        "xywhr_hard": boxes(rotated, "XYWHR", clamping_mode="hard"),
        "cxcywhr": boxes(rotated, "CXCYWHR"),
        "corners": boxes(_CORNERS, "XYXYXYXY"),
        "corners_free": boxes(_CORNERS, "XYXYXYXY", clamping_mode=None),
        "points": tv.KeyPoints(tensor(_POINTS), canvas_size=(17, 23)),
        "points_int": tv.KeyPoints(tensor(_POINTS.astype(np.int64)), canvas_size=(17, 23)),
        "array": _PIXELS,
        "CORNERS": [[0, 0], [22, 0], [22, 16], [0, 16]],
        "MOVED": [[1, 2], [20, 1], [19, 14], [3, 15]],
        "seed": lib.manual_seed,
        "displacement": tensor(_displacement()).to(lib.float32),
    }


def _displacement() -> Any:
    x, y = np.sin(_Y / 3.0) * 0.15, np.cos(_X / 4.0) * 0.1
    return np.stack([x, y], -1)[None]


def outcome(lib: Any, expression: str) -> Any:
    """The value of an expression, or what it raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(expression, names(lib))
        except Exception as error:
            return error


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, facula.Tensor))


def difference(expected: Any, actual: Any, atol: float, off: float, where: str = "") -> str:
    """Says how two values differ, or nothing.

    Integers may differ by one in the share ``off`` of all elements, for values that lie between two
    integers up to rounding.
    """
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        same = [cls.__name__ for cls in type(expected).__mro__[:-3]]
        if type(actual).__name__ in same or type(expected).__name__ == type(actual).__name__:
            return ""
        shown = [x if isinstance(x, Exception) else type(x) for x in (expected, actual)]
        return f"{where}: expected {shown[0]!r}, got {shown[1]!r}"
    if type(expected).__name__ != type(actual).__name__:
        return f"{where}: expected {type(expected)}, got {type(actual)}"
    if isinstance(expected, (tuple, list)):
        if len(expected) != len(actual):
            return f"{where}: expected {expected}, got {actual}"
        parts = [
            difference(one, other, atol, off, f"{where}[{i}]")
            for i, (one, other) in enumerate(zip(expected, actual, strict=True))
        ]
        return "; ".join(filter(None, parts))
    if _is_tensor(expected):
        for name in ("dtype", "shape"):
            one, other = str(getattr(expected, name)), str(getattr(actual, name))
            if one != other:
                return f"{where}: expected {name} {one}, got {other}"
        for name in ("format", "canvas_size", "clamping_mode"):
            one, other = getattr(expected, name, None), getattr(actual, name, None)
            if str(one) != str(other):
                return f"{where}: expected {name} {one}, got {other}"
        if expected.requires_grad != actual.requires_grad:
            return f"{where}: requires_grad differs"
        a, b = (x.detach().cpu().numpy() for x in (expected, actual))
        return _array_difference(a, b, atol, off, where)
    if isinstance(expected, PIL.Image.Image):
        if (expected.mode, expected.size) != (actual.mode, actual.size):
            return f"{where}: expected {expected}, got {actual}"
        a, b = np.asarray(expected), np.asarray(actual)
        return _array_difference(a, b, atol, off, where)
    if isinstance(expected, (int, float, str, bool, type(None))):
        return "" if expected == actual else f"{where}: expected {expected}, got {actual}"
    return "" if str(expected) == str(actual) else f"{where}: expected {expected}, got {actual}"


def _array_difference(a: Any, b: Any, atol: float, off: float, where: str) -> str:
    if a.dtype.kind == "f":
        if np.allclose(a, b, rtol=1e-5, atol=atol, equal_nan=True):
            return ""
        return f"{where}: values differ by {np.nanmax(np.abs(a - b))}:\n{a}\n{b}"
    wrong = a != b
    if not wrong.any():
        return ""
    distance = np.abs(a.astype(np.int64) - b.astype(np.int64)).max()
    if distance == 1 and wrong.mean() <= off:
        return ""
    return f"{where}: {wrong.sum()} of {wrong.size} differ, by up to {distance}"


def check(*expressions: str, atol: float = 1e-5, off: float = 0.0) -> None:
    """Assert that both libraries agree on expressions; all that differ are named."""
    messages = []
    for expression in expressions:
        message = difference(outcome(torch, expression), outcome(facula, expression), atol, off)
        if message:
            messages.append(f"{expression}: {message}")
    assert not messages, "\n".join(messages)

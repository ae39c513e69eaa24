"""The formats of boxes, each by its way to and from one format of its kind."""

from __future__ import annotations

from collections.abc import Callable

import facula
from facula._core import Tensor

PLAIN = ("xyxy", "xywh", "cxcywh")
ROTATED = ("xywhr", "cxcywhr", "xyxyxyxy")
N_NUMBERS = {"xyxy": 4, "xywh": 4, "cxcywh": 4, "xywhr": 5, "cxcywhr": 5, "xyxyxyxy": 8}


def _stacked(*columns: Tensor) -> Tensor:
    return facula.stack(columns, dim=-1)


def xywh_to_xyxy(boxes: Tensor) -> Tensor:
    x, y, w, h = boxes.unbind(-1)
    return _stacked(x, y, x + w, y + h)


def xyxy_to_xywh(boxes: Tensor) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return _stacked(x1, y1, x2 - x1, y2 - y1)


def cxcywh_to_xyxy(boxes: Tensor) -> Tensor:
    x, y, w, h = boxes.unbind(-1)
    return _stacked(x - 0.5 * w, y - 0.5 * h, x + 0.5 * w, y + 0.5 * h)


def xyxy_to_cxcywh(boxes: Tensor) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return _stacked((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1)


# Angles are degrees, counter-clockwise in an image whose y points down. Integer boxes are rounded.
def _rotated(convert: Callable[..., tuple[Tensor, ...]]) -> Callable[[Tensor], Tensor]:
    def with_dtype(boxes: Tensor) -> Tensor:
        wide = boxes if boxes.is_floating_point() else boxes.float()
        result = _stacked(*convert(*wide.unbind(-1)))
        return (result if boxes.is_floating_point() else result.round()).to(boxes.dtype)

    return with_dtype


def _cos_sin(r: Tensor) -> tuple[Tensor, Tensor]:
    radians = facula.deg2rad(r)
    return radians.cos(), radians.sin()


@_rotated
def cxcywhr_to_xywhr(x: Tensor, y: Tensor, w: Tensor, h: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    cos, sin = _cos_sin(r)
    return x - w / 2 * cos - h / 2 * sin, y - h / 2 * cos + w / 2 * sin, w, h, r


@_rotated
def xywhr_to_cxcywhr(x: Tensor, y: Tensor, w: Tensor, h: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    cos, sin = _cos_sin(r)
    return x + w / 2 * cos + h / 2 * sin, y - w / 2 * sin + h / 2 * cos, w, h, r


@_rotated
def xywhr_to_xyxyxyxy(x: Tensor, y: Tensor, w: Tensor, h: Tensor, r: Tensor) -> tuple[Tensor, ...]:
    cos, sin = _cos_sin(r)
    right_x, right_y, down_x, down_y = w * cos, -w * sin, h * sin, h * cos
    corner = (x + right_x + down_x, y + right_y + down_y)
    return x, y, x + right_x, y + right_y, *corner, x + down_x, y + down_y


@_rotated
def xyxyxyxy_to_xywhr(
    x1: Tensor, y1: Tensor, x2: Tensor, y2: Tensor, x3: Tensor, y3: Tensor, x4: Tensor, y4: Tensor
) -> tuple[Tensor, ...]:
    r = facula.rad2deg(facula.atan2(y1 - y2, x2 - x1))
    w = ((x2 - x1) ** 2 + (y1 - y2) ** 2).sqrt()
    h = ((x3 - x2) ** 2 + (y3 - y2) ** 2).sqrt()
    return x1, y1, w, h, r


Conversion = Callable[[Tensor], Tensor] | None

# To the common format of the kind, xyxy or xywhr, and from it.
_WAYS: dict[str, tuple[Conversion, Conversion]] = {
    "xyxy": (None, None),
    "xywh": (xywh_to_xyxy, xyxy_to_xywh),
    "cxcywh": (cxcywh_to_xyxy, xyxy_to_cxcywh),
    "xywhr": (None, None),
    "cxcywhr": (cxcywhr_to_xywhr, xywhr_to_cxcywhr),
    "xyxyxyxy": (xyxyxyxy_to_xywhr, xywhr_to_xyxyxyxy),
}


def convert(op: str, boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    for name, fmt in (("in_fmt", in_fmt), ("out_fmt", out_fmt)):
        if fmt not in _WAYS:
            raise ValueError(f"{op}: expected {name} to be one of {(*_WAYS,)}, got {fmt!r}.")
    if in_fmt == out_fmt:
        return boxes.clone()
    if (in_fmt in PLAIN) != (out_fmt in PLAIN):
        raise NotImplementedError(
            f"{op}: {in_fmt!r} and {out_fmt!r} are not both rotated, or both not; got boxes "
            f"{tuple(boxes.shape)}."
        )
    check_boxes(op, boxes, in_fmt)
    to_common, from_common = _WAYS[in_fmt][0], _WAYS[out_fmt][1]
    boxes = to_common(boxes) if to_common else boxes
    return from_common(boxes) if from_common else boxes


def check_boxes(op: str, boxes: Tensor, fmt: str) -> None:
    if boxes.dim() == 0 or boxes.size(-1) != N_NUMBERS[fmt]:
        raise ValueError(
            f"{op}: expected boxes (..., {N_NUMBERS[fmt]}) in the format {fmt!r}, "
            f"got {tuple(boxes.shape)}."
        )

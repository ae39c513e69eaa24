"""Overlap of boxes in pairs, the ground of the losses on it."""

from __future__ import annotations

import math
from typing import NamedTuple

import facula
from facula._core import Tensor
from facula.vision.ops._utils import upcast_float


class Pairs(NamedTuple):
    """Boxes of the same index compared. ``eps`` keeps quotients finite where areas are 0."""

    boxes1: Tensor
    boxes2: Tensor
    eps: float
    union: Tensor
    iou: Tensor


def compare(op: str, boxes1: Tensor, boxes2: Tensor, eps: float) -> Pairs:
    for boxes in (boxes1, boxes2):
        if boxes.dim() == 0 or boxes.size(-1) != 4:
            raise ValueError(f"{op}: expected boxes (..., 4), got {tuple(boxes.shape)}.")
    boxes1, boxes2 = upcast_float(boxes1), upcast_float(boxes2)
    left, top = facula.max(boxes1, boxes2).unbind(-1)[:2]
    right, bottom = facula.min(boxes1, boxes2).unbind(-1)[2:]
    is_common = (bottom > top) & (right > left)
    common = facula.where(is_common, (right - left) * (bottom - top), 0)
    union = _area(boxes1) + _area(boxes2) - common
    return Pairs(boxes1, boxes2, eps, union, common / (union + eps))


def _area(boxes: Tensor) -> Tensor:
    sides = boxes[..., 2:] - boxes[..., :2]
    return sides[..., 0] * sides[..., 1]


def hull(pairs: Pairs) -> Tensor:
    """The smallest box around both."""
    low = facula.min(pairs.boxes1, pairs.boxes2)[..., :2]
    high = facula.max(pairs.boxes1, pairs.boxes2)[..., 2:]
    return facula.cat([low, high], dim=-1)


def giou_loss(pairs: Pairs) -> Tensor:
    area = _area(hull(pairs))
    return 1 - (pairs.iou - (area - pairs.union) / (area + pairs.eps))


def diou_loss(pairs: Pairs) -> Tensor:
    x1, y1, x2, y2 = hull(pairs).unbind(-1)
    diagonal = (x2 - x1) ** 2 + (y2 - y1) ** 2 + pairs.eps
    (a1, b1, a2, b2), (c1, d1, c2, d2) = pairs.boxes1.unbind(-1), pairs.boxes2.unbind(-1)
    distance = ((a1 + a2) / 2 - (c1 + c2) / 2) ** 2 + ((b1 + b2) / 2 - (d1 + d2) / 2) ** 2
    loss: Tensor = 1 - pairs.iou + distance / diagonal
    return loss


def ciou_loss(pairs: Pairs) -> Tensor:
    v = aspect_distance(_angle(pairs.boxes2), _angle(pairs.boxes1))
    with facula.no_grad():
        alpha = v / (1 - pairs.iou + v + pairs.eps)
    return diou_loss(pairs) + alpha * v


def _angle(boxes: Tensor) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return facula.atan((x2 - x1) / (y2 - y1))


def aspect_distance(angle1: Tensor, angle2: Tensor) -> Tensor:
    return (4 / math.pi**2) * (angle1 - angle2) ** 2

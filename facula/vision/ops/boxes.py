"""Boxes in images: formats, areas, overlaps, and which of them to keep."""

from __future__ import annotations

import sys

import facula
from facula import _core
from facula._core import Tensor
from facula.vision.ops._box_convert import N_NUMBERS, PLAIN, ROTATED, check_boxes, convert
from facula.vision.ops._iou_loss import aspect_distance
from facula.vision.ops._polygon import convex_intersection, polygon_area
from facula.vision.ops._utils import in_float32

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
]


@in_float32
def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Which boxes are left when those are dropped that a better one covers.

    Args:
        boxes: corners x1, y1, x2, y2; float32 or float64.
        scores: how good each is.
        iou_threshold: a box that a better one overlaps by more than this IoU is dropped.

    Shape:
        boxes ``(N, 4)``, scores ``(N,)``; result: indices, best first.

    Example:
        >>> from facula.vision.ops import nms
        >>> boxes = facula.tensor([[0.0, 0, 4, 4], [0, 0, 4, 5], [8, 8, 9, 9]])
        >>> nms(boxes, facula.tensor([0.5, 0.9, 0.1]), 0.5)
        tensor([1, 2])
    """
    return _core._nms(boxes, scores, iou_threshold)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """:func:`nms` among boxes of the same class only.

    Args:
        boxes: corners x1, y1, x2, y2.
        scores: how good each is.
        idxs: the class of each box.
        iou_threshold: a box that a better one of its class overlaps by more than this is dropped.

    Shape:
        boxes ``(N, 4)``, scores and idxs ``(N,)``; result: indices, best first.

    Example:
        >>> from facula.vision.ops import batched_nms
        >>> boxes = facula.tensor([[0.0, 0, 4, 4], [0, 0, 4, 5], [8, 8, 9, 9]])
        >>> batched_nms(boxes, facula.tensor([0.5, 0.9, 0.1]), facula.tensor([0, 1, 0]), 0.5)
        tensor([1, 0, 2])
    """
    # An exported model takes the same way for any number of boxes, none included.
    is_exported = "facula.onnx" in sys.modules and facula.onnx.is_in_onnx_export()
    if boxes.numel() == 0 and not is_exported:
        return facula.empty(0, dtype=facula.int64, device=boxes.device)
    if boxes.numel() <= _MOST_SHIFTED or is_exported:
        # Classes are moved apart, so that boxes of two never meet.
        corners = facula.cat([boxes.reshape(-1), boxes.new_zeros(1)]) if is_exported else boxes
        span = corners.max() + 1
        return nms(boxes + (idxs.to(boxes) * span)[:, None], scores, iou_threshold)
    is_kept = facula.zeros_like(scores, dtype=facula.bool)
    for idx in idxs.unique():
        members = (idxs == idx).nonzero()[:, 0]
        is_kept[members[nms(boxes[members], scores[members], iou_threshold)]] = True
    kept = is_kept.nonzero()[:, 0]
    best_first: Tensor = kept[scores[kept].sort(descending=True)[1]]
    return best_first


# Numbers of boxes up to which one search among all is faster than one per class.
_MOST_SHIFTED = 4000


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The indices of the boxes of which no side is smaller than ``min_size``.

    Args:
        boxes: the boxes.
        min_size: the smallest width and height that a box may have.

    Shape:
        boxes ``(N, 4)``, corners x1, y1, x2, y2; result: indices.

    Example:
        >>> from facula.vision.ops import remove_small_boxes
        >>> remove_small_boxes(facula.tensor([[0.0, 0, 4, 1], [0, 0, 4, 5]]), 2)
        tensor([1])
    """
    w, h = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    large: Tensor = ((w >= min_size) & (h >= min_size)).nonzero()[:, 0]
    return large


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes cut to the inside of an image.

    Args:
        boxes: corners x1, y1, x2, y2.
        size: height and width of the image.

    Shape:
        boxes and result ``(..., 4)``.

    Example:
        >>> from facula.vision.ops import clip_boxes_to_image
        >>> clip_boxes_to_image(facula.tensor([[-1.0, 2, 9, 9]]), (5, 7))
        tensor([[0., 2., 7., 5.]])
    """
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return facula.stack((x, y), dim=-1).reshape(boxes.shape)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes in another format.

    The formats are ``xyxy`` (two corners), ``xywh`` (corner and size), ``cxcywh`` (center and
    size); and for rotated boxes ``xywhr``, ``cxcywhr`` (with an angle in degrees, counter-
    clockwise) and ``xyxyxyxy`` (top left, top right, bottom right and bottom left corner).

    Args:
        boxes: the boxes.
        in_fmt: the format of the boxes.
        out_fmt: the format of the result.

    Shape:
        boxes and result ``(..., K)``, where K is 4, 5 or 8.

    Example:
        >>> from facula.vision.ops import box_convert
        >>> box_convert(facula.tensor([[1.0, 2.0, 4.0, 6.0]]), "xyxy", "cxcywh")
        tensor([[2.5000, 4.0000, 3.0000, 4.0000]])
    """
    return convert("box_convert", boxes, in_fmt, out_fmt)


def _upcast(x: Tensor) -> Tensor:
    """Wide enough for products: float32 and int32 at least."""
    if x.is_floating_point():
        return x if x.dtype in (facula.float32, facula.float64) else x.float()
    return x if x.dtype in (facula.int32, facula.int64) else x.int()


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """The areas of boxes.

    Args:
        boxes: the boxes.
        fmt: the format of the boxes, ``"xyxy"``, ``"xywh"`` or ``"cxcywh"``.

    Shape:
        boxes ``(..., 4)``; result ``(...)``.

    Example:
        >>> from facula.vision.ops import box_area
        >>> box_area(facula.tensor([[1.0, 2.0, 4.0, 6.0]]))
        tensor([12.])
    """
    if fmt not in PLAIN:
        raise ValueError(f"box_area: expected the format {', '.join(PLAIN)}, got {fmt!r}.")
    check_boxes("box_area", boxes, fmt)
    x, y, z, w = _upcast(boxes).unbind(-1)
    area: Tensor = (z - x) * (w - y) if fmt == "xyxy" else z * w
    return area


def _overlap(op: str, boxes1: Tensor, boxes2: Tensor, fmt: str) -> tuple[Tensor, Tensor]:
    """The areas that each box of one set has in common with each of the other, and together."""
    check_boxes(op, boxes1, fmt)
    check_boxes(op, boxes2, fmt)
    if boxes1.dim() < 2 or boxes2.dim() < 2:
        raise IndexError(
            f"{op}: expected boxes (..., N, {N_NUMBERS[fmt]}), "
            f"got {tuple(boxes1.shape)} and {tuple(boxes2.shape)}."
        )
    if fmt in ROTATED:
        corners1, corners2 = (
            convert(op, _upcast(boxes), fmt, "xyxyxyxy").unflatten(-1, (4, 2))
            for boxes in (boxes1, boxes2)
        )
        area1, area2 = polygon_area(corners1), polygon_area(corners2)
        common = convex_intersection(corners1[..., :, None, :, :], corners2[..., None, :, :, :])
    else:
        boxes1, boxes2 = convert(op, boxes1, fmt, "xyxy"), convert(op, boxes2, fmt, "xyxy")
        area1, area2 = box_area(boxes1), box_area(boxes2)
        low = facula.max(boxes1[..., :, None, :2], boxes2[..., None, :, :2])
        high = facula.min(boxes1[..., :, None, 2:], boxes2[..., None, :, 2:])
        sides = _upcast(high - low).clamp(min=0)
        common = sides[..., 0] * sides[..., 1]
    return common, area1[..., :, None] + area2[..., None, :] - common


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """The area that each box of one set shares with each of another, by the area of both together.

    Args:
        boxes1: boxes.
        boxes2: boxes.
        fmt: the format of the boxes, one of those of :func:`box_convert`.

    Shape:
        boxes ``(..., N, K)`` and ``(..., M, K)``; result ``(..., N, M)``.

    Example:
        >>> from facula.vision.ops import box_iou
        >>> a, b = facula.tensor([[0.0, 0, 2, 2]]), facula.tensor([[1.0, 1, 3, 3], [5, 5, 6, 6]])
        >>> box_iou(a, b)
        tensor([[0.1429, 0.0000]])
    """
    if fmt not in N_NUMBERS:
        raise ValueError(f"box_iou: expected one of the formats {(*N_NUMBERS,)}, got {fmt!r}.")
    common, union = _overlap("box_iou", boxes1, boxes2, fmt)
    return common / union


def _hull_sides(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Width and height of the smallest box around each pair."""
    low = facula.min(boxes1[..., :, None, :2], boxes2[..., None, :, :2])
    high = facula.max(boxes1[..., :, None, 2:], boxes2[..., None, :, 2:])
    return _upcast(high - low).clamp(min=0)


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """:func:`box_iou` less the part of the smallest box around both that neither covers.

    Shape:
        boxes ``(..., N, 4)`` and ``(..., M, 4)``, corners x1, y1, x2, y2; result ``(..., N, M)``.

    Example:
        >>> from facula.vision.ops import generalized_box_iou
        >>> a, b = facula.tensor([[0.0, 0, 2, 2]]), facula.tensor([[1.0, 1, 3, 3], [5, 5, 6, 6]])
        >>> generalized_box_iou(a, b)
        tensor([[-0.0794, -0.8611]])
    """
    common, union = _overlap("generalized_box_iou", boxes1, boxes2, "xyxy")
    area = _hull_sides(boxes1, boxes2).prod(-1)
    return common / union - (area - union) / area


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """:func:`box_iou` less the squared distance of the centers, by that of the corners around both.

    Args:
        boxes1: the first boxes.
        boxes2: the second boxes.
        eps: small number that keeps divisors from being 0.

    Shape:
        boxes ``(..., N, 4)`` and ``(..., M, 4)``, corners x1, y1, x2, y2; result ``(..., N, M)``.

    Example:
        >>> from facula.vision.ops import distance_box_iou
        >>> a, b = facula.tensor([[0.0, 0, 2, 2]]), facula.tensor([[1.0, 1, 3, 3], [5, 5, 6, 6]])
        >>> distance_box_iou(a, b)
        tensor([[ 0.0317, -0.5625]])
    """
    return _distance_iou("distance_box_iou", boxes1, boxes2, eps)[0]


def _distance_iou(op: str, boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    common, union = _overlap(op, boxes1, boxes2, "xyxy")
    iou = common / union
    diagonal = (_hull_sides(boxes1, boxes2) ** 2).sum(-1) + eps
    center1, center2 = ((boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (boxes1, boxes2))
    shift = _upcast(center1[..., :, None, :] - center2[..., None, :, :])
    return iou - (shift**2).sum(-1) / diagonal, iou


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """:func:`distance_box_iou` less a part for different aspect ratios.

    Args:
        boxes1: the first boxes.
        boxes2: the second boxes.
        eps: small number that keeps divisors from being 0.

    Shape:
        boxes ``(..., N, 4)`` and ``(..., M, 4)``, corners x1, y1, x2, y2; result ``(..., N, M)``.

    Example:
        >>> from facula.vision.ops import complete_box_iou
        >>> a, b = facula.tensor([[0.0, 0, 2, 2]]), facula.tensor([[1.0, 1, 3, 3], [5, 5, 6, 6]])
        >>> complete_box_iou(a, b)
        tensor([[ 0.0317, -0.5625]])
    """
    boxes1, boxes2 = _upcast(boxes1), _upcast(boxes2)
    distance_iou, iou = _distance_iou("complete_box_iou", boxes1, boxes2, eps)
    angle1, angle2 = (
        facula.atan((b[..., 2] - b[..., 0]) / (b[..., 3] - b[..., 1])) for b in (boxes1, boxes2)
    )
    v = aspect_distance(angle1[..., :, None], angle2[..., None, :])
    with facula.no_grad():
        alpha = v / (1 - iou + v + eps)
    return distance_iou - alpha * v


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The smallest boxes around the elements of masks that are not 0; zeros for an empty mask.

    Args:
        masks: the masks, of any dtype.

    Shape:
        masks ``(N, H, W)``; result ``(N, 4)``, x1, y1, x2, y2, the last elements included.

    Example:
        >>> from facula.vision.ops import masks_to_boxes
        >>> masks_to_boxes(facula.tensor([[[0, 0, 0], [0, 1, 1]]]))
        tensor([[1., 1., 2., 1.]])
    """
    if masks.dim() != 3:
        raise ValueError(f"masks_to_boxes: expected masks (N, H, W), got {tuple(masks.shape)}.")
    if masks.numel() == 0:
        return facula.zeros((masks.size(0), 4), device=masks.device)
    is_set = masks != 0
    sides = []
    for dim in (2, 1):
        has_any = is_set.any(dim=3 - dim)
        place = facula.arange(has_any.size(1), dtype=facula.float32, device=masks.device)
        sides.append(facula.where(has_any, place, has_any.size(1)).amin(1))
        sides.append(facula.where(has_any, place, -1).amax(1))
    x1, x2, y1, y2 = sides
    boxes = facula.stack([x1, y1, x2, y2], dim=1)
    return facula.where(is_set.any(2).any(1)[:, None], boxes, 0)

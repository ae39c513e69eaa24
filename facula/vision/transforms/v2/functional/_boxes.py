"""Boxes and key points: formats, how they follow maps, and what to do with those outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import facula
from facula._core import Tensor
from facula.vision import tv_tensors
from facula.vision.transforms.v2.functional._type_conversion import is_pure_tensor
from facula.vision.tv_tensors import (
    BoundingBoxes,
    BoundingBoxFormat,
    KeyPoints,
    is_rotated_bounding_format,
)
from facula.vision.tv_tensors._tensors import as_format

XYXY = BoundingBoxFormat.XYXY
XYWH = BoundingBoxFormat.XYWH
CXCYWH = BoundingBoxFormat.CXCYWH
XYWHR = BoundingBoxFormat.XYWHR
CXCYWHR = BoundingBoxFormat.CXCYWHR
XYXYXYXY = BoundingBoxFormat.XYXYXYXY

Size = tuple[int, int]


def _half(x: Tensor) -> Tensor:
    return x / 2 if x.is_floating_point() else x.div(2, rounding_mode="floor")


def _xywh_to_xyxy(xywh: Tensor) -> Tensor:
    start, size = xywh.split(2, dim=-1)
    return facula.cat((start, start + size), dim=-1)


def _xyxy_to_xywh(xyxy: Tensor) -> Tensor:
    start, end = xyxy.split(2, dim=-1)
    return facula.cat((start, end - start), dim=-1)


def _cxcywh_to_xyxy(cxcywh: Tensor) -> Tensor:
    center, size = cxcywh.split(2, dim=-1)
    if not cxcywh.is_floating_point():  # both corners are cut off, so that an odd size shrinks
        ends = facula.cat((2 * center - size, 2 * center + size), dim=-1)
        return ends.div(2, rounding_mode="trunc")
    start = center - size / 2
    return facula.cat((start, start + size), dim=-1)


def _xyxy_to_cxcywh(xyxy: Tensor) -> Tensor:
    start, end = xyxy.split(2, dim=-1)
    return facula.cat((_half(start + end), end - start), dim=-1)


def _sides(angle: Tensor) -> tuple[Tensor, Tensor]:
    """Unit vectors along width and height; the y axis of images points down."""
    radians = angle.deg2rad()
    cos, sin = radians.cos(), radians.sin()
    return facula.cat((cos, -sin), dim=-1), facula.cat((sin, cos), dim=-1)


def _xywhr_to_corners(xywhr: Tensor) -> Tensor:
    start, width, height, angle = xywhr.split([2, 1, 1, 1], dim=-1)
    along, across = _sides(angle)
    second = start + width * along
    return facula.cat((start, second, second + height * across, start + height * across), dim=-1)


def _corners_to_xywhr(corners: Tensor) -> Tensor:
    first, second, third, _ = corners.split(2, dim=-1)
    along, across = second - first, third - second
    dx, dy = along.split(1, dim=-1)
    angle = facula.atan2(-dy, dx).rad2deg()
    size = (side.norm(dim=-1, keepdim=True) for side in (along, across))
    return facula.cat((first, *size, angle), dim=-1)


def _moved_to_center(boxes: Tensor, sign: int) -> Tensor:
    place, width, height, angle = boxes.split([2, 1, 1, 1], dim=-1)
    along, across = _sides(angle)
    place = place + (width * along + height * across) * (0.5 * sign)
    return facula.cat((place, width, height, angle), dim=-1)


# To the middle format of each family, XYXY and XYWHR, and from it.
_TO: dict[BoundingBoxFormat, Callable[[Tensor], Tensor]] = {
    XYXY: lambda boxes: boxes,
    XYWH: _xywh_to_xyxy,
    CXCYWH: _cxcywh_to_xyxy,
    XYWHR: lambda boxes: boxes,
    CXCYWHR: lambda boxes: _moved_to_center(boxes, -1),
    XYXYXYXY: _corners_to_xywhr,
}
_FROM: dict[BoundingBoxFormat, Callable[[Tensor], Tensor]] = {
    XYXY: lambda boxes: boxes,
    XYWH: _xyxy_to_xywh,
    CXCYWH: _xyxy_to_cxcywh,
    XYWHR: lambda boxes: boxes,
    CXCYWHR: lambda boxes: _moved_to_center(boxes, 1),
    XYXYXYXY: _xywhr_to_corners,
}


def with_fractions(boxes: Tensor) -> Tensor:
    """Boxes as floating point, so that what becomes of them is cut off once, at the end."""
    return boxes if boxes.is_floating_point() else boxes.to(facula.float32)


def converted(boxes: Tensor, old: BoundingBoxFormat, new: BoundingBoxFormat) -> Tensor:
    """Boxes of a plain tensor in another format."""
    if old == new:
        return boxes
    if is_rotated_bounding_format(old) != is_rotated_bounding_format(new):
        raise ValueError(
            f"convert_bounding_box_format: of {old.value} and {new.value}, one is for rotated "
            "boxes and one is not."
        )
    if is_rotated_bounding_format(old) and not boxes.is_floating_point():
        raise RuntimeError(
            f"convert_bounding_box_format: rotated boxes are floating point, got {boxes.dtype}."
        )
    return _FROM[new](_TO[old](boxes))


def convert_bounding_box_format(
    inpt: Tensor,
    old_format: BoundingBoxFormat | str | None = None,
    new_format: BoundingBoxFormat | str | None = None,
    inplace: bool = False,
) -> Any:
    """Boxes in another format.

    Args:
        inpt: boxes, or a plain tensor of them.
        old_format: the format of the boxes, for a plain tensor.
        new_format: the format of the result.
        inplace: whether the input itself is changed.

    Shape:
        ``(..., K)`` with 4 numbers for a box, or 5 or 8 for a rotated one.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.convert_bounding_box_format(facula.tensor([[1, 2, 4, 6]]), "XYXY", "XYWH")
        tensor([[1, 2, 3, 4]])
    """
    name = "convert_bounding_box_format"
    if new_format is None:
        raise TypeError(f"{name}: new_format is missing.")
    new = as_format(new_format)
    if is_pure_tensor(inpt):
        if old_format is None:
            raise ValueError(f"{name}: a plain tensor needs old_format.")
        return _convert(inpt, as_format(old_format), new, inplace)
    if isinstance(inpt, BoundingBoxes):
        if old_format is not None:
            raise ValueError(f"{name}: boxes know their format; leave out old_format.")
        boxes = _convert(inpt.as_subclass(Tensor), inpt.format, new, inplace)
        return tv_tensors.wrap(boxes, like=inpt, format=new)
    raise TypeError(f"{name}: expected boxes or a plain tensor, got {type(inpt).__name__}.")


def _convert(
    boxes: Tensor, old: BoundingBoxFormat, new: BoundingBoxFormat, inplace: bool
) -> Tensor:
    output = converted(boxes, old, new)
    if inplace and output is not boxes and output.shape == boxes.shape:
        return boxes.copy_(output)
    return output


def _clamp_rotated(corners: Tensor, size: tuple[int, int], is_hard: bool) -> Tensor:
    """The smallest boxes of the same angles around what of each lies in the image.

    If hard, they are made smaller until they lie in the image.
    """
    height, width = size
    n = corners.shape[0]
    own = corners.view(n, 4, 2)
    along, across = own[:, 1] - own[:, 0], own[:, 3] - own[:, 0]
    axes = facula.stack((along, across), dim=1)
    axes = axes / axes.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    # In the frame of the box it is 0 to limit; the image is a rotated rectangle there.
    limit = facula.stack((along.norm(dim=-1), across.norm(dim=-1)), dim=-1).unsqueeze(1)
    canvas = corners.new_tensor([[0, 0], [width, 0], [width, height], [0, height]]).expand(n, 4, 2)
    of_canvas = (canvas - own[:, :1]) @ axes.transpose(1, 2)
    tolerance = 1e-4
    in_box = ((of_canvas >= -tolerance) & (of_canvas <= limit + tolerance)).all(-1)
    size_t = corners.new_tensor([width, height])
    in_image = ((own >= -tolerance) & (own <= size_t + tolerance)).all(-1)
    of_own = (own - own[:, :1]) @ axes.transpose(1, 2)
    crossings, is_crossing = _crossings(of_own, of_canvas)
    points = facula.cat((of_own, of_canvas, crossings), dim=1)
    is_corner = facula.cat((in_image, in_box, is_crossing), dim=1).unsqueeze(-1)
    low = points.masked_fill(~is_corner, float("inf")).amin(1)
    high = points.masked_fill(~is_corner, float("-inf")).amax(1)
    if is_hard:
        low, high = _shrunk(low, high, own[:, 0], axes, size)
    start = own[:, 0] + (low.unsqueeze(1) @ axes).squeeze(1)
    along, across = ((high - low).unsqueeze(-1) * axes).unbind(1)
    output = facula.cat((start, start + along, start + along + across, start + across), dim=-1)
    return facula.where(is_corner.any(1), output, facula.zeros_like(output))


def _shrunk(
    low: Tensor, high: Tensor, origin: Tensor, axes: Tensor, size: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Boxes in their own frames, ``low`` to ``high``, made to lie in the image."""
    height, width = size
    # The sides of the image, as what a @ (s, t) must not exceed for all places s, t in the box.
    sides = []
    for sign, dim, bound in ((-1, 0, 0), (-1, 1, 0), (1, 0, width), (1, 1, height)):
        sides.append((sign * axes[:, :, dim], bound - sign * origin[:, dim : dim + 1]))
    least, most = low, high
    for a, b in sides:
        counts = a.abs() > 1e-6
        excess = ((a * facula.where(a > 0, high, low)).sum(-1, keepdim=True) - b).clamp(min=0)
        # Both sides that meet in the corner outside give way, each for its part.
        part = excess / counts.sum(-1, keepdim=True) / a.abs().clamp(min=1e-6) * counts
        low, high = facula.where(a > 0, low, low + part), facula.where(a > 0, high - part, high)
    # One side may have given way more than it must, once the others have.
    for k in (0, 1):
        new_low, new_high = least[:, k], most[:, k]
        for a, b in sides:
            far = facula.where(a > 0, high, low)
            room = b[:, 0] - a[:, 1 - k] * far[:, 1 - k]
            place = room / facula.where(a[:, k].abs() > 1e-6, a[:, k], facula.ones_like(room))
            new_high = facula.where(a[:, k] > 1e-6, new_high.minimum(place), new_high)
            new_low = facula.where(a[:, k] < -1e-6, new_low.maximum(place), new_low)
        low, high = low.clone(), high.clone()
        low[:, k], high[:, k] = new_low, new_high.maximum(new_low)
    return low, high


def _crossings(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Where sides of quadrilaterals ``(N, 4, 2)`` cross, ``(N, 16, 2)``, and which of them do."""
    p, q = first.unsqueeze(2), second.unsqueeze(1)
    r, s = first.roll(-1, 1).unsqueeze(2) - p, second.roll(-1, 1).unsqueeze(1) - q

    def cross(a: Tensor, b: Tensor) -> Tensor:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]

    area = cross(r, s)
    is_parallel = area.abs() < 1e-9
    area = area.masked_fill(is_parallel, 1)
    t, u = cross(q - p, s) / area, cross(q - p, r) / area
    is_crossing = ~is_parallel & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
    points = p + t.unsqueeze(-1) * r
    n = first.shape[0]
    return points.reshape(n, 16, 2), is_crossing.reshape(n, 16)


def clamped(
    boxes: Tensor, format: BoundingBoxFormat, canvas_size: tuple[int, int], mode: str | None
) -> Tensor:
    """Boxes of a plain tensor, made to lie in the image."""
    if mode is None:
        return boxes.clone()
    if is_rotated_bounding_format(format):
        flat = boxes.reshape(-1, boxes.shape[-1])
        corners = _clamp_rotated(converted(flat, format, XYXYXYXY), canvas_size, mode == "hard")
        return converted(corners, XYXYXYXY, format).reshape(boxes.shape)
    height, width = canvas_size
    corners = converted(with_fractions(boxes), format, XYXY).clone()
    corners[..., 0::2].clamp_(0, width)
    corners[..., 1::2].clamp_(0, height)
    return converted(corners, XYXY, format).to(boxes.dtype)


def clamp_bounding_boxes(
    inpt: Tensor,
    format: BoundingBoxFormat | None = None,
    canvas_size: tuple[int, int] | None = None,
    clamping_mode: str | None = "auto",
) -> Any:
    """Boxes that lie in the image.

    Args:
        inpt: boxes, or a plain tensor of them.
        format: the format of the boxes, for a plain tensor.
        canvas_size: height and width of the image, for a plain tensor.
        clamping_mode: what happens to rotated boxes: ``"soft"`` for the smallest box of the same
            angle around what lies in the image, ``"hard"`` for one that lies in it; None for no
            change; by default that of the boxes.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms.v2 import functional as F
        >>> boxes = tv_tensors.BoundingBoxes([[-1, 0, 9, 3]], format="XYXY", canvas_size=(4, 5))
        >>> F.clamp_bounding_boxes(boxes).tolist()
        [[0, 0, 5, 3]]
    """
    name = "clamp_bounding_boxes"
    if clamping_mode not in (None, "soft", "hard", "auto"):
        raise ValueError(
            f"{name}: clamping_mode is 'soft', 'hard', 'auto' or None, got {clamping_mode!r}."
        )
    if is_pure_tensor(inpt):
        if format is None or canvas_size is None or clamping_mode == "auto":
            raise ValueError(f"{name}: a plain tensor needs format, canvas_size and clamping_mode.")
        return clamped(inpt, as_format(format), canvas_size, clamping_mode)
    if isinstance(inpt, BoundingBoxes):
        if format is not None or canvas_size is not None:
            raise ValueError(f"{name}: boxes know their format and canvas_size; leave both out.")
        mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
        boxes = clamped(inpt.as_subclass(Tensor), inpt.format, inpt.canvas_size, mode)
        return tv_tensors.wrap(boxes, like=inpt)
    raise TypeError(f"{name}: expected boxes or a plain tensor, got {type(inpt).__name__}.")


def clamped_points(points: Tensor, canvas_size: tuple[int, int]) -> Tensor:
    """Points of a plain tensor, moved to the nearest pixel of the image."""
    height, width = canvas_size
    points = points.clone()
    points[..., 0].clamp_(0, width - 1)
    points[..., 1].clamp_(0, height - 1)
    return points


def clamp_keypoints(inpt: Tensor, canvas_size: tuple[int, int] | None = None) -> Any:
    """Key points outside the image, moved to the nearest pixel in it.

    Args:
        inpt: key points, or a plain tensor of them.
        canvas_size: height and width of the image, for a plain tensor.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.clamp_keypoints(facula.tensor([[-1, 2], [9, 2]]), canvas_size=(4, 5))
        tensor([[0, 2],
                [4, 2]])
    """
    if is_pure_tensor(inpt):
        if canvas_size is None:
            raise ValueError("clamp_keypoints: a plain tensor needs canvas_size.")
        return clamped_points(inpt, canvas_size)
    if isinstance(inpt, KeyPoints):
        if canvas_size is not None:
            raise ValueError("clamp_keypoints: key points know their canvas_size; leave it out.")
        points = clamped_points(inpt.as_subclass(Tensor), inpt.canvas_size)
        return tv_tensors.wrap(points, like=inpt)
    raise TypeError(
        f"clamp_keypoints: expected key points or a plain tensor, got {type(inpt).__name__}."
    )


def sanitize_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str | None = None,
    canvas_size: tuple[int, int] | None = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[Any, Tensor]:
    """Boxes without those that are too small or reach outside the image.

    Args:
        bounding_boxes: boxes ``(N, K)``, or a plain tensor of them.
        format: the format of the boxes, for a plain tensor.
        canvas_size: height and width of the image, for a plain tensor.
        min_size: the least width and height.
        min_area: the least area.

    Returns:
        The boxes that are left, and which of the given ones they are, bool ``(N,)``.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> boxes = facula.tensor([[0, 0, 3, 3], [2, 2, 2, 3]])
        >>> F.sanitize_bounding_boxes(boxes, "XYXY", (4, 4))
        (tensor([[0, 0, 3, 3]]), tensor([ True, False]))
    """
    name = "sanitize_bounding_boxes"
    if is_pure_tensor(bounding_boxes):
        if format is None or canvas_size is None:
            raise ValueError(f"{name}: a plain tensor needs format and canvas_size.")
        boxes = bounding_boxes
        is_valid = _valid_boxes(boxes, as_format(format), canvas_size, min_size, min_area)
        return boxes[is_valid], is_valid
    if isinstance(bounding_boxes, BoundingBoxes):
        if format is not None or canvas_size is not None:
            raise ValueError(f"{name}: boxes know their format and canvas_size; leave both out.")
        boxes = bounding_boxes.as_subclass(Tensor)
        metadata = bounding_boxes.format, bounding_boxes.canvas_size
        is_valid = _valid_boxes(boxes, *metadata, min_size, min_area)
        return tv_tensors.wrap(boxes[is_valid], like=bounding_boxes), is_valid
    raise ValueError(
        f"{name}: expected boxes or a plain tensor, got {type(bounding_boxes).__name__}."
    )


def _valid_boxes(
    boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: tuple[int, int],
    min_size: float,
    min_area: float,
) -> Tensor:
    height, width = canvas_size
    if is_rotated_bounding_format(format):
        size = converted(boxes, format, XYWHR)[:, 2:4]
        corners = converted(boxes, format, XYXYXYXY)
    else:
        size = converted(boxes, format, XYWH)[:, 2:4]
        corners = converted(boxes, format, XYXY)
    x, y = corners[:, 0::2], corners[:, 1::2]
    is_inside = (x >= 0) & (x <= width) & (y >= 0) & (y <= height)
    return (size >= min_size).all(-1) & (size.prod(-1) >= min_area) & is_inside.all(-1)


def sanitize_keypoints(
    key_points: Tensor, canvas_size: tuple[int, int] | None = None
) -> tuple[Any, Tensor]:
    """Key points without those outside the image.

    Args:
        key_points: key points ``(N, ..., 2)``, or a plain tensor of them; of several points to an
            entry, all must lie in the image.
        canvas_size: height and width of the image, for a plain tensor.

    Returns:
        The points that are left, and which of the given entries they are, bool ``(N,)``.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.sanitize_keypoints(facula.tensor([[1, 2], [9, 2]]), (4, 5))
        (tensor([[1, 2]]), tensor([ True, False]))
    """
    name = "sanitize_keypoints"
    if is_pure_tensor(key_points):
        if canvas_size is None:
            raise ValueError(f"{name}: a plain tensor needs canvas_size.")
        is_valid = _valid_points(key_points, canvas_size)
        return key_points[is_valid], is_valid
    if isinstance(key_points, KeyPoints):
        if canvas_size is not None:
            raise ValueError(f"{name}: key points know their canvas_size; leave it out.")
        points = key_points.as_subclass(Tensor)
        is_valid = _valid_points(points, key_points.canvas_size)
        return tv_tensors.wrap(points[is_valid], like=key_points), is_valid
    raise ValueError(
        f"{name}: expected key points or a plain tensor, got {type(key_points).__name__}."
    )


def _valid_points(points: Tensor, canvas_size: tuple[int, int]) -> Tensor:
    height, width = canvas_size
    x, y = points[..., 0], points[..., 1]
    is_inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return is_inside.reshape(points.shape[0], -1).all(-1)


def shifted(boxes: Tensor, format: BoundingBoxFormat, dx: int, dy: int) -> Tensor:
    n_places = {XYXY: 2, XYXYXYXY: 4}.get(format, 1)
    shift = [dx, dy] * n_places
    shift += [0] * (boxes.shape[-1] - len(shift))
    return boxes + facula.tensor(shift, dtype=boxes.dtype, device=boxes.device)


def shifted_points(points: Tensor, dx: int, dy: int) -> Tensor:
    return points + facula.tensor([dx, dy], dtype=points.dtype, device=points.device)


def rectangles(corners: Tensor) -> Tensor:
    """The rectangles around parallelograms ``(N, 8)`` which have their longer sides' directions."""
    first, second, third, fourth = corners.split(2, dim=-1)
    sides = facula.stack((second - first, fourth - first), dim=-2)
    length = sides.norm(dim=-1, keepdim=True)
    is_first_longer = (length[:, 0] >= length[:, 1]).unsqueeze(-1)
    # The y axis of images points down: a quarter turn takes (x, y) to (-y, x).
    turned = sides.flip(-1) * sides.new_tensor([[-1, 1], [1, -1]])
    axes = facula.where(
        is_first_longer,
        facula.stack((sides[:, 0], turned[:, 0]), dim=1),
        facula.stack((turned[:, 1], sides[:, 1]), dim=1),
    )
    axes = axes / axes.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    size = (sides @ axes.transpose(1, 2)).abs().sum(1).unsqueeze(-1)
    along, across = (size * axes).unbind(1)
    start = ((first + third) - along - across) / 2
    return facula.cat((start, start + along, start + along + across, start + across), dim=-1)


def mapped_and_clamped(
    boxes: Tensor,
    format: BoundingBoxFormat,
    mapping: Callable[[Tensor], Tensor],
    canvas_size: Size,
    clamping_mode: str | None,
) -> Tensor:
    """Boxes around where their corners go; the mapping takes and gives points ``(M, 2)``."""
    if boxes.numel() == 0:
        return boxes
    if is_rotated_bounding_format(format):
        middle = XYXYXYXY
        corners = mapping(converted(boxes, format, middle).reshape(-1, 2)).reshape(-1, 8)
        output = rectangles(corners)
    else:
        middle = XYXY
        corners = converted(with_fractions(boxes), format, middle).reshape(-1, 4)
        points = mapping(corners[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 2)).reshape(-1, 4, 2)
        # An upright box has no angle to turn by: it becomes the box around its four corners.
        output = facula.cat((points.amin(1), points.amax(1)), dim=-1)
    output = clamped(output, middle, canvas_size, clamping_mode)
    return converted(output, middle, format).to(boxes.dtype).reshape(boxes.shape)


def mapped_points(points: Tensor, mapping: Callable[[Tensor], Tensor]) -> Tensor:
    values = points if points.is_floating_point() else points.to(facula.float32)
    return mapping(values.reshape(-1, 2)).to(points.dtype).reshape(points.shape)

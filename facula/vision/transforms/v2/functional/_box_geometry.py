"""What resizing, cropping, rotation and the like do to boxes and key points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.vision.transforms.v2.functional._boxes import (
    CXCYWHR,
    XYWH,
    XYWHR,
    XYXY,
    XYXYXYXY,
    clamped,
    converted,
    with_fractions,
)
from facula.vision.transforms.v2.functional._crop import (
    center_crop,
    crop,
    height_and_width,
    resized_crop,
)
from facula.vision.transforms.v2.functional._dispatch import kernel
from facula.vision.transforms.v2.functional._maps import (
    affine_matrix,
    check_affine,
    check_center,
    expanded_size,
    perspective_coefficients,
)
from facula.vision.transforms.v2.functional._size import (
    check_padding_mode,
    horizontal_flip,
    pad,
    resize,
    resized_size,
    sides,
    vertical_flip,
)
from facula.vision.transforms.v2.functional._warp import (
    affine,
    check_displacement,
    elastic,
    identity_grid,
    perspective,
    rotate,
)
from facula.vision.tv_tensors import (
    BoundingBoxes,
    BoundingBoxFormat,
    KeyPoints,
    is_rotated_bounding_format,
)

Size = tuple[int, int]


def _shifted(boxes: Tensor, format: BoundingBoxFormat, dx: int, dy: int) -> Tensor:
    n_places = {XYXY: 2, XYXYXYXY: 4}.get(format, 1)
    shift = [dx, dy] * n_places
    shift += [0] * (boxes.shape[-1] - len(shift))
    return boxes + facula.tensor(shift, dtype=boxes.dtype, device=boxes.device)


def _flipped(
    boxes: Tensor, format: BoundingBoxFormat, axis: int, length: int, half_turn: int
) -> Tensor:
    """Boxes after ``length - x`` or ``length - y``; angles are counted from ``half_turn``."""
    boxes = boxes.clone()
    if format == XYXY:
        boxes[..., [axis, axis + 2]] = length - boxes[..., [axis + 2, axis]]
    elif format == XYWH:
        boxes[..., axis] = length - boxes[..., axis] - boxes[..., axis + 2]
    elif format == XYXYXYXY:
        # Two and two corners change places, which keeps their order around the box.
        boxes = boxes[..., [2, 3, 0, 1, 6, 7, 4, 5]]
        boxes[..., axis::2] = length - boxes[..., axis::2]
    elif format == XYWHR:
        corners = converted(boxes, format, XYXYXYXY)
        second = corners[..., 2:4].clone()
        second[..., axis] = length - second[..., axis]
        boxes[..., :2] = second
        boxes[..., 4] = half_turn - boxes[..., 4]
    else:
        boxes[..., axis] = length - boxes[..., axis]
        if format == CXCYWHR:
            boxes[..., 4] = half_turn - boxes[..., 4]
    return boxes


@kernel(horizontal_flip, BoundingBoxes)
def horizontal_flip_bounding_boxes(
    bounding_boxes: Tensor, format: BoundingBoxFormat, canvas_size: Size
) -> Tensor:
    """Exchange left and right for boxes ``(N, K)``."""
    return _flipped(bounding_boxes, format, 0, canvas_size[1], 0)


@kernel(vertical_flip, BoundingBoxes)
def vertical_flip_bounding_boxes(
    bounding_boxes: Tensor, format: BoundingBoxFormat, canvas_size: Size
) -> Tensor:
    """Exchange top and bottom for boxes ``(N, K)``."""
    return _flipped(bounding_boxes, format, 1, canvas_size[0], 180)


def _flipped_points(points: Tensor, axis: int, length: int) -> Tensor:
    points = points.clone()
    # Points are pixels, of which the last is length - 1; sides of boxes lie between pixels.
    points[..., axis] = length - 1 - points[..., axis]
    return points


@kernel(horizontal_flip, KeyPoints)
def horizontal_flip_keypoints(keypoints: Tensor, canvas_size: Size) -> Tensor:
    """Exchange left and right for points ``(..., 2)``."""
    return _flipped_points(keypoints, 0, canvas_size[1])


@kernel(vertical_flip, KeyPoints)
def vertical_flip_keypoints(keypoints: Tensor, canvas_size: Size) -> Tensor:
    """Exchange top and bottom for points ``(..., 2)``."""
    return _flipped_points(keypoints, 1, canvas_size[0])


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


def _new_size(canvas_size: Size, size: Any, max_size: int | None) -> Size:
    height, width = resized_size(canvas_size, size, max_size)
    return height, width


@kernel(resize, BoundingBoxes)
def resize_bounding_boxes(
    bounding_boxes: Tensor,
    canvas_size: Size,
    size: int | Sequence[int] | None,
    max_size: int | None = None,
    format: BoundingBoxFormat = XYXY,
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """Boxes ``(N, K)`` after a resize, and the new size of the image."""
    new_size = _new_size(canvas_size, size, max_size)
    if new_size == tuple(canvas_size):
        return bounding_boxes, new_size
    scale = [new_size[1] / canvas_size[1], new_size[0] / canvas_size[0]]
    if not is_rotated_bounding_format(format):
        factors = facula.tensor(scale * 2, device=bounding_boxes.device)
        return bounding_boxes.mul(factors).to(bounding_boxes.dtype), new_size
    factors = facula.tensor(scale * 4, device=bounding_boxes.device)
    corners = rectangles(converted(bounding_boxes, format, XYXYXYXY).mul(factors))
    boxes = converted(corners.to(bounding_boxes.dtype), XYXYXYXY, format)
    return clamped(boxes, format, new_size, clamping_mode), new_size


@kernel(resize, KeyPoints)
def resize_keypoints(
    keypoints: Tensor,
    size: int | Sequence[int] | None,
    canvas_size: Size,
    max_size: int | None = None,
) -> tuple[Tensor, Size]:
    """Points ``(..., 2)`` after a resize, and the new size of the image."""
    new_size = _new_size(canvas_size, size, max_size)
    if new_size == tuple(canvas_size):
        return keypoints, new_size
    scale = [new_size[1] / canvas_size[1], new_size[0] / canvas_size[0]]
    factors = facula.tensor(scale, device=keypoints.device)
    return keypoints.mul(factors).to(keypoints.dtype), new_size


def _padded_size(canvas_size: Size, padding: Any, padding_mode: str) -> tuple[int, int, Size]:
    check_padding_mode(padding_mode)
    if padding_mode not in ("constant",):
        raise ValueError(
            f"pad: for boxes and key points padding_mode is 'constant', got {padding_mode!r}."
        )
    left, top, right, bottom = sides(padding)
    height, width = canvas_size
    return left, top, (height + top + bottom, width + left + right)


@kernel(pad, BoundingBoxes)
def pad_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Size,
    padding: int | Sequence[int],
    padding_mode: str = "constant",
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """Boxes ``(N, K)`` after padding, and the new size of the image."""
    left, top, new_size = _padded_size(canvas_size, padding, padding_mode)
    boxes = _shifted(bounding_boxes, format, left, top)
    return clamped(boxes, format, new_size, clamping_mode), new_size


@kernel(pad, KeyPoints)
def pad_keypoints(
    keypoints: Tensor,
    canvas_size: Size,
    padding: int | Sequence[int],
    padding_mode: str = "constant",
) -> tuple[Tensor, Size]:
    """Points ``(..., 2)`` after padding, and the new size of the image."""
    left, top, new_size = _padded_size(canvas_size, padding, padding_mode)
    return _shifted_points(keypoints, left, top), new_size


def _shifted_points(points: Tensor, dx: int, dy: int) -> Tensor:
    return points + facula.tensor([dx, dy], dtype=points.dtype, device=points.device)


@kernel(crop, BoundingBoxes)
def crop_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    top: int,
    left: int,
    height: int,
    width: int,
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """Boxes ``(N, K)`` after a crop, and the new size of the image."""
    boxes = _shifted(bounding_boxes, format, -left, -top)
    return clamped(boxes, format, (height, width), clamping_mode), (height, width)


@kernel(crop, KeyPoints)
def crop_keypoints(
    keypoints: Tensor, top: int, left: int, height: int, width: int
) -> tuple[Tensor, Size]:
    """Points ``(..., 2)`` after a crop, and the new size of the image."""
    points = _shifted_points(keypoints, -left, -top)
    return points, (height, width)


def _center(canvas_size: Size, output_size: int | Sequence[int]) -> tuple[int, int, int, int]:
    height, width = height_and_width(output_size)
    # For a crop larger than the image by an odd number this is a pixel beside where the image goes.
    top, left = (
        round((old - new) / 2) for old, new in zip(canvas_size, (height, width), strict=True)
    )
    return top, left, height, width


@kernel(center_crop, BoundingBoxes)
def center_crop_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Size,
    output_size: int | Sequence[int],
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """Boxes ``(N, K)`` after a central crop, and the new size of the image."""
    top, left, height, width = _center(canvas_size, output_size)
    return crop_bounding_boxes(bounding_boxes, format, top, left, height, width, clamping_mode)


@kernel(center_crop, KeyPoints)
def center_crop_keypoints(
    inpt: Tensor, canvas_size: Size, output_size: int | Sequence[int]
) -> tuple[Tensor, Size]:
    """Points ``(..., 2)`` after a central crop, and the new size of the image."""
    top, left, height, width = _center(canvas_size, output_size)
    return crop_keypoints(inpt, top, left, height, width)


@kernel(resized_crop, BoundingBoxes)
def resized_crop_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """Boxes ``(N, K)`` after a crop and a resize, and the new size of the image."""
    boxes, canvas_size = crop_bounding_boxes(
        bounding_boxes, format, top, left, height, width, clamping_mode
    )
    return resize_bounding_boxes(
        boxes, canvas_size, size, format=format, clamping_mode=clamping_mode
    )


@kernel(resized_crop, KeyPoints)
def resized_crop_keypoints(
    keypoints: Tensor, top: int, left: int, height: int, width: int, size: int | Sequence[int]
) -> tuple[Tensor, Size]:
    """Points ``(..., 2)`` after a crop and a resize, and the new size of the image."""
    points, canvas_size = crop_keypoints(keypoints, top, left, height, width)
    return resize_keypoints(points, size, canvas_size)


def _mapped_and_clamped(
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


def _affine_mapping(matrix: Sequence[float]) -> Callable[[Tensor], Tensor]:
    def mapping(points: Tensor) -> Tensor:
        theta = facula.tensor(matrix, dtype=points.dtype, device=points.device).view(2, 3)
        return points @ theta[:, :2].t() + theta[:, 2]

    return mapping


def _affine_map(
    canvas_size: Size,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    center: Sequence[float] | None,
    expand: bool = False,
) -> tuple[list[float], Size]:
    """The map of places in an image, and the size of the result."""
    angle, translate, shear, center = check_affine(angle, translate, scale, shear, center)
    height, width = canvas_size
    middle = center or [width * 0.5, height * 0.5]
    matrix = affine_matrix(middle, angle, translate, scale, shear, inverted=False)
    if not expand:
        return matrix, (height, width)
    # The result begins at the leftmost and the topmost place that the image comes to.
    for row in (0, 3):
        a, b, _ = matrix[row : row + 3]
        ends = [a * x + b * y for x in (0, width) for y in (0, height)]
        matrix[row + 2] = -min(ends)
    from_middle = [middle[0] - width * 0.5, middle[1] - height * 0.5]
    backwards = affine_matrix(from_middle, angle, translate, scale, shear)
    new_width, new_height = expanded_size(backwards, width, height)
    return matrix, (new_height, new_width)


@kernel(affine, BoundingBoxes)
def affine_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Size,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    center: Sequence[float] | None = None,
    clamping_mode: str | None = "soft",
) -> Tensor:
    """Boxes ``(N, K)`` after an affine map."""
    matrix, _ = _affine_map(canvas_size, angle, translate, scale, shear, center)
    mapping = _affine_mapping(matrix)
    return _mapped_and_clamped(bounding_boxes, format, mapping, canvas_size, clamping_mode)


def _mapped_points(points: Tensor, mapping: Callable[[Tensor], Tensor]) -> Tensor:
    values = points if points.is_floating_point() else points.to(facula.float32)
    return mapping(values.reshape(-1, 2)).to(points.dtype).reshape(points.shape)


@kernel(affine, KeyPoints)
def affine_keypoints(
    keypoints: Tensor,
    canvas_size: Size,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    center: Sequence[float] | None = None,
) -> Tensor:
    """Points ``(..., 2)`` after an affine map."""
    matrix, _ = _affine_map(canvas_size, angle, translate, scale, shear, center)
    return _mapped_points(keypoints, _affine_mapping(matrix))


def _rotation(
    canvas_size: Size, angle: float, expand: bool, center: Sequence[float] | None
) -> tuple[list[float], Size]:
    if center is not None:
        center = check_center("rotate", center)
    return _affine_map(canvas_size, -angle, [0.0, 0.0], 1.0, [0.0, 0.0], center, expand)


@kernel(rotate, BoundingBoxes)
def rotate_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Size,
    angle: float,
    expand: bool = False,
    center: Sequence[float] | None = None,
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """Boxes ``(N, K)`` after a rotation, and the new size of the image."""
    matrix, new_size = _rotation(canvas_size, angle, expand, center)
    mapping = _affine_mapping(matrix)
    boxes = _mapped_and_clamped(bounding_boxes, format, mapping, new_size, clamping_mode)
    return boxes, new_size


@kernel(rotate, KeyPoints)
def rotate_keypoints(
    keypoints: Tensor,
    canvas_size: Size,
    angle: float,
    expand: bool = False,
    center: Sequence[float] | None = None,
) -> tuple[Tensor, Size]:
    """Points ``(..., 2)`` after a rotation, and the new size of the image."""
    matrix, new_size = _rotation(canvas_size, angle, expand, center)
    points = _mapped_points(keypoints, _affine_mapping(matrix))
    return points, new_size


def _perspective_mapping(
    startpoints: Any, endpoints: Any, coefficients: Any
) -> Callable[[Tensor], Tensor]:
    a, b, c, d, e, f, g, h = perspective_coefficients(startpoints, endpoints, coefficients)
    if a * e - b * d == 0:
        raise RuntimeError("perspective: the coefficients cannot be inverted.")
    scale = 1.0 / (a * e - b * d)
    inverse = [
        [(e - f * h) * scale, (c * h - b) * scale, (b * f - c * e) * scale],
        [(f * g - d) * scale, (a - c * g) * scale, (c * d - a * f) * scale],
        [(d * h - e * g) * scale, (b * g - a * h) * scale, 1.0],
    ]

    def mapping(points: Tensor) -> Tensor:
        matrix = facula.tensor(inverse, dtype=points.dtype, device=points.device)
        mapped = facula.cat((points, facula.ones_like(points[:, :1])), dim=-1) @ matrix.t()
        return mapped[:, :2] / mapped[:, 2:]

    return mapping


@kernel(perspective, BoundingBoxes)
def perspective_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Size,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    coefficients: Sequence[float] | None = None,
    clamping_mode: str | None = "soft",
) -> Tensor:
    """Boxes ``(N, K)`` after a perspective map."""
    mapping = _perspective_mapping(startpoints, endpoints, coefficients)
    boxes = bounding_boxes
    if not boxes.is_floating_point():  # as in torchvision, corners lie on pixels before it too
        boxes = converted(with_fractions(converted(boxes, format, XYXY)), XYXY, format)
    boxes = _mapped_and_clamped(boxes, format, mapping, canvas_size, clamping_mode)
    return boxes.to(bounding_boxes.dtype)


@kernel(perspective, KeyPoints)
def perspective_keypoints(
    keypoints: Tensor,
    canvas_size: Size,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    coefficients: Sequence[float] | None = None,
) -> Tensor:
    """Points ``(..., 2)`` after a perspective map."""
    mapping = _perspective_mapping(startpoints, endpoints, coefficients)
    return _mapped_points(keypoints, mapping)


def _elastic_mapping(
    displacement: Any, canvas_size: Size, pixel: Callable[[Tensor], Tensor]
) -> Callable[[Tensor], Tensor]:
    """Moves points as the pixels that they belong to."""
    height, width = canvas_size
    check_displacement(displacement, height, width)

    def mapping(points: Tensor) -> Tensor:
        like: dict[str, Any] = {"dtype": points.dtype, "device": points.device}
        # To first order, what is taken from a place goes the opposite way.
        grid = identity_grid(height, width, like).sub_(displacement.to(**like))[0]
        index = pixel(points).to(facula.int64)
        x, y = index[:, 0].clamp(0, width - 1), index[:, 1].clamp(0, height - 1)
        size = facula.tensor([width, height], **like)
        return grid[y, x].add_(1).mul_(0.5 * size).sub_(0.5)

    return mapping


@kernel(elastic, BoundingBoxes)
def elastic_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Size,
    displacement: Tensor,
    clamping_mode: str | None = "soft",
) -> Tensor:
    """Boxes ``(N, K)`` after an elastic distortion, to first order."""
    mapping = _elastic_mapping(displacement, canvas_size, facula.ceil)
    if not is_rotated_bounding_format(format):
        corners = converted(bounding_boxes, format, XYXY)
        corners = _mapped_and_clamped(corners, XYXY, mapping, canvas_size, clamping_mode)
        return converted(corners, XYXY, format)
    centered = converted(bounding_boxes, format, CXCYWHR)
    moved = facula.cat((mapping(centered[:, :2]), centered[:, 2:]), dim=-1)
    return converted(clamped(moved, CXCYWHR, canvas_size, clamping_mode), CXCYWHR, format)


@kernel(elastic, KeyPoints)
def elastic_keypoints(keypoints: Tensor, canvas_size: Size, displacement: Tensor) -> Tensor:
    """Points ``(..., 2)`` after an elastic distortion, to first order."""
    points = _mapped_points(keypoints, _elastic_mapping(displacement, canvas_size, facula.trunc))
    return points

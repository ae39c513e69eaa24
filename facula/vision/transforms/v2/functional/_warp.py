"""Rotation and other affine maps, perspective and elastic distortion."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.nn import functional as nn
from facula.vision._imports import optional
from facula.vision.transforms._interpolation import (
    InterpolationMode,
    as_interpolation,
    pil_modes_mapping,
)
from facula.vision.transforms.v2.functional._boxes import (
    CXCYWHR,
    XYXY,
    Size,
    clamped,
    converted,
    mapped_and_clamped,
    mapped_points,
    with_fractions,
)
from facula.vision.transforms.v2.functional._dispatch import (
    IMAGES,
    PIL,
    dispatch,
    functional,
    kernel,
    video_kernel,
)
from facula.vision.transforms.v2.functional._maps import (
    affine_matrix,
    check_affine,
    check_center,
    expanded_size,
    perspective_coefficients,
)
from facula.vision.transforms.v2.functional._size import (
    horizontal_flip_image,
    pil_fill,
    vertical_flip_image,
)
from facula.vision.transforms.v2.functional._type_conversion import from_pixels, pixels
from facula.vision.tv_tensors import (
    BoundingBoxes,
    BoundingBoxFormat,
    KeyPoints,
    Mask,
    is_rotated_bounding_format,
)

NEAREST = InterpolationMode.NEAREST
BILINEAR = InterpolationMode.BILINEAR


def _supported(name: str, interpolation: Any) -> str:
    mode = as_interpolation(interpolation)
    if mode not in (NEAREST, BILINEAR):
        raise ValueError(
            f"{name}: for tensors, interpolation is 'nearest' or 'bilinear', got {mode.value!r}."
        )
    return mode.value


def _check_fill(name: str, image: Tensor, fill: Any) -> Any:
    if fill is not None and not isinstance(fill, (int, float, tuple, list)):
        raise ValueError(f"{name}: fill is a number or one for each channel, got {fill!r}.")
    if isinstance(fill, (tuple, list)) and len(fill) not in (1, image.shape[-3]):
        raise ValueError(
            f"{name}: expected one fill or {image.shape[-3]}, one for each channel, got {fill!r}."
        )
    return fill


def _sample(image: Tensor, grid: Tensor, mode: str, fill: Any) -> Tensor:
    """The image at the places of a grid ``(1, H, W, 2)``; what lies outside is filled."""
    shape = (*image.shape[:-2], *grid.shape[1:3])
    if image.numel() == 0:
        return image.reshape(shape)
    values = image.reshape(-1, *image.shape[-3:])
    values = values if image.is_floating_point() else values.to(facula.float32)
    grid = grid.to(values.dtype).expand(values.shape[0], -1, -1, -1)
    if fill is not None:
        # One more channel says how much of each result comes from inside the image.
        values = facula.cat((values, facula.ones_like(values[:, :1])), dim=1)
    values = nn.grid_sample(values, grid, mode=mode, padding_mode="zeros", align_corners=False)
    if fill is not None:
        values, inside = values[:, :-1], values[:, -1:]
        color = facula.tensor(
            fill if isinstance(fill, (tuple, list)) else [float(fill)],
            dtype=values.dtype,
            device=values.device,
        ).view(1, -1, 1, 1)
        if mode == "nearest":
            values = facula.where(inside < 0.5, color.expand_as(values), values)
        else:
            values = (values - color).mul_(inside).add_(color)
    if not image.is_floating_point():
        values = values.round_().to(image.dtype)
    return values.reshape(shape)


def _grid_dtype(image: Tensor) -> facula.dtype:
    return image.dtype if image.is_floating_point() else facula.float32


def _linear(
    rows: Tensor, height: int, width: int, shift: tuple[float, float], like: dict[str, Any]
) -> Tensor:
    """``a x + b y + c`` for each row of numbers, ``(H, W, rows)``; x and y begin at ``shift``."""
    places = facula.ones(height, width, 3, **like)
    places[:, :, 0] = facula.arange(width, **like).add_(shift[0])
    places[:, :, 1] = facula.arange(height, **like).add_(shift[1]).unsqueeze(-1)
    # A product, for it rounds as PyTorch's does: the nearest pixel may depend on the last digit.
    return (places.view(-1, 3) @ rows.t()).view(height, width, -1)


def _affine(
    image: Tensor, matrix: Sequence[float], mode: str, fill: Any, size: tuple[int, int]
) -> Tensor:
    """An image of ``size``, width and height, mapped about its center."""
    like: dict[str, Any] = {"dtype": _grid_dtype(image), "device": image.device}
    height, width = image.shape[-2:]
    half = facula.tensor([[0.5 * width], [0.5 * height]], **like)
    rows = facula.tensor(matrix, **like).view(2, 3) / half
    shift = (1 - size[0]) * 0.5, (1 - size[1]) * 0.5
    grid = _linear(rows, size[1], size[0], shift, like)
    return _sample(image, grid.unsqueeze(0), mode, fill)


def _from_center(center: Sequence[float] | None, image: Tensor) -> list[float]:
    """A center counted from the middle of the image."""
    if center is None:
        return [0.0, 0.0]
    height, width = image.shape[-2:]
    return [center[0] - width * 0.5, center[1] - height * 0.5]


@functional
def affine(
    inpt: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    interpolation: InterpolationMode | str | int = NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Shear, scale and rotate about a center, then translate.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        angle: how far the image is turned, in degrees, clockwise.
        translate: pixels to the right and down.
        scale: a positive factor.
        shear: degrees along x and y, or along x only.
        interpolation: ``"nearest"`` or ``"bilinear"``; PIL images also take ``"bicubic"``.
        fill: the value of pixels outside the image, a number or one for each channel.
        center: x and y of the fixed point, by default the middle.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.affine(facula.tensor([[[1, 2, 3]]]), 0, [1, 0], 1.0, [0.0, 0.0])
        tensor([[[0, 1, 2]]])
    """
    return dispatch(
        affine,
        inpt,
        angle=angle,
        translate=translate,
        scale=scale,
        shear=shear,
        interpolation=interpolation,
        fill=fill,
        center=center,
    )


@kernel(affine, *IMAGES)
def affine_image(
    image: Tensor,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    interpolation: InterpolationMode | str | int = NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Tensor:
    """An affine map of an image ``(..., C, H, W)``."""
    mode = as_interpolation(interpolation)
    angle, translate, shear, center = check_affine(angle, translate, scale, shear, center)
    matrix = affine_matrix(_from_center(center, image), angle, translate, scale, shear)
    fill = _check_fill("affine", image, fill)
    height, width = image.shape[-2:]
    return _affine(image, matrix, _supported("affine", mode), fill, (width, height))


affine_video = video_kernel(affine, affine_image)


def _as_image(mask: Tensor) -> Tensor:
    return mask.unsqueeze(0) if mask.dim() < 3 else mask


@kernel(affine, Mask)
def affine_mask(
    mask: Tensor,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Tensor:
    """An affine map of a mask ``(..., H, W)``."""
    output = affine_image(_as_image(mask), angle, translate, scale, shear, fill=fill, center=center)
    return output.reshape(mask.shape)


@kernel(affine, PIL)
def _affine_image_pil(
    image: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    interpolation: InterpolationMode | str | int = NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Any:
    mode = as_interpolation(interpolation)
    angle, translate, shear, center = check_affine(angle, translate, scale, shear, center)
    if center is None:
        center = [image.width * 0.5, image.height * 0.5]
    matrix = affine_matrix(center, angle, translate, scale, shear)
    transform = optional("PIL.Image").Transform.AFFINE
    fill_options = pil_fill(image, fill)
    return image.transform(image.size, transform, matrix, pil_modes_mapping[mode], **fill_options)


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
    return mapped_and_clamped(bounding_boxes, format, mapping, canvas_size, clamping_mode)


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
    return mapped_points(keypoints, _affine_mapping(matrix))


@functional
def rotate(
    inpt: Any,
    angle: float,
    interpolation: InterpolationMode | str | int = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Rotate counterclockwise.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        angle: how far the image is turned, in degrees.
        interpolation: ``"nearest"`` or ``"bilinear"``; PIL images also take ``"bicubic"``.
        expand: whether the result grows to hold the whole image.
        center: x and y of the fixed point, by default the middle.
        fill: the value of pixels outside the image, a number or one for each channel.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.rotate(facula.tensor([[[1, 2, 3]]]), 90, expand=True).shape
        torch.Size([1, 3, 1])
    """
    return dispatch(
        rotate,
        inpt,
        angle=angle,
        interpolation=interpolation,
        expand=expand,
        center=center,
        fill=fill,
    )


def _check_angle(angle: Any) -> float:
    if not isinstance(angle, numbers.Number):
        raise TypeError(f"rotate: angle is a number, got {angle!r}.")
    return angle % 360  # type: ignore[operator]


@kernel(rotate, *IMAGES)
def rotate_image(
    image: Tensor,
    angle: float,
    interpolation: InterpolationMode | str | int = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Tensor:
    """Rotate an image ``(..., C, H, W)``; quarter turns that keep all pixels are exact."""
    mode = as_interpolation(interpolation)
    angle = _check_angle(angle)
    height, width = image.shape[-2:]
    if center is None:
        if angle == 0:
            return image.clone()
        if angle == 180:
            return vertical_flip_image(horizontal_flip_image(image))
        if angle in (90, 270) and (expand or height == width):
            return facula.rot90(image, k=1 if angle == 90 else -1, dims=(-2, -1))
    else:
        center = check_center("rotate", center)
    matrix = affine_matrix(_from_center(center, image), -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    fill = _check_fill("rotate", image, fill)
    size = expanded_size(matrix, width, height) if expand else (width, height)
    return _affine(image, matrix, _supported("rotate", mode), fill, size)


rotate_video = video_kernel(rotate, rotate_image)


@kernel(rotate, Mask)
def rotate_mask(
    mask: Tensor,
    angle: float,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Tensor:
    """Rotate a mask ``(..., H, W)``."""
    output = rotate_image(_as_image(mask), angle, NEAREST, expand, center, fill)
    return output.squeeze(0) if mask.dim() < 3 else output


@kernel(rotate, PIL)
def _rotate_image_pil(
    image: Any,
    angle: float,
    interpolation: InterpolationMode | str | int = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Any:
    mode = as_interpolation(interpolation)
    angle = _check_angle(angle)
    return image.rotate(
        angle, pil_modes_mapping[mode], expand=expand, center=center, **pil_fill(image, fill)
    )


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
    boxes = mapped_and_clamped(bounding_boxes, format, mapping, new_size, clamping_mode)
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
    points = mapped_points(keypoints, _affine_mapping(matrix))
    return points, new_size


@functional
def perspective(
    inpt: Any,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    fill: float | Sequence[float] | None = None,
    coefficients: Sequence[float] | None = None,
) -> Any:
    """Move four corners, and all else as a plane seen in perspective.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        startpoints: x and y of four points of the input, top left and right, bottom right and left.
        endpoints: where the four points come to lie.
        interpolation: ``"nearest"`` or ``"bilinear"``; PIL images also take ``"bicubic"``.
        fill: the value of pixels outside the image, a number or one for each channel.
        coefficients: numbers in place of the points: ``a`` to ``h`` of ``(a x + b y + c) / z`` and
            ``(d x + e y + f) / z`` with ``z = g x + h y + 1``, from the result to the input.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3]]
        >>> F.perspective(facula.ones(1, 4, 4), corners, corners).mean()
        tensor(1.)
    """
    return dispatch(
        perspective,
        inpt,
        startpoints=startpoints,
        endpoints=endpoints,
        interpolation=interpolation,
        fill=fill,
        coefficients=coefficients,
    )


@kernel(perspective, *IMAGES)
def perspective_image(
    image: Tensor,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    fill: float | Sequence[float] | None = None,
    coefficients: Sequence[float] | None = None,
) -> Tensor:
    """A perspective map of an image ``(..., C, H, W)``."""
    a, b, c, d, e, f, g, h = perspective_coefficients(startpoints, endpoints, coefficients)
    mode = _supported("perspective", interpolation)
    fill = _check_fill("perspective", image, fill)
    like: dict[str, Any] = {"dtype": _grid_dtype(image), "device": image.device}
    height, width = image.shape[-2:]
    half = facula.tensor([[0.5 * width], [0.5 * height]], **like)
    rows = facula.tensor([[a, b, c], [d, e, f]], **like) / half
    over = _linear(rows, height, width, (0.5, 0.5), like)
    under = _linear(facula.tensor([[g, h, 1.0]], **like), height, width, (0.5, 0.5), like)
    return _sample(image, over.div_(under).sub_(1.0).unsqueeze(0), mode, fill)


perspective_video = video_kernel(perspective, perspective_image)


@kernel(perspective, Mask)
def perspective_mask(
    mask: Tensor,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    fill: float | Sequence[float] | None = None,
    coefficients: Sequence[float] | None = None,
) -> Tensor:
    """A perspective map of a mask ``(..., H, W)``."""
    output = perspective_image(_as_image(mask), startpoints, endpoints, NEAREST, fill, coefficients)
    return output.reshape(mask.shape)


@kernel(perspective, PIL)
def _perspective_image_pil(
    image: Any,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    fill: float | Sequence[float] | None = None,
    coefficients: Sequence[float] | None = None,
) -> Any:
    numbers_ = perspective_coefficients(startpoints, endpoints, coefficients)
    mode = pil_modes_mapping[as_interpolation(interpolation)]
    transform = optional("PIL.Image").Transform.PERSPECTIVE
    return image.transform(image.size, transform, numbers_, mode, **pil_fill(image, fill))


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
    boxes = mapped_and_clamped(boxes, format, mapping, canvas_size, clamping_mode)
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
    return mapped_points(keypoints, mapping)


@functional
def elastic(
    inpt: Any,
    displacement: Tensor,
    interpolation: InterpolationMode | str | int = BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Take each pixel from another place.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        displacement: x and y of the way from each pixel to the place it is taken from, where the
            image reaches from -1 to 1, ``(1, H, W, 2)``.
        interpolation: ``"nearest"``, ``"bilinear"`` or ``"bicubic"``.
        fill: the value of pixels outside the image, a number or one for each channel.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.elastic(facula.ones(1, 4, 5), facula.zeros(1, 4, 5, 2)).mean()
        tensor(1.)
    """
    return dispatch(
        elastic, inpt, displacement=displacement, interpolation=interpolation, fill=fill
    )


elastic_transform = elastic


def check_displacement(displacement: Any, height: int, width: int) -> None:
    """Refuse what is no displacement for an image of this size."""
    if not isinstance(displacement, Tensor):
        raise TypeError(f"elastic: displacement is a tensor, got {type(displacement).__name__}.")
    if displacement.shape != (1, height, width, 2):
        raise ValueError(
            f"elastic: expected a displacement {(1, height, width, 2)}, "
            f"got {tuple(displacement.shape)}."
        )


def identity_grid(height: int, width: int, like: dict[str, Any]) -> Tensor:
    """The places of all pixels, where the image reaches from -1 to 1, ``(1, H, W, 2)``."""
    x, y = (facula.linspace((1 - n) / n, (n - 1) / n, n, **like) for n in (width, height))
    grid = facula.stack((x.expand(height, -1), y.unsqueeze(-1).expand(-1, width)), dim=-1)
    return grid.unsqueeze(0)


@kernel(elastic, *IMAGES)
def elastic_image(
    image: Tensor,
    displacement: Tensor,
    interpolation: InterpolationMode | str | int = BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Tensor:
    """Take each pixel of an image ``(..., C, H, W)`` from another place."""
    mode = as_interpolation(interpolation).value
    height, width = image.shape[-2:]
    check_displacement(displacement, height, width)
    like: dict[str, Any] = {"dtype": _grid_dtype(image), "device": image.device}
    grid = identity_grid(height, width, like).add_(displacement.to(**like))
    return _sample(image, grid, mode, fill)


elastic_video = video_kernel(elastic, elastic_image)


@kernel(elastic, Mask)
def elastic_mask(
    mask: Tensor, displacement: Tensor, fill: float | Sequence[float] | None = None
) -> Tensor:
    """Take each pixel of a mask ``(..., H, W)`` from another place."""
    return elastic_image(_as_image(mask), displacement, NEAREST, fill).reshape(mask.shape)


@kernel(elastic, PIL)
def _elastic_image_pil(
    image: Any,
    displacement: Tensor,
    interpolation: InterpolationMode | str | int = BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    output = elastic_image(pixels(image), displacement, interpolation, fill)
    return from_pixels(output, image.mode)


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
        corners = mapped_and_clamped(corners, XYXY, mapping, canvas_size, clamping_mode)
        return converted(corners, XYXY, format)
    centered = converted(bounding_boxes, format, CXCYWHR)
    moved = facula.cat((mapping(centered[:, :2]), centered[:, 2:]), dim=-1)
    return converted(clamped(moved, CXCYWHR, canvas_size, clamping_mode), CXCYWHR, format)


@kernel(elastic, KeyPoints)
def elastic_keypoints(keypoints: Tensor, canvas_size: Size, displacement: Tensor) -> Tensor:
    """Points ``(..., 2)`` after an elastic distortion, to first order."""
    points = mapped_points(keypoints, _elastic_mapping(displacement, canvas_size, facula.trunc))
    return points

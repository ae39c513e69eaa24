"""Parts of images: crops, alone or with a resize, and several at once."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from facula._core import Tensor
from facula.nn import functional as nn
from facula.vision.transforms._interpolation import InterpolationMode
from facula.vision.transforms.v2.functional._boxes import Size, clamped, shifted, shifted_points
from facula.vision.transforms.v2.functional._dispatch import (
    IMAGES,
    PIL,
    dispatch,
    functional,
    kernel,
    video_kernel,
)
from facula.vision.transforms.v2.functional._meta import get_size
from facula.vision.transforms.v2.functional._size import (
    BILINEAR,
    horizontal_flip_image,
    horizontal_flip_image_pil,
    resize_bounding_boxes,
    resize_image,
    resize_image_pil,
    resize_keypoints,
    resize_mask,
    vertical_flip_image,
    vertical_flip_image_pil,
)
from facula.vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, KeyPoints, Mask


@functional
def crop(inpt: Any, top: int, left: int, height: int, width: int) -> Any:
    """Cut out a rectangle; what lies outside the image is 0.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        top: first row.
        left: first column.
        height: rows.
        width: columns.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.crop(facula.tensor([[[1, 2, 3]]]), 0, 1, 1, 3)
        tensor([[[2, 3, 0]]])
    """
    return dispatch(crop, inpt, top=top, left=left, height=height, width=width)


@kernel(crop, *IMAGES)
def crop_image(image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """Cut a rectangle out of an image ``(..., H, W)``; what lies outside is 0."""
    image_height, image_width = image.shape[-2:]
    right, bottom = left + width, top + height
    if not (left < 0 or top < 0 or right > image_width or bottom > image_height):
        return image[..., top:bottom, left:right]
    image = image[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    padding = [
        max(min(right, 0) - left, 0),
        max(right - max(image_width, left), 0),
        max(min(bottom, 0) - top, 0),
        max(bottom - max(image_height, top), 0),
    ]
    return nn.pad(image, padding)


crop_video = video_kernel(crop, crop_image)


@kernel(crop, Mask)
def crop_mask(mask: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """Cut a rectangle out of a mask ``(..., H, W)``; what lies outside is 0."""
    return crop_image(mask, top, left, height, width)


@kernel(crop, PIL)
def _crop_image_pil(image: Any, top: int, left: int, height: int, width: int) -> Any:
    return image.crop((left, top, left + width, top + height))


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
    boxes = shifted(bounding_boxes, format, -left, -top)
    return clamped(boxes, format, (height, width), clamping_mode), (height, width)


@kernel(crop, KeyPoints)
def crop_keypoints(
    keypoints: Tensor, top: int, left: int, height: int, width: int
) -> tuple[Tensor, Size]:
    """Points ``(..., 2)`` after a crop, and the new size of the image."""
    points = shifted_points(keypoints, -left, -top)
    return points, (height, width)


def height_and_width(size: Any) -> list[int]:
    """The size of a crop from one number or two."""
    if isinstance(size, numbers.Number):
        return [int(size)] * 2  # type: ignore[call-overload]
    if len(size) == 1:
        return [size[0]] * 2
    height, width = size
    return [height, width]


def center_crop_place(size: Sequence[int], wanted: Sequence[int]) -> tuple[int, int]:
    """Top and left of a central crop; negative for a crop larger than the image."""

    def start(length: int, new: int) -> int:
        # An odd difference of sizes is rounded in one way inside the image and in one outside.
        return -((new - length) // 2) if new > length else round((length - new) / 2)

    return start(size[0], wanted[0]), start(size[1], wanted[1])


@functional
def center_crop(inpt: Any, output_size: int | Sequence[int]) -> Any:
    """Cut out the center; what lies outside the image is 0.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        output_size: height and width, or one number for both.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.center_crop(facula.tensor([[[1, 2, 3]]]), 1)
        tensor([[[2]]])
    """
    return dispatch(center_crop, inpt, output_size=output_size)


@kernel(center_crop, *IMAGES)
def center_crop_image(image: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Cut the center out of an image ``(..., H, W)``; what lies outside is 0."""
    height, width = height_and_width(output_size)
    top, left = center_crop_place(image.shape[-2:], (height, width))
    return crop_image(image, top, left, max(height, 0), max(width, 0))


center_crop_video = video_kernel(center_crop, center_crop_image)


@kernel(center_crop, Mask)
def center_crop_mask(mask: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Cut the center out of a mask ``(..., H, W)``; what lies outside is 0."""
    return center_crop_image(mask, output_size)


@kernel(center_crop, PIL)
def _center_crop_image_pil(image: Any, output_size: int | Sequence[int]) -> Any:
    height, width = height_and_width(output_size)
    top, left = center_crop_place((image.height, image.width), (height, width))
    return _crop_image_pil(image, top, left, height, width)


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


@functional
def resized_crop(
    inpt: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | str | int = BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Cut out a rectangle and resize it.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        top: first row.
        left: first column.
        height: rows.
        width: columns.
        size: the size of the result, as :func:`resize` takes it.
        interpolation: how values between pixels are found. Masks take the nearest.
        antialias: whether a smaller image averages what it skips; PIL images always do.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.resized_crop(facula.zeros(3, 20, 20), 0, 0, 10, 10, [4, 5]).shape
        torch.Size([3, 4, 5])
    """
    return dispatch(
        resized_crop,
        inpt,
        top=top,
        left=left,
        height=height,
        width=width,
        size=size,
        interpolation=interpolation,
        antialias=antialias,
    )


@kernel(resized_crop, *IMAGES)
def resized_crop_image(
    image: Tensor,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | str | int = BILINEAR,
    antialias: bool | None = True,
) -> Tensor:
    """Cut a rectangle out of an image ``(..., C, H, W)`` and resize it."""
    image = crop_image(image, top, left, height, width)
    return resize_image(image, size, interpolation, antialias=antialias)


resized_crop_video = video_kernel(resized_crop, resized_crop_image)


@kernel(resized_crop, Mask)
def resized_crop_mask(
    mask: Tensor, top: int, left: int, height: int, width: int, size: int | Sequence[int]
) -> Tensor:
    """Cut a rectangle out of a mask ``(..., H, W)`` and resize it."""
    return resize_mask(crop_image(mask, top, left, height, width), size)


@kernel(resized_crop, PIL)
def _resized_crop_image_pil(
    image: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | str | int = BILINEAR,
) -> Any:
    image = _crop_image_pil(image, top, left, height, width)
    return resize_image_pil(image, size, interpolation)


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


def _corners_and_center(image: Any, size: Any, crop_it: Any, center: Any) -> tuple[Any, ...]:
    if not isinstance(size, numbers.Number) and len(size) not in (1, 2):
        raise ValueError(f"five_crop: expected a size of one or two numbers, got {size!r}.")
    if isinstance(size, str):
        raise ValueError(f"five_crop: expected a size of one or two numbers, got {size!r}.")
    height, width = height_and_width(size)
    image_height, image_width = get_size(image)
    if height > image_height or width > image_width:
        raise ValueError(
            f"five_crop: a crop {(height, width)} does not fit into an image "
            f"{(image_height, image_width)}."
        )
    places = [(y, x) for y in (0, image_height - height) for x in (0, image_width - width)]
    corners = [crop_it(image, top, left, height, width) for top, left in places]
    return (*corners, center(image, [height, width]))


@functional
def five_crop(inpt: Any, size: int | Sequence[int]) -> tuple[Any, ...]:
    """The four corners (top left and right, bottom left and right) and the center.

    Args:
        inpt: an image or a video.
        size: height and width of each crop, or one number for both.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> [part.item() for part in F.five_crop(facula.arange(9).view(1, 3, 3), 1)]
        [0, 2, 6, 8, 4]
    """
    crops: tuple[Any, ...] = dispatch(five_crop, inpt, size=size)
    return crops


@kernel(five_crop, *IMAGES)
def five_crop_image(image: Tensor, size: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The four corners and the center of an image ``(..., H, W)``."""
    return _corners_and_center(image, size, crop_image, center_crop_image)


five_crop_video = video_kernel(five_crop, five_crop_image)


@kernel(five_crop, PIL)
def _five_crop_image_pil(image: Any, size: int | Sequence[int]) -> tuple[Any, ...]:
    return _corners_and_center(image, size, _crop_image_pil, _center_crop_image_pil)


@functional
def ten_crop(inpt: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """The crops of :func:`five_crop`, then those of the flipped input.

    Args:
        inpt: an image or a video.
        size: height and width of each crop, or one number for both.
        vertical_flip: whether top and bottom are exchanged rather than left and right.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> len(F.ten_crop(facula.zeros(3, 4, 4), 2))
        10
    """
    crops: tuple[Any, ...] = dispatch(ten_crop, inpt, size=size, vertical_flip=vertical_flip)
    return crops


@kernel(ten_crop, *IMAGES)
def ten_crop_image(
    image: Tensor, size: int | Sequence[int], vertical_flip: bool = False
) -> tuple[Tensor, ...]:
    """The crops of ``five_crop`` of an image ``(..., H, W)``, and those of the flipped image."""
    flipped = vertical_flip_image(image) if vertical_flip else horizontal_flip_image(image)
    return five_crop_image(image, size) + five_crop_image(flipped, size)


ten_crop_video = video_kernel(ten_crop, ten_crop_image)


@kernel(ten_crop, PIL)
def _ten_crop_image_pil(
    image: Any, size: int | Sequence[int], vertical_flip: bool = False
) -> tuple[Any, ...]:
    flip = vertical_flip_image_pil if vertical_flip else horizontal_flip_image_pil
    return _five_crop_image_pil(image, size) + _five_crop_image_pil(flip(image), size)

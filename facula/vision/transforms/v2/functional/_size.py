"""Other sizes and extents: resize, pad and flip."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
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
    XYWH,
    XYWHR,
    XYXY,
    XYXYXYXY,
    Size,
    clamped,
    converted,
    rectangles,
    shifted,
    shifted_points,
)
from facula.vision.transforms.v2.functional._dispatch import (
    IMAGES,
    PIL,
    dispatch,
    functional,
    kernel,
    video_kernel,
)
from facula.vision.transforms.v2.functional._type_conversion import from_pixels, pixels
from facula.vision.tv_tensors import (
    BoundingBoxes,
    BoundingBoxFormat,
    KeyPoints,
    Mask,
    is_rotated_bounding_format,
)

BILINEAR = InterpolationMode.BILINEAR
_SMOOTH = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.LANCZOS)


@functional
def horizontal_flip(inpt: Any) -> Any:
    """Exchange left and right.

    Args:
        inpt: an image, a video, a mask, boxes or key points.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.horizontal_flip(facula.tensor([[[1, 2, 3]]]))
        tensor([[[3, 2, 1]]])
    """
    return dispatch(horizontal_flip, inpt)


@kernel(horizontal_flip, *IMAGES)
def horizontal_flip_image(image: Tensor) -> Tensor:
    """Exchange left and right of an image ``(..., H, W)``."""
    return image.flip(-1) if image.dim() else image.clone()


horizontal_flip_video = video_kernel(horizontal_flip, horizontal_flip_image)


@kernel(horizontal_flip, Mask)
def horizontal_flip_mask(mask: Tensor) -> Tensor:
    """Exchange left and right of a mask ``(..., H, W)``."""
    return horizontal_flip_image(mask)


@kernel(horizontal_flip, PIL)
def horizontal_flip_image_pil(image: Any) -> Any:
    """Exchange left and right of a PIL image."""
    return image.transpose(optional("PIL.Image").Transpose.FLIP_LEFT_RIGHT)


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


def _flipped_points(points: Tensor, axis: int, length: int) -> Tensor:
    points = points.clone()
    # Points are pixels, of which the last is length - 1; sides of boxes lie between pixels.
    points[..., axis] = length - 1 - points[..., axis]
    return points


@kernel(horizontal_flip, BoundingBoxes)
def horizontal_flip_bounding_boxes(
    bounding_boxes: Tensor, format: BoundingBoxFormat, canvas_size: Size
) -> Tensor:
    """Exchange left and right for boxes ``(N, K)``."""
    return _flipped(bounding_boxes, format, 0, canvas_size[1], 0)


@kernel(horizontal_flip, KeyPoints)
def horizontal_flip_keypoints(keypoints: Tensor, canvas_size: Size) -> Tensor:
    """Exchange left and right for points ``(..., 2)``."""
    return _flipped_points(keypoints, 0, canvas_size[1])


@functional
def vertical_flip(inpt: Any) -> Any:
    """Exchange top and bottom.

    Args:
        inpt: an image, a video, a mask, boxes or key points.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.vertical_flip(facula.tensor([[[1], [2]]]))
        tensor([[[2],
                 [1]]])
    """
    return dispatch(vertical_flip, inpt)


@kernel(vertical_flip, *IMAGES)
def vertical_flip_image(image: Tensor) -> Tensor:
    """Exchange top and bottom of an image ``(..., H, W)``."""
    return image.flip(-2)


vertical_flip_video = video_kernel(vertical_flip, vertical_flip_image)


@kernel(vertical_flip, Mask)
def vertical_flip_mask(mask: Tensor) -> Tensor:
    """Exchange top and bottom of a mask ``(..., H, W)``."""
    return vertical_flip_image(mask)


@kernel(vertical_flip, PIL)
def vertical_flip_image_pil(image: Any) -> Any:
    """Exchange top and bottom of a PIL image."""
    return image.transpose(optional("PIL.Image").Transpose.FLIP_TOP_BOTTOM)


@kernel(vertical_flip, BoundingBoxes)
def vertical_flip_bounding_boxes(
    bounding_boxes: Tensor, format: BoundingBoxFormat, canvas_size: Size
) -> Tensor:
    """Exchange top and bottom for boxes ``(N, K)``."""
    return _flipped(bounding_boxes, format, 1, canvas_size[0], 180)


@kernel(vertical_flip, KeyPoints)
def vertical_flip_keypoints(keypoints: Tensor, canvas_size: Size) -> Tensor:
    """Exchange top and bottom for points ``(..., 2)``."""
    return _flipped_points(keypoints, 1, canvas_size[0])


# Shorter names.
hflip = horizontal_flip
vflip = vertical_flip


def resized_size(
    size: Sequence[int], wanted: int | Sequence[int] | None, max_size: int | None
) -> list[int]:
    """Height and width after a resize of ``size``: see :func:`resize`."""
    if isinstance(wanted, int):
        wanted = [wanted]
    if wanted is None:
        if not isinstance(max_size, int):
            raise ValueError(f"resize: without size, max_size is an int, got {max_size!r}.")
    elif isinstance(wanted, (float, str)):
        raise TypeError(f"resize: expected a size of one or two ints, got {wanted!r}.")
    elif max_size is not None and len(wanted) != 1:
        raise ValueError(
            f"resize: max_size is for a size that is None or the length of the shorter side, got "
            f"size={list(wanted)}."
        )
    if wanted is not None and len(wanted) != 1:
        return [wanted[0], wanted[1]]
    height, width = size
    short, long = sorted((height, width))
    if wanted is None:
        new_short, new_long = int(max_size * short / long), max_size  # type: ignore[operator]
    else:
        new_short, new_long = wanted[0], int(wanted[0] * long / short)
        if max_size is not None:
            if max_size <= wanted[0]:
                raise ValueError(
                    f"resize: max_size={max_size} must exceed size={wanted[0]}, the length of the "
                    "shorter side."
                )
            if new_long > max_size:
                new_short, new_long = int(max_size * new_short / new_long), max_size
    assert new_long is not None
    return [new_short, new_long] if height <= width else [new_long, new_short]


@functional
def resize(
    inpt: Any,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Change height and width.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        size: height and width; one number for the shorter side, which keeps the proportions; None
            for those proportions and the longer side ``max_size``.
        interpolation: how values between pixels are found. Masks take the nearest.
        max_size: what the longer side does not exceed where size is one number.
        antialias: whether a smaller image averages what it skips; PIL images always do.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.resize(facula.zeros(3, 20, 40), 10).shape
        torch.Size([3, 10, 20])
    """
    return dispatch(
        resize,
        inpt,
        size=size,
        interpolation=interpolation,
        max_size=max_size,
        antialias=antialias,
    )


@kernel(resize, *IMAGES)
def resize_image(
    image: Tensor,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Tensor:
    """Change height and width of an image ``(..., C, H, W)``."""
    mode = as_interpolation(interpolation)
    *leading, n_channels, height, width = image.shape
    new_height, new_width = resized_size((height, width), size, max_size)
    if (new_height, new_width) == (height, width):
        return image
    new_shape = (*leading, n_channels, new_height, new_width)
    if image.numel() == 0:
        return image.reshape(new_shape)
    dtype = image.dtype
    image = image.reshape(-1, n_channels, height, width)
    is_smooth = mode in _SMOOTH
    is_native = dtype in (facula.float32, facula.float64, facula.uint8)
    resized = nn.interpolate(
        image if is_native else image.to(facula.float32),
        [new_height, new_width],
        mode=mode.value,
        align_corners=False if is_smooth else None,
        antialias=bool(antialias) and is_smooth,
    )
    if not is_native:
        resized = (resized if dtype.is_floating_point else resized.round_()).to(dtype)
    return resized.reshape(new_shape)


resize_video = video_kernel(resize, resize_image)


@kernel(resize, Mask)
def resize_mask(
    mask: Tensor,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    max_size: int | None = None,
) -> Tensor:
    """Change height and width of a mask ``(..., H, W)``; the nearest pixel is taken."""
    mode = as_interpolation(interpolation)
    if mode != InterpolationMode.NEAREST_EXACT:
        mode = InterpolationMode.NEAREST
    if mask.dim() < 3:
        return resize_image(mask.unsqueeze(0), size, mode, max_size).squeeze(0)
    return resize_image(mask, size, mode, max_size)


@kernel(resize, PIL)
def resize_image_pil(
    image: Any,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    max_size: int | None = None,
) -> Any:
    """Change height and width of a PIL image."""
    number = pil_modes_mapping[as_interpolation(interpolation)]
    height, width = resized_size((image.height, image.width), size, max_size)
    if (width, height) == image.size:
        return image
    return image.resize((width, height), resample=number)


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


def sides(padding: Any) -> list[int]:
    """Padding as left, top, right and bottom."""
    if isinstance(padding, int):
        return [padding] * 4
    if not isinstance(padding, (tuple, list)):
        raise TypeError(f"pad: padding is an int or 1, 2 or 4 ints, got {padding!r}.")
    if len(padding) not in (1, 2, 4):
        raise ValueError(f"pad: padding is an int or 1, 2 or 4 ints, got {padding!r}.")
    if not all(isinstance(number, int) for number in padding):
        raise TypeError(f"pad: padding is an int or 1, 2 or 4 ints, got {padding!r}.")
    return list(padding) * (4 // len(padding))


_PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def check_padding_mode(mode: Any) -> None:
    """Refuse modes that no padding has."""
    if mode not in _PADDING_MODES:
        raise ValueError(f"pad: padding_mode is one of {list(_PADDING_MODES)}, got {mode!r}.")


@functional
def pad(
    inpt: Any,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = None,
    padding_mode: str = "constant",
) -> Any:
    """Add pixels at the sides; negative numbers take some away.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        padding: how much is added: one number for all sides; left and right, top and bottom; or
            left, top, right, bottom.
        fill: the new pixels' value, or a value for each channel; 0 by default.
        padding_mode: ``"constant"`` for fill, ``"edge"`` for the nearest pixel, ``"reflect"`` and
            ``"symmetric"`` for a mirror image without and with the pixel at the edge.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.pad(facula.tensor([[[1, 2, 3]]]), [2, 0], padding_mode="reflect")
        tensor([[[3, 2, 1, 2, 3, 2, 1]]])
    """
    return dispatch(pad, inpt, padding=padding, fill=fill, padding_mode=padding_mode)


@kernel(pad, *IMAGES)
def pad_image(
    image: Tensor,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = None,
    padding_mode: str = "constant",
) -> Tensor:
    """Add pixels at the sides of an image ``(..., C, H, W)``."""
    left, top, right, bottom = sides(padding)
    check_padding_mode(padding_mode)
    if image.dim() < 3:
        raise ValueError(f"pad: expected an image (..., C, H, W), got {tuple(image.shape)}.")
    *leading, n_channels, height, width = image.shape
    new_shape = (*leading, n_channels, height + top + bottom, width + left + right)
    if image.numel() == 0:
        return image.reshape(new_shape)
    image = image.reshape(-1, n_channels, height, width)
    if padding_mode != "constant":
        x, y = [left, right], [top, bottom]
        _check_mirror(image, x, y, padding_mode)
        return _pad_from_image(image, x, y, padding_mode).reshape(new_shape)
    if isinstance(fill, (tuple, list)) and len(set(fill)) == 1:
        fill = fill[0]
    if not isinstance(fill, (tuple, list)):
        fill = 0 if fill is None else float(fill)  # type: ignore[arg-type]
        if not image.is_floating_point():
            fill = int(fill)
        return nn.pad(image, [left, right, top, bottom], value=fill).reshape(new_shape)
    padded = nn.pad(image, [left, right, top, bottom])
    values = facula.tensor(fill, dtype=image.dtype, device=image.device).view(-1, 1, 1)
    for side, count in ((padded[..., :top, :], top), (padded[..., :left], left)):
        if count > 0:
            side[...] = values
    for side, count in ((padded[..., -bottom:, :], bottom), (padded[..., -right:], right)):
        if count > 0:
            side[...] = values
    return padded.reshape(new_shape)


def _source(length: int, before: int, after: int, mode: str, device: Any) -> Tensor:
    """For each index along a padded dimension, that of the pixel which it shows."""
    index = facula.arange(-before, length + after, device=device)
    if mode == "edge":
        return index.clamp_(0, length - 1)
    # Mirrored at both ends, the pixels repeat after going there and back again.
    is_reflect = mode == "reflect"
    period = max(2 * (length - is_reflect), 1)
    index = index.remainder(period)
    return facula.minimum(index, period - int(not is_reflect) - index)


def _pad_from_image(image: Tensor, x: list[int], y: list[int], mode: str) -> Tensor:
    for dim, (before, after) in ((-1, x), (-2, y)):
        if before or after:
            source = _source(image.shape[dim], before, after, mode, image.device)
            image = image.index_select(dim, source)
    return image


def _check_mirror(image: Tensor, x: list[int], y: list[int], mode: str) -> None:
    for dim, padding in ((-1, x), (-2, y)):
        length = image.shape[dim]
        if mode in ("reflect", "symmetric") and max(padding) > length - (mode == "reflect"):
            error = RuntimeError if mode == "reflect" else IndexError
            raise error(
                f"pad: {mode} shows the image once, got padding {tuple(padding)} of a length "
                f"{length}."
            )


pad_video = video_kernel(pad, pad_image)


@kernel(pad, Mask)
def pad_mask(
    mask: Tensor,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = None,
    padding_mode: str = "constant",
) -> Tensor:
    """Add pixels at the sides of a mask ``(..., H, W)``."""
    if isinstance(fill, (tuple, list)):
        raise ValueError(f"pad: a mask has one fill, got {fill!r}.")
    if mask.dim() < 3:
        return pad_image(mask.unsqueeze(0), padding, fill, padding_mode).squeeze(0)
    return pad_image(mask, padding, fill, padding_mode)


def pil_fill(image: Any, fill: Any, name: str = "fillcolor") -> dict[str, Any]:
    """A fill as an argument of Pillow: an int for one channel or palettes, else a tuple."""
    n_channels = len(image.getbands())
    if fill is None:
        fill = 0
    if isinstance(fill, (int, float)) and n_channels > 1:
        fill = (fill,) * n_channels
    if isinstance(fill, (list, tuple)):
        if len(fill) == 1:
            fill = fill * n_channels
        elif len(fill) != n_channels:
            raise ValueError(
                f"fill: expected one number or {n_channels}, one for each channel of the image, "
                f"got {len(fill)}."
            )
        fill = tuple(fill)
    if image.mode != "F":
        fill = tuple(int(x) for x in fill) if isinstance(fill, tuple) else int(fill)
    return {name: fill}


@kernel(pad, PIL)
def _pad_image_pil(
    image: Any,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = None,
    padding_mode: str = "constant",
) -> Any:
    if fill is not None and not isinstance(fill, (numbers.Number, tuple, list)):
        raise TypeError(f"pad: fill is a number or a sequence of them, got {fill!r}.")
    check_padding_mode(padding_mode)
    left, top, right, bottom = sides(padding)
    if padding_mode == "constant":
        options = pil_fill(image, fill, name="fill")
        expand = optional("PIL.ImageOps").expand
        if image.mode != "P":
            return expand(image, border=(left, top, right, bottom), **options)
        palette = image.getpalette()
        image = expand(image, border=(left, top, right, bottom), **options)
        image.putpalette(palette)
        return image
    padded = _pad_from_image(pixels(image), [left, right], [top, bottom], padding_mode)
    result = from_pixels(padded, image.mode)
    if image.mode == "P":
        result.putpalette(image.getpalette())
    return result


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
    boxes = shifted(bounding_boxes, format, left, top)
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
    return shifted_points(keypoints, left, top), new_size

"""Normalization, dtypes, blur and noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.vision.transforms.v2.functional._dispatch import (
    IMAGES,
    dispatch,
    functional,
    kernel,
    video_kernel,
)
from facula.vision.tv_tensors import BoundingBoxes, KeyPoints, Mask

# How many bits count in each integer dtype, and with them the largest value.
_VALUE_BITS = {
    facula.bool: 1,
    facula.uint8: 8,
    facula.int8: 7,
    facula.int16: 15,
    facula.int32: 31,
    facula.int64: 63,
}


def max_value(dtype: facula.dtype) -> int:
    """White: 1 in floating point, else the largest value of the dtype."""
    return 1 if dtype.is_floating_point else (1 << _VALUE_BITS[dtype]) - 1


@functional
def normalize(inpt: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Any:
    """Subtract the mean of each channel and divide by its standard deviation.

    Args:
        inpt: an image or a video, floating point.
        mean: for each channel.
        std: for each channel, none of them 0.
        inplace: whether the input itself is changed.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.normalize(facula.ones(1, 1, 2), [0.5], [0.25])
        tensor([[[2., 2.]]])
    """
    return dispatch(normalize, inpt, mean=mean, std=std, inplace=inplace)


@kernel(normalize, *IMAGES)
def normalize_image(
    image: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> Tensor:
    """Normalize an image ``(..., C, H, W)``."""
    if not image.is_floating_point():
        raise TypeError(
            f"normalize: expected a floating-point image, got {image.dtype}. Convert it with "
            "to_dtype(image, facula.float32, scale=True)."
        )
    if image.dim() < 3:
        raise ValueError(f"normalize: expected an image (..., C, H, W), got {tuple(image.shape)}.")
    like = {"dtype": image.dtype, "device": image.device}
    divisor = facula.as_tensor(std, **like)
    if std == 0 if isinstance(std, (int, float)) else 0 in divisor.tolist():
        raise ValueError(
            f"normalize: a std of 0 in {image.dtype} leads to a division by zero, got {std}."
        )
    offset = facula.as_tensor(mean, **like)
    offset = offset.view(-1, 1, 1) if offset.dim() == 1 else offset
    divisor = divisor.view(-1, 1, 1) if divisor.dim() == 1 else divisor
    image = image.sub_(offset) if inplace else image.sub(offset)
    return image.div_(divisor)


normalize_video = video_kernel(normalize, normalize_image)


@functional
def to_dtype(inpt: Any, dtype: facula.dtype = facula.float32, scale: bool = False) -> Any:
    """Convert to a dtype.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        dtype: of the result.
        scale: whether the values of images and videos, up to 1 in floating point and up to the
            largest integer else, are scaled to those of the dtype.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.to_dtype(facula.tensor([[[0, 255]]], dtype=facula.uint8), facula.float32, scale=True)
        tensor([[[0., 1.]]])
    """
    return dispatch(to_dtype, inpt, dtype=dtype, scale=scale)


@kernel(to_dtype, *IMAGES)
def to_dtype_image(
    image: Tensor, dtype: facula.dtype = facula.float32, scale: bool = False
) -> Tensor:
    """Convert an image to a dtype, with its values scaled or not."""
    if image.dtype == dtype:
        return image
    if not scale or (image.is_floating_point() and dtype.is_floating_point):
        return image.to(dtype)
    if image.is_floating_point():
        is_too_long = dtype == facula.int64 or (
            image.dtype == facula.float32 and dtype == facula.int32
        )
        if is_too_long:
            raise RuntimeError(
                f"to_dtype: {image.dtype} has too few digits to be scaled to {dtype}."
            )
        # So many steps of the same length, the last of which ends just above 1.
        return image.mul(max_value(dtype) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype).mul_(1.0 / max_value(image.dtype))
    shift = _VALUE_BITS[dtype] - _VALUE_BITS[image.dtype]
    if shift < 0:
        return image.bitwise_right_shift(-shift).to(dtype)
    return image.to(dtype).bitwise_left_shift_(shift)


to_dtype_video = video_kernel(to_dtype, to_dtype_image)


@kernel(to_dtype, Mask, BoundingBoxes, KeyPoints)
def _to_dtype_unscaled(inpt: Tensor, dtype: facula.dtype = facula.float32) -> Tensor:
    return inpt.to(dtype)


def convert_image_dtype(image: Tensor, dtype: facula.dtype = facula.float32) -> Tensor:
    """:func:`to_dtype` of an image with ``scale=True``.

    Args:
        image: ``(..., C, H, W)``.
        dtype: of the result.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.convert_image_dtype(facula.tensor([[[255]]], dtype=facula.uint8))
        tensor([[[1.]]])
    """
    return to_dtype_image(image, dtype, scale=True)

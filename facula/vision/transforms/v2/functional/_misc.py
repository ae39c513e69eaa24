"""Normalization, dtypes, blur and noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.nn import functional as nn
from facula.vision.transforms.v2.functional._dispatch import (
    IMAGES,
    PIL,
    dispatch,
    functional,
    kernel,
    video_kernel,
)
from facula.vision.transforms.v2.functional._meta import by_channels
from facula.vision.transforms.v2.functional._type_conversion import pil_to_tensor, to_pil_image
from facula.vision.tv_tensors import BoundingBoxes, KeyPoints, Mask

# How many bits count in each integer dtype, and with them the largest value.
_VALUE_BITS = {
    facula.uint8: 8,
    facula.int8: 7,
    facula.int16: 15,
    facula.int32: 31,
    facula.int64: 63,
}


def max_value(dtype: facula.dtype) -> int:
    """White: 1 in floating point, else the largest value of the dtype."""
    if dtype.is_floating_point or dtype == facula.bool:
        return 1
    return (1 << _VALUE_BITS[dtype]) - 1


@functional
def normalize(inpt: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Any:
    """Subtract the mean of each channel and divide by its standard deviation.

    Args:
        inpt: an image or a video, floating point.
        mean: the mean of each channel.
        std: the standard deviation of each channel, none of them 0.
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
    like: dict[str, Any] = {"dtype": image.dtype, "device": image.device}
    divisor = facula.as_tensor(std, **like)
    if std == 0 if isinstance(std, (int, float)) else 0 in divisor.tolist():
        raise ValueError(
            f"normalize: a std of 0 in {image.dtype} leads to a division by zero, got {std}."
        )
    offset = facula.as_tensor(mean, **like)
    offset = offset.view(-1, 1, 1) if offset.dim() == 1 else offset
    divisor = divisor.view(-1, 1, 1) if divisor.dim() == 1 else divisor
    image = image.sub_(offset) if inplace else by_channels(image).sub(offset)
    return image.div_(divisor)


normalize_video = video_kernel(normalize, normalize_image)


@functional
def to_dtype(inpt: Any, dtype: facula.dtype = facula.float32, scale: bool = False) -> Any:
    """Convert to a dtype.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
        dtype: the dtype of the result.
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
    if facula.bool in (image.dtype, dtype):
        raise TypeError(f"to_dtype: {image.dtype} cannot be scaled to {dtype}; use scale=False.")
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
        dtype: the dtype of the result.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.convert_image_dtype(facula.tensor([[[255]]], dtype=facula.uint8))
        tensor([[[1.]]])
    """
    return to_dtype_image(image, dtype, scale=True)


def _two(name: str, value: Any, kinds: tuple[type, ...]) -> list[Any]:
    """One value for both directions, x and y."""
    if isinstance(value, kinds):
        return [value, value]
    if not isinstance(value, (tuple, list, str)):
        raise TypeError(f"gaussian_blur: {name} is a number or two, got {value!r}.")
    if len(value) == 1 and float in kinds:
        value = [*value, *value]
    if len(value) != 2:
        raise ValueError(f"gaussian_blur: {name} is a number or two, got {value!r}.")
    return list(value)


def _blur_weights(size: int, sigma: float, like: Tensor) -> Tensor:
    limit = (size - 1) / (2.0 * math.sqrt(2.0))
    x = facula.linspace(-limit, limit, steps=size, dtype=like.dtype, device=like.device)
    return nn.softmax(x.div_(sigma).pow_(2).neg_(), dim=0)


@functional
def gaussian_blur(
    inpt: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    """Blur with a Gaussian.

    Args:
        inpt: an image or a video.
        kernel_size: pixels that count for each of the result, odd; one number or x and y.
        sigma: standard deviation, one number or x and y; by default from the size.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.gaussian_blur(facula.eye(3).unsqueeze(0), 3)[0, 1, 1] < 1
        tensor(True)
    """
    return dispatch(gaussian_blur, inpt, kernel_size=kernel_size, sigma=sigma)


@kernel(gaussian_blur, *IMAGES)
def gaussian_blur_image(
    image: Tensor, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Tensor:
    """Blur an image ``(..., C, H, W)``, which is mirrored at its sides."""
    size_x, size_y = sizes = _two("kernel_size", kernel_size, (int,))
    if any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(f"gaussian_blur: kernel_size is odd and positive, got {sizes}.")
    if isinstance(sigma, str):
        raise TypeError(f"gaussian_blur: sigma is a number or two, got {sigma!r}.")
    if sigma is None:
        sigmas = [size * 0.15 + 0.35 for size in sizes]
    else:
        sigmas = [float(value) for value in _two("sigma", sigma, (int, float))]
    if any(value <= 0 for value in sigmas):
        raise ValueError(f"gaussian_blur: sigma is positive, got {sigmas}.")
    if image.dim() < 3:
        raise IndexError(
            f"gaussian_blur: expected an image (..., C, H, W), got {tuple(image.shape)}."
        )
    if image.numel() == 0:
        return image
    n_channels, height, width = image.shape[-3:]
    values = image if image.is_floating_point() else image.to(facula.float32)
    values = values.reshape(-1, n_channels, height, width)
    weights_x, weights_y = (
        _blur_weights(size, value, values) for size, value in zip(sizes, sigmas, strict=True)
    )
    weight = (weights_y.unsqueeze(-1) * weights_x).expand(n_channels, 1, size_y, size_x)
    margins = [size_x // 2, size_x // 2, size_y // 2, size_y // 2]
    blurred = nn.conv2d(nn.pad(values, margins, mode="reflect"), weight, groups=n_channels)
    if not image.is_floating_point():
        blurred = blurred.round_().to(image.dtype)
    return blurred.reshape(image.shape)


gaussian_blur_video = video_kernel(gaussian_blur, gaussian_blur_image)


@kernel(gaussian_blur, PIL)
def _gaussian_blur_image_pil(
    image: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    blurred = gaussian_blur_image(pil_to_tensor(image), kernel_size, sigma)
    return to_pil_image(blurred, mode=image.mode)


@functional
def gaussian_noise(inpt: Any, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Any:
    """Add normally distributed noise.

    Args:
        inpt: an image or a video, floating point or uint8.
        mean: the mean of the noise, where white is 1.
        sigma: standard deviation of the noise, where white is 1.
        clip: whether values stay between black and white.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.gaussian_noise(facula.zeros(3, 4, 4)).shape
        torch.Size([3, 4, 4])
    """
    return dispatch(gaussian_noise, inpt, mean=mean, sigma=sigma, clip=clip)


@kernel(gaussian_noise, *IMAGES)
def gaussian_noise_image(
    image: Tensor, mean: float = 0.0, sigma: float = 0.1, clip: bool = True
) -> Tensor:
    """Add normally distributed noise to an image."""
    if not image.is_floating_point() and image.dtype != facula.uint8:
        raise ValueError(
            f"gaussian_noise: expected a floating-point or uint8 image, got {image.dtype}."
        )
    if sigma < 0:
        raise ValueError(f"gaussian_noise: expected a sigma of 0 or more, got {sigma}.")
    if image.is_floating_point():
        noisy = image + (mean + facula.randn_like(image) * sigma)
        return noisy.clamp(0, 1) if clip else noisy
    noise = facula.randn_like(image, dtype=facula.float32) * (sigma * 255) + mean * 255
    # int16 holds a byte and any noise; without clip the last step wraps around, as bytes do.
    sum_ = image.to(facula.int16) + noise.to(facula.int16)
    return (sum_.clamp(0, 255) if clip else sum_).to(facula.uint8)


gaussian_noise_video = video_kernel(gaussian_noise, gaussian_noise_image)


@kernel(gaussian_noise, PIL)
def _gaussian_noise_pil(image: Any) -> Any:
    raise ValueError(
        "gaussian_noise: not for PIL images. Convert the image with to_image and to_dtype first."
    )

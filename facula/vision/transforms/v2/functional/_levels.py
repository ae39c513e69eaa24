"""Other levels for the values of images: curves, steps, negatives and histograms."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula.vision._imports import optional
from facula.vision.transforms.v2.functional._color import check_channels
from facula.vision.transforms.v2.functional._dispatch import (
    IMAGES,
    PIL,
    dispatch,
    functional,
    kernel,
    video_kernel,
)
from facula.vision.transforms.v2.functional._meta import by_channels
from facula.vision.transforms.v2.functional._misc import max_value, to_dtype_image


@functional
def adjust_gamma(inpt: Any, gamma: float, gain: float = 1) -> Any:
    """``gain * value**gamma``, for values from 0 to 1.

    Args:
        inpt: an image or a video.
        gamma: above 1 for darker shadows, below 1 for lighter ones.
        gain: a factor of the result.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.adjust_gamma(facula.full((1, 1, 1), 0.5), 2)
        tensor([[[0.2500]]])
    """
    return dispatch(adjust_gamma, inpt, gamma=gamma, gain=gain)


def _check_gamma(gamma: float) -> None:
    if gamma < 0:
        raise ValueError(f"adjust_gamma: expected a gamma of 0 or more, got {gamma}.")


@kernel(adjust_gamma, *IMAGES)
def adjust_gamma_image(image: Tensor, gamma: float, gain: float = 1.0) -> Tensor:
    """``gain * value**gamma`` of an image."""
    _check_gamma(gamma)
    if image.is_floating_point():
        output = image.pow(gamma)
    else:
        output = to_dtype_image(image, facula.float32, scale=True).pow_(gamma)
    if gain != 1.0:
        output = output.mul_(gain).clamp_(0.0, 1.0)
    return to_dtype_image(output, image.dtype, scale=True)


adjust_gamma_video = video_kernel(adjust_gamma, adjust_gamma_image)


@kernel(adjust_gamma, PIL)
def _adjust_gamma_image_pil(image: Any, gamma: float, gain: float = 1) -> Any:
    _check_gamma(gamma)
    levels = [int((255 + 1 - 1e-3) * gain * pow(level / 255.0, gamma)) for level in range(256)]
    return image.convert("RGB").point(levels * 3).convert(image.mode)


@functional
def posterize(inpt: Any, bits: int) -> Any:
    """Keep the highest bits of each value.

    Args:
        inpt: an image or a video.
        bits: how many bits are kept.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.posterize(facula.tensor([[[255, 100]]], dtype=facula.uint8), 1)
        tensor([[[128,   0]]], dtype=torch.uint8)
    """
    return dispatch(posterize, inpt, bits=bits)


@kernel(posterize, *IMAGES)
def posterize_image(image: Tensor, bits: int) -> Tensor:
    """Keep the highest bits of an image's values; in floating point as many levels."""
    if not isinstance(bits, int) or not 0 <= bits <= 8:
        raise TypeError(f"posterize: bits is an int from 0 to 8, got {bits!r}.")
    if image.is_floating_point():
        n_levels = 1 << bits
        return image.mul(n_levels).floor_().clamp_(0, n_levels - 1).mul_(1.0 / n_levels)
    n_bits = max_value(image.dtype).bit_length()
    if bits >= n_bits:
        return image
    return image & (((1 << bits) - 1) << (n_bits - bits))


posterize_video = video_kernel(posterize, posterize_image)


@kernel(posterize, PIL)
def _posterize_image_pil(image: Any, bits: int) -> Any:
    return optional("PIL.ImageOps").posterize(image, bits)


@functional
def solarize(inpt: Any, threshold: float) -> Any:
    """Invert the values that reach a threshold.

    Args:
        inpt: an image or a video.
        threshold: the least value that is inverted.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.solarize(facula.tensor([[[0.25, 0.75]]]), 0.5)
        tensor([[[0.2500, 0.2500]]])
    """
    return dispatch(solarize, inpt, threshold=threshold)


@kernel(solarize, *IMAGES)
def solarize_image(image: Tensor, threshold: float) -> Tensor:
    """Invert the values of an image that reach a threshold."""
    if threshold > max_value(image.dtype):
        raise TypeError(
            f"solarize: the threshold is at most {max_value(image.dtype)} for {image.dtype}, "
            f"got {threshold}."
        )
    return facula.where(image >= threshold, invert_image(image), image)


solarize_video = video_kernel(solarize, solarize_image)


@kernel(solarize, PIL)
def _solarize_image_pil(image: Any, threshold: float) -> Any:
    return optional("PIL.ImageOps").solarize(image, threshold=threshold)


@functional
def invert(inpt: Any) -> Any:
    """The negative of an image.

    Args:
        inpt: an image or a video.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.invert(facula.tensor([[[0, 100]]], dtype=facula.uint8))
        tensor([[[255, 155]]], dtype=torch.uint8)
    """
    return dispatch(invert, inpt)


@kernel(invert, *IMAGES)
def invert_image(image: Tensor) -> Tensor:
    """The negative of an image."""
    if image.dtype == facula.uint8:
        return image.bitwise_not()
    return max_value(image.dtype) - image


invert_video = video_kernel(invert, invert_image)


@kernel(invert, PIL)
def _invert_image_pil(image: Any) -> Any:
    return optional("PIL.ImageOps").invert(image)


@functional
def autocontrast(inpt: Any) -> Any:
    """Stretch the values of each channel until they reach from black to white.

    Args:
        inpt: an image or a video.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.autocontrast(facula.tensor([[[0.25, 0.5]]]))
        tensor([[[0., 1.]]])
    """
    return dispatch(autocontrast, inpt)


@kernel(autocontrast, *IMAGES)
def autocontrast_image(image: Tensor) -> Tensor:
    """Stretch the values of each channel of an image; one of equal values stays."""
    check_channels("autocontrast", image)
    if image.numel() == 0:
        return image
    image = by_channels(image)
    bound = max_value(image.dtype)
    dtype = image.dtype if image.is_floating_point() else facula.float32
    low = image.amin(dim=(-2, -1), keepdim=True).to(dtype)
    high = image.amax(dim=(-2, -1), keepdim=True).to(dtype)
    is_flat = low == high
    scale = (high - low).mul_(1.0 / bound).masked_fill_(is_flat, 1)
    stretched = image.sub(low.masked_fill_(is_flat, 0)).div_(scale)
    return stretched.clamp_(0, bound).to(image.dtype)


autocontrast_video = video_kernel(autocontrast, autocontrast_image)


@kernel(autocontrast, PIL)
def _autocontrast_image_pil(image: Any) -> Any:
    return optional("PIL.ImageOps").autocontrast(image)


@functional
def equalize(inpt: Any) -> Any:
    """Make all values of each channel about equally frequent.

    Args:
        inpt: an image or a video.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> image = facula.arange(100, 104, dtype=facula.uint8).repeat(128).view(1, 4, 128)
        >>> F.equalize(image).unique()
        tensor([  0, 128, 255], dtype=torch.uint8)
    """
    return dispatch(equalize, inpt)


@kernel(equalize, *IMAGES)
def equalize_image(image: Tensor) -> Tensor:
    """Make the values of each channel of an image about equally frequent."""
    if image.numel() == 0:
        return image
    levels = to_dtype_image(image, facula.uint8, scale=True).flatten(-2)
    values = levels.reshape(-1, levels.shape[-1]).to(facula.int64)
    n_pixels = values.shape[-1]
    counts = values.new_zeros((values.shape[0], 256))
    counts.scatter_add_(1, values, facula.ones_like(values))
    n_brightest = counts.gather(1, values.amax(dim=1, keepdim=True))
    step = (n_pixels - n_brightest).div_(255, rounding_mode="floor")
    # Entry v is for the pixels below v; where the step is 0, values stay as they are.
    below = counts.cumsum(1) - counts
    table = (below + step.div(2, rounding_mode="floor")).div_(
        step.clamp(min=1), rounding_mode="floor"
    )
    table = facula.where(step > 0, table.clamp_(0, 255), facula.arange(256, device=image.device))
    output = table.gather(1, values).to(facula.uint8).reshape(image.shape)
    return to_dtype_image(output, image.dtype, scale=True)


equalize_video = video_kernel(equalize, equalize_image)


@kernel(equalize, PIL)
def _equalize_image_pil(image: Any) -> Any:
    return optional("PIL.ImageOps").equalize(image)

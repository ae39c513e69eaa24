"""Colours and brightness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula._warnings import warn_user
from facula.nn import functional as nn
from facula.vision._imports import optional
from facula.vision.transforms.v2.functional._dispatch import (
    IMAGES,
    PIL,
    dispatch,
    functional,
    kernel,
    video_kernel,
)
from facula.vision.transforms.v2.functional._misc import max_value, to_dtype_image
from facula.vision.transforms.v2.functional._type_conversion import from_pixels, pixels


def check_channels(name: str, image: Tensor) -> int:
    """The number of channels, which must be 1 or 3."""
    n_channels = image.shape[-3]
    if n_channels not in (1, 3):
        raise TypeError(f"{name}: expected 1 or 3 channels, got an image {tuple(image.shape)}.")
    return n_channels


def _check_factor(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name}: expected a factor of 0 or more, got {factor}.")


def _luminance(image: Tensor) -> Tensor:
    """The grey of an image ``(..., 3, H, W)``, in floating point."""
    r, g, b = image.unbind(dim=-3)
    # The weights of ITU-R 601-2, as Pillow has them.
    gray: Tensor = r.mul(0.2989).add_(g, alpha=0.587).add_(b, alpha=0.114).unsqueeze(-3)
    return gray


@functional
def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1) -> Any:
    """Grey images.

    Args:
        inpt: an image.
        num_output_channels: 1, or 3 for equal red, green and blue.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.rgb_to_grayscale(facula.ones(3, 1, 1))
        tensor([[[0.9999]]])
    """
    return dispatch(rgb_to_grayscale, inpt, num_output_channels=num_output_channels)


def _check_output_channels(n_channels: int) -> None:
    if n_channels not in (1, 3):
        raise ValueError(f"rgb_to_grayscale: num_output_channels is 1 or 3, got {n_channels}.")


@kernel(rgb_to_grayscale, *IMAGES)
def rgb_to_grayscale_image(image: Tensor, num_output_channels: int = 1) -> Tensor:
    """A grey image of one ``(..., C, H, W)`` with 1 or 3 channels."""
    _check_output_channels(num_output_channels)
    if image.shape[-3] == 1:
        gray = image.clone()
    elif image.shape[-3] == 3:
        gray = _luminance(image).to(image.dtype)
    else:
        raise ValueError(
            f"rgb_to_grayscale: expected 1 or 3 channels, got an image {tuple(image.shape)}."
        )
    return (
        gray.expand(*image.shape[:-3], 3, *image.shape[-2:]) if num_output_channels == 3 else gray
    )


@kernel(rgb_to_grayscale, PIL)
def _rgb_to_grayscale_image_pil(image: Any, num_output_channels: int = 1) -> Any:
    _check_output_channels(num_output_channels)
    gray = image.convert("L")
    return optional("PIL.Image").merge("RGB", [gray] * 3) if num_output_channels == 3 else gray


def to_grayscale(inpt: Any, num_output_channels: int = 1) -> Any:
    """:func:`rgb_to_grayscale`. Deprecated for images that are not PIL's.

    Args:
        inpt: an image.
        num_output_channels: 1, or 3 for equal red, green and blue.
    """
    warn_user("to_grayscale: deprecated; use rgb_to_grayscale.")
    return rgb_to_grayscale(inpt, num_output_channels)


@functional
def grayscale_to_rgb(inpt: Any) -> Any:
    """Three equal channels from one; an image that has them is returned.

    Args:
        inpt: an image.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.grayscale_to_rgb(facula.ones(1, 4, 5)).shape
        torch.Size([3, 4, 5])
    """
    return dispatch(grayscale_to_rgb, inpt)


@kernel(grayscale_to_rgb, *IMAGES)
def grayscale_to_rgb_image(image: Tensor) -> Tensor:
    """Three equal channels from the one of an image ``(..., C, H, W)``."""
    if image.shape[-3] >= 3:
        return image
    return rgb_to_grayscale_image(image, num_output_channels=3)


@kernel(grayscale_to_rgb, PIL)
def _grayscale_to_rgb_image_pil(image: Any) -> Any:
    return image.convert(mode="RGB")


def _blend(image: Tensor, other: Tensor, ratio: float) -> Tensor:
    """So much of the first, the rest of the second."""
    bound = max_value(image.dtype)
    mixed = image.mul(float(ratio)).add_(other, alpha=1.0 - ratio).clamp_(0, bound)
    return mixed.to(image.dtype)


def _enhance(kind: str, image: Any, factor: float) -> Any:
    return getattr(optional("PIL.ImageEnhance"), kind)(image).enhance(factor)


@functional
def adjust_brightness(inpt: Any, brightness_factor: float) -> Any:
    """Multiply all values.

    Args:
        inpt: an image or a video.
        brightness_factor: 0 for black, 1 for no change.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.adjust_brightness(facula.full((1, 1, 1), 0.5), 1.5)
        tensor([[[0.7500]]])
    """
    return dispatch(adjust_brightness, inpt, brightness_factor=brightness_factor)


@kernel(adjust_brightness, *IMAGES)
def adjust_brightness_image(image: Tensor, brightness_factor: float) -> Tensor:
    """Multiply all values of an image."""
    _check_factor("adjust_brightness", brightness_factor)
    return image.mul(float(brightness_factor)).clamp_(0, max_value(image.dtype)).to(image.dtype)


adjust_brightness_video = video_kernel(adjust_brightness, adjust_brightness_image)


@kernel(adjust_brightness, PIL)
def _adjust_brightness_image_pil(image: Any, brightness_factor: float) -> Any:
    return _enhance("Brightness", image, brightness_factor)


@functional
def adjust_saturation(inpt: Any, saturation_factor: float) -> Any:
    """Move away from, or towards, the grey image.

    Args:
        inpt: an image or a video.
        saturation_factor: 0 for grey, 1 for no change.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.adjust_saturation(facula.tensor([1.0, 0.0, 0.0]).view(3, 1, 1), 0).flatten()
        tensor([0.2989, 0.2989, 0.2989])
    """
    return dispatch(adjust_saturation, inpt, saturation_factor=saturation_factor)


@kernel(adjust_saturation, *IMAGES)
def adjust_saturation_image(image: Tensor, saturation_factor: float) -> Tensor:
    """Move an image away from, or towards, its grey."""
    _check_factor("adjust_saturation", saturation_factor)
    if check_channels("adjust_saturation", image) == 1:
        return image
    gray = _luminance(image)
    # Bytes of a grey image are cut, not rounded, as torchvision's are.
    return _blend(image, gray if image.is_floating_point() else gray.floor_(), saturation_factor)


adjust_saturation_video = video_kernel(adjust_saturation, adjust_saturation_image)


@kernel(adjust_saturation, PIL)
def _adjust_saturation_image_pil(image: Any, saturation_factor: float) -> Any:
    return _enhance("Color", image, saturation_factor)


@functional
def adjust_contrast(inpt: Any, contrast_factor: float) -> Any:
    """Move away from, or towards, the mean of the grey image.

    Args:
        inpt: an image or a video.
        contrast_factor: 0 for all grey, 1 for no change.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.adjust_contrast(facula.tensor([[[0.25, 0.75]]]), 2)
        tensor([[[0., 1.]]])
    """
    return dispatch(adjust_contrast, inpt, contrast_factor=contrast_factor)


@kernel(adjust_contrast, *IMAGES)
def adjust_contrast_image(image: Tensor, contrast_factor: float) -> Tensor:
    """Move an image away from, or towards, the mean of its grey."""
    _check_factor("adjust_contrast", contrast_factor)
    n_channels = check_channels("adjust_contrast", image)
    gray = _luminance(image) if n_channels == 3 else image
    if not image.is_floating_point():
        gray = gray.floor_() if n_channels == 3 else gray.to(facula.float32)
    return _blend(image, gray.mean(dim=(-3, -2, -1), keepdim=True), contrast_factor)


adjust_contrast_video = video_kernel(adjust_contrast, adjust_contrast_image)


@kernel(adjust_contrast, PIL)
def _adjust_contrast_image_pil(image: Any, contrast_factor: float) -> Any:
    return _enhance("Contrast", image, contrast_factor)


@functional
def adjust_sharpness(inpt: Any, sharpness_factor: float) -> Any:
    """Move away from, or towards, a blurred image.

    Args:
        inpt: an image or a video.
        sharpness_factor: 0 for blurred, 1 for no change, 2 for sharper.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.adjust_sharpness(facula.eye(3).unsqueeze(0), 0)[0, 1]
        tensor([0.0000, 0.5385, 0.0000])
    """
    return dispatch(adjust_sharpness, inpt, sharpness_factor=sharpness_factor)


@kernel(adjust_sharpness, *IMAGES)
def adjust_sharpness_image(image: Tensor, sharpness_factor: float) -> Tensor:
    """Move an image away from, or towards, a blurred one; its frame of one pixel is kept."""
    n_channels = check_channels("adjust_sharpness", image)
    _check_factor("adjust_sharpness", sharpness_factor)
    height, width = image.shape[-2:]
    if image.numel() == 0 or height <= 2 or width <= 2:
        return image
    is_float = image.is_floating_point()
    dtype = image.dtype if is_float else facula.float32
    output = image.to(dtype, copy=True).reshape(-1, n_channels, height, width)
    weight = facula.full((n_channels, 1, 3, 3), 1 / 13, dtype=dtype, device=image.device)
    weight[:, 0, 1, 1] = 5 / 13
    blurred = nn.conv2d(output, weight, groups=n_channels)
    inside = output[..., 1:-1, 1:-1]
    # In place in the copy, so that the frame keeps its values: there the kernel has no neighbours.
    inside.add_((blurred if is_float else blurred.round_()) - inside, alpha=1.0 - sharpness_factor)
    return output.clamp_(0, max_value(image.dtype)).to(image.dtype).reshape(image.shape)


adjust_sharpness_video = video_kernel(adjust_sharpness, adjust_sharpness_image)


@kernel(adjust_sharpness, PIL)
def _adjust_sharpness_image_pil(image: Any, sharpness_factor: float) -> Any:
    return _enhance("Sharpness", image, sharpness_factor)


def _rgb_to_hsv(image: Tensor) -> Tensor:
    r, g, b = image.unbind(dim=-3)
    low, high = facula.aminmax(image, dim=-3)
    span = high - low
    is_gray = span == 0
    # Grey has no hue: divided by 1 it gets 0, not NaN.
    saturation = span / high.masked_fill(is_gray, 1)
    divisor = span.masked_fill(is_gray, 1)
    from_r, from_g, from_b = (high - c for c in (r, g, b))
    from_r, from_g, from_b = from_r / divisor, from_g / divisor, from_b / divisor
    hue = facula.where(
        high == r,
        from_b - from_g,
        facula.where(high == g, from_r + 2 - from_b, from_g + 4 - from_r),
    )
    return facula.stack((hue.mul_(1 / 6).add_(1).fmod_(1), saturation, high), dim=-3)


def _hsv_to_rgb(image: Tensor) -> Tensor:
    hue, saturation, value = image.unbind(dim=-3)
    hue = hue * 6
    sector = hue.floor()
    part = hue - sector
    low = ((1 - saturation) * value).clamp_(0, 1)
    falling = ((1 - saturation * part) * value).clamp_(0, 1)
    rising = (value - saturation * value * (1 - part)).clamp_(0, 1)
    sector = sector.remainder_(6)
    is_in = [sector == k for k in range(6)]

    def channel(falls: int, low_from: int, rises: int) -> Tensor:
        """In the six sectors of 60 degrees: full, falling, low in two of them, rising, full."""
        output = facula.where(is_in[rises], rising, value)
        output = facula.where(is_in[low_from] | is_in[low_from + 1], low, output)
        return facula.where(is_in[falls], falling, output)

    return facula.stack((channel(1, 2, 4), channel(3, 4, 0), channel(5, 0, 2)), dim=-3)


@functional
def adjust_hue(inpt: Any, hue_factor: float) -> Any:
    """Turn all colours on the circle of hues.

    Args:
        inpt: an image or a video.
        hue_factor: the shift of the hue, from -0.5 to 0.5, which both are half a turn.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.adjust_hue(facula.tensor([1.0, 0.0, 0.0]).view(3, 1, 1), 0.5).flatten()
        tensor([0., 1., 1.])
    """
    return dispatch(adjust_hue, inpt, hue_factor=hue_factor)


def _check_hue(hue_factor: float) -> None:
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"adjust_hue: hue_factor is from -0.5 to 0.5, got {hue_factor}.")


@kernel(adjust_hue, *IMAGES)
def adjust_hue_image(image: Tensor, hue_factor: float) -> Tensor:
    """Turn the colours of an image on the circle of hues."""
    _check_hue(hue_factor)
    if check_channels("adjust_hue", image) == 1 or image.numel() == 0:
        return image
    hsv = _rgb_to_hsv(to_dtype_image(image, facula.float32, scale=True))
    hue = hsv.select(-3, 0)
    hue.add_(hue_factor).remainder_(1.0)
    return to_dtype_image(_hsv_to_rgb(hsv), image.dtype, scale=True)


adjust_hue_video = video_kernel(adjust_hue, adjust_hue_image)


@kernel(adjust_hue, PIL)
def _adjust_hue_image_pil(image: Any, hue_factor: float) -> Any:
    _check_hue(hue_factor)
    if image.mode in ("L", "1", "I", "F"):
        return image
    shift = int(hue_factor * 255) % 256
    hue, saturation, value = image.convert("HSV").split()
    hue = hue.point([(level + shift) % 256 for level in range(256)])
    return optional("PIL.Image").merge("HSV", (hue, saturation, value)).convert(image.mode)


@functional
def permute_channels(inpt: Any, permutation: Sequence[int]) -> Any:
    """Channels in another order.

    Args:
        inpt: an image or a video.
        permutation: the index in the input of each channel of the result.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.permute_channels(facula.tensor([1, 2, 3]).view(3, 1, 1), [2, 0, 1]).flatten()
        tensor([3, 1, 2])
    """
    return dispatch(permute_channels, inpt, permutation=permutation)


@kernel(permute_channels, *IMAGES)
def permute_channels_image(image: Tensor, permutation: Sequence[int]) -> Tensor:
    """The channels of an image ``(..., C, H, W)`` in another order."""
    if len(permutation) != image.shape[-3]:
        raise ValueError(
            f"permute_channels: expected one index for each channel of an image "
            f"{tuple(image.shape)}, got {list(permutation)}."
        )
    return image.index_select(-3, facula.tensor(permutation, device=image.device))


permute_channels_video = video_kernel(permute_channels, permute_channels_image)


@kernel(permute_channels, PIL)
def _permute_channels_image_pil(image: Any, permutation: Sequence[int]) -> Any:
    return from_pixels(permute_channels_image(pixels(image), permutation), image.mode)

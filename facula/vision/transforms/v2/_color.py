"""Transforms that change colours and leave pixels where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._transform import RandomApplyTransform, Transform
from facula.vision.transforms.v2._utils import happens, is_number, query_chw, uniform

__all__ = [
    "RGB",
    "ColorJitter",
    "Grayscale",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomEqualize",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomSolarize",
]


class Grayscale(Transform):
    """RGB to shades of grey.

    Args:
        num_output_channels: 1, or 3 for the same one three times.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.Grayscale()(facula.zeros(3, 4, 5)).shape
        torch.Size([1, 4, 5])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.rgb_to_grayscale, inpt, num_output_channels=self.num_output_channels
        )


class RandomGrayscale(RandomApplyTransform):
    """RGB to shades of grey in as many channels, with a probability.

    Args:
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomGrayscale(p=1.0)(facula.zeros(3, 4, 5)).shape
        torch.Size([3, 4, 5])
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p=p)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"num_output_channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.rgb_to_grayscale, inpt, **params)


class RGB(Transform):
    """Shades of grey to RGB: the same channel three times.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RGB()(facula.zeros(1, 4, 5)).shape
        torch.Size([3, 4, 5])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.grayscale_to_rgb, inpt)


def _factors(
    name: str,
    argument: str,
    value: Any,
    center: float = 1.0,
    bounds: tuple[float, float] = (0.0, float("inf")),
) -> tuple[float, float] | None:
    """A range of factors from its half width or from its ends; None if it changes nothing."""
    if value is None:
        return None
    if is_number(value):
        if value < 0:
            raise ValueError(
                f"{name}: expected {argument} not to be negative where it is one number, "
                f"got {value}."
            )
        low, high = center - value, center + value
        low = max(low, bounds[0]) if center == 1.0 else low
    elif isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        low, high = map(float, value)
    else:
        raise TypeError(f"{name}: expected one or two numbers as {argument}, got {value!r}.")
    if not bounds[0] <= low <= high <= bounds[1]:
        raise ValueError(
            f"{name}: expected {argument} as (least, most) between {bounds[0]} and {bounds[1]}, "
            f"got ({low}, {high})."
        )
    return None if low == high == center else (float(low), float(high))


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed by random factors, in random order.

    Args:
        brightness: the least and the most factor; one number for so much less and more than 1.
        contrast: the least and the most factor of contrast, given as that of brightness.
        saturation: the least and the most factor of saturation, given as that of brightness.
        hue: the least and the most shift, from -0.5 to 0.5; one number for both signs of it.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.ColorJitter(brightness=(2, 2))(facula.full((3, 1, 1), 0.25)).flatten()
        tensor([0.5000, 0.5000, 0.5000])
    """

    def __init__(
        self,
        brightness: float | Sequence[float] | None = None,
        contrast: float | Sequence[float] | None = None,
        saturation: float | Sequence[float] | None = None,
        hue: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.brightness = _factors(name, "brightness", brightness)
        self.contrast = _factors(name, "contrast", contrast)
        self.saturation = _factors(name, "saturation", saturation)
        self.hue = _factors(name, "hue", hue, center=0.0, bounds=(-0.5, 0.5))

    @staticmethod
    def get_params(
        brightness: Sequence[float] | None,
        contrast: Sequence[float] | None,
        saturation: Sequence[float] | None,
        hue: Sequence[float] | None,
    ) -> tuple[Tensor, float | None, float | None, float | None, float | None]:
        """Draw the order of the four changes, and the four factors."""
        order = facula.randperm(4)
        b, c, s, h = (
            None if bounds is None else uniform(bounds[0], bounds[1])
            for bounds in (brightness, contrast, saturation, hue)
        )
        return order, b, c, s, h

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        return {"order": [int(idx) for idx in order], "factors": factors}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        changes = (_brightness, _contrast, _saturation, _hue)
        for idx in params["order"]:
            factor = params["factors"][idx]
            if factor is not None:
                inpt = changes[idx](self, inpt, factor)
        return inpt


def _brightness(transform: Transform, inpt: Any, factor: float) -> Any:
    return transform._call_kernel(F.adjust_brightness, inpt, brightness_factor=factor)


def _contrast(transform: Transform, inpt: Any, factor: float) -> Any:
    return transform._call_kernel(F.adjust_contrast, inpt, contrast_factor=factor)


def _saturation(transform: Transform, inpt: Any, factor: float) -> Any:
    return transform._call_kernel(F.adjust_saturation, inpt, saturation_factor=factor)


def _hue(transform: Transform, inpt: Any, factor: float) -> Any:
    return transform._call_kernel(F.adjust_hue, inpt, hue_factor=factor)


class RandomChannelPermutation(Transform):
    """The channels in random order.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomChannelPermutation()(facula.zeros(3, 4, 5)).shape
        torch.Size([3, 4, 5])
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"permutation": facula.randperm(query_chw(flat_inputs)[0]).tolist()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.permute_channels, inpt, **params)


class RandomPhotometricDistort(Transform):
    """Brightness, contrast, saturation, hue and the order of channels, each with a probability.

    As for SSD (arXiv 1512.02325): contrast comes before saturation and hue or after them.

    Args:
        brightness: the least and the most factor.
        contrast: the least and the most factor of contrast.
        saturation: the least and the most factor of saturation.
        hue: the least and the most shift, from -0.5 to 0.5.
        p: the probability of each change.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomPhotometricDistort()(facula.zeros(3, 4, 5)).shape
        torch.Size([3, 4, 5])
    """

    def __init__(
        self,
        brightness: tuple[float, float] = (0.875, 1.125),
        contrast: tuple[float, float] = (0.5, 1.5),
        saturation: tuple[float, float] = (0.5, 1.5),
        hue: tuple[float, float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        super().__init__()
        self.brightness = brightness
        self.contrast = contrast
        self.hue = hue
        self.saturation = saturation
        self.p = p

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        n_channels = query_chw(flat_inputs)[0]
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        factors = [uniform(*bounds) if happens(self.p) else None for bounds in ranges]
        return {
            "factors": factors,
            "contrast_first": happens(0.5),
            "permutation": facula.randperm(n_channels).tolist() if happens(self.p) else None,
        }

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        changes = [_brightness, _contrast, _saturation, _hue]
        steps = list(zip(changes, params["factors"], strict=True))
        if not params["contrast_first"]:
            steps.append(steps.pop(1))
        for change, factor in steps:
            if factor is not None:
                inpt = change(self, inpt, factor)
        if params["permutation"] is not None:
            inpt = self._call_kernel(F.permute_channels, inpt, permutation=params["permutation"])
        return inpt


class RandomInvert(RandomApplyTransform):
    """The negative, with a probability.

    Args:
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomInvert(p=1.0)(facula.full((3, 1, 1), 0.25)).flatten()
        tensor([0.7500, 0.7500, 0.7500])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.invert, inpt)


class RandomPosterize(RandomApplyTransform):
    """Fewer bits for each channel, with a probability.

    Args:
        bits: how many are kept, from 0 to 8.
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> image = facula.full((3, 1, 1), 200, dtype=facula.uint8)
        >>> v2.RandomPosterize(1, p=1.0)(image).flatten()
        tensor([128, 128, 128], dtype=torch.uint8)
    """

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.bits = bits

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.posterize, inpt, bits=self.bits)


class RandomSolarize(RandomApplyTransform):
    """The negative of what is bright, with a probability.

    Args:
        threshold: values from here on are inverted.
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomSolarize(0.5, p=1.0)(facula.tensor([[[0.25, 0.75]]]).expand(3, 1, 2))[0]
        tensor([[0.2500, 0.2500]])
    """

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.threshold = threshold

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.solarize, inpt, threshold=self.threshold)


class RandomAutocontrast(RandomApplyTransform):
    """The darkest value becomes black and the brightest white, with a probability.

    Args:
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomAutocontrast(p=1.0)(facula.tensor([[[0.25, 0.75]]]).expand(3, 1, 2))[0]
        tensor([[0., 1.]])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.autocontrast, inpt)


class RandomEqualize(RandomApplyTransform):
    """All values made about equally frequent, with a probability.

    Args:
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> image = facula.zeros(3, 4, 5, dtype=facula.uint8)
        >>> v2.RandomEqualize(p=1.0)(image).shape
        torch.Size([3, 4, 5])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.equalize, inpt)


class RandomAdjustSharpness(RandomApplyTransform):
    """Sharper or softer, with a probability.

    Args:
        sharpness_factor: 0 for soft, 1 for no change, 2 for twice as sharp.
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomAdjustSharpness(2, p=1.0)(facula.zeros(3, 4, 5)).shape
        torch.Size([3, 4, 5])
    """

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.adjust_sharpness, inpt, sharpness_factor=self.sharpness_factor)

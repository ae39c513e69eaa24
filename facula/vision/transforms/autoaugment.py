"""Version 1 of the transforms that choose others, with the numbers that it draws."""

from __future__ import annotations

from typing import Any, ClassVar

from facula.vision.transforms import v2
from facula.vision.transforms._interpolation import InterpolationMode, as_interpolation
from facula.vision.transforms.transforms import View
from facula.vision.transforms.v2._auto_augment import _AutoAugmentBase
from facula.vision.transforms.v2._utils import randint

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

AutoAugmentPolicy = v2.AutoAugmentPolicy

_NEAREST = InterpolationMode.NEAREST


class _View(View, _AutoAugmentBase):
    # Whatever the dtype.
    _SOLARIZE_FROM: ClassVar[float | None] = 255.0

    def _draw_is_negative(self) -> bool:
        return randint(0, 2) == 1


class AutoAugment(_View, v2.AutoAugment):
    """One of the pairs of changes found best for some data; see ``v2.AutoAugment``."""

    _shown = ("policy", "fill")

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode = _NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(policy, as_interpolation(interpolation), fill)

    def _augment(self, image: Any) -> Any:
        policy_id, draws, signs = self.get_params(len(self._policies))
        for (op, p, bin), draw, sign in zip(self._policies[policy_id], draws, signs, strict=True):
            if draw <= p:
                is_negative = bool(sign == 0)
                magnitude = self._draw_magnitude(op, image, 10, bin=bin, is_negative=is_negative)
                image = self._change(image, op, magnitude)
        return image


class RandAugment(_View, v2.RandAugment):
    """Some changes, drawn from all, of one magnitude; see ``v2.RandAugment``."""

    _shown = ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = _NEAREST,
        fill: Any = None,
    ) -> None:
        mode = as_interpolation(interpolation)
        super().__init__(num_ops, magnitude, num_magnitude_bins, mode, fill)


class TrivialAugmentWide(_View, v2.TrivialAugmentWide):
    """One change, drawn from all, of a random magnitude; see ``v2.TrivialAugmentWide``."""

    _shown = ("num_magnitude_bins", "interpolation", "fill")

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = _NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(num_magnitude_bins, as_interpolation(interpolation), fill)


class AugMix(_View, v2.AugMix):
    """The image mixed with itself after chains of changes; see ``v2.AugMix``."""

    _shown = (
        "severity",
        "mixture_width",
        "chain_depth",
        "alpha",
        "all_ops",
        "interpolation",
        "fill",
    )

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: Any = None,
    ) -> None:
        mode = as_interpolation(interpolation)
        super().__init__(severity, mixture_width, chain_depth, alpha, all_ops, mode, fill)

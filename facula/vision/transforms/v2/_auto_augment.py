"""Transforms that choose others at random: AutoAugment, RandAugment, TrivialAugment, AugMix."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import facula
from facula._core import Tensor
from facula.utils._pytree import tree_flatten, tree_unflatten
from facula.vision import tv_tensors
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._transform import Transform
from facula.vision.transforms.v2._utils import (
    Fill,
    Interpolation,
    check_type,
    draw_dirichlet,
    get_fill,
    has_any,
    is_pure_tensor,
    randint,
    setup_fill,
)
from facula.vision.transforms.v2.functional._type_conversion import is_pil

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]


class AutoAugmentPolicy(Enum):
    """The data for which a policy of :class:`AutoAugment` was found.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.AutoAugmentPolicy.CIFAR10.value
        'cifar10'
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# From the paper: each line two steps, each a name, a probability and, if it has one, a magnitude.
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize 0.4 8, Rotate 0.6 9
        Solarize 0.6 5, AutoContrast 0.6
        Equalize 0.8, Equalize 0.6
        Posterize 0.6 7, Posterize 0.6 6
        Equalize 0.4, Solarize 0.2 4
        Equalize 0.4, Rotate 0.8 8
        Solarize 0.6 3, Equalize 0.6
        Posterize 0.8 5, Equalize 1.0
        Rotate 0.2 3, Solarize 0.6 8
        Equalize 0.6, Posterize 0.4 6
        Rotate 0.8 8, Color 0.4 0
        Rotate 0.4 9, Equalize 0.6
        Equalize 0.0, Equalize 0.8
        Invert 0.6, Equalize 1.0
        Color 0.6 4, Contrast 1.0 8
        Rotate 0.8 8, Color 1.0 2
        Color 0.8 8, Solarize 0.8 7
        Sharpness 0.4 7, Invert 0.6
        ShearX 0.6 5, Equalize 1.0
        Color 0.4 0, Equalize 0.6
        Equalize 0.4, Solarize 0.2 4
        Solarize 0.6 5, AutoContrast 0.6
        Invert 0.6, Equalize 1.0
        Color 0.6 4, Contrast 1.0 8
        Equalize 0.8, Equalize 0.6
    """,
    AutoAugmentPolicy.CIFAR10: """
        Invert 0.1, Contrast 0.2 6
        Rotate 0.7 2, TranslateX 0.3 9
        Sharpness 0.8 1, Sharpness 0.9 3
        ShearY 0.5 8, TranslateY 0.7 9
        AutoContrast 0.5, Equalize 0.9
        ShearY 0.2 7, Posterize 0.3 7
        Color 0.4 3, Brightness 0.6 7
        Sharpness 0.3 9, Brightness 0.7 9
        Equalize 0.6, Equalize 0.5
        Contrast 0.6 7, Sharpness 0.6 5
        Color 0.7 7, TranslateX 0.5 8
        Equalize 0.3, AutoContrast 0.4
        TranslateY 0.4 3, Sharpness 0.2 6
        Brightness 0.9 6, Color 0.2 8
        Solarize 0.5 2, Invert 0.0
        Equalize 0.2, AutoContrast 0.6
        Equalize 0.2, Equalize 0.6
        Color 0.9 9, Equalize 0.6
        AutoContrast 0.8, Solarize 0.2 8
        Brightness 0.1 3, Color 0.7 0
        Solarize 0.4 5, AutoContrast 0.9
        TranslateY 0.9 9, TranslateY 0.7 9
        AutoContrast 0.9, Solarize 0.8 3
        Equalize 0.8, Invert 0.1
        TranslateY 0.7 9, AutoContrast 0.9
    """,
    AutoAugmentPolicy.SVHN: """
        ShearX 0.9 4, Invert 0.2
        ShearY 0.9 8, Invert 0.7
        Equalize 0.6, Solarize 0.6 6
        Invert 0.9, Equalize 0.6
        Equalize 0.6, Rotate 0.9 3
        ShearX 0.9 4, AutoContrast 0.8
        ShearY 0.9 8, Invert 0.4
        ShearY 0.9 5, Solarize 0.2 6
        Invert 0.9, AutoContrast 0.8
        Equalize 0.6, Rotate 0.9 3
        ShearX 0.9 4, Solarize 0.3 3
        ShearY 0.8 8, Invert 0.7
        Equalize 0.9, TranslateY 0.6 6
        Invert 0.9, Equalize 0.6
        Contrast 0.3 3, Rotate 0.8 4
        Invert 0.8, TranslateY 0.0 2
        ShearY 0.7 6, Solarize 0.4 8
        Invert 0.6, Rotate 0.8 4
        ShearY 0.3 7, TranslateX 0.9 3
        ShearX 0.1 6, Invert 0.6
        Solarize 0.7 2, TranslateY 0.6 7
        ShearY 0.8 4, Invert 0.8
        ShearX 0.7 9, TranslateY 0.8 3
        ShearY 0.8 5, AutoContrast 0.7
        ShearX 0.7 2, Invert 0.1
    """,
}
_Policy = list[tuple[str, float, int]]


def _parse(policies: str) -> list[_Policy]:
    return [
        [
            (name, float(p), int(*magnitude))
            for name, p, *magnitude in (step.split() for step in line.split(","))
        ]
        for line in policies.strip().splitlines()
    ]


class _Ranges(NamedTuple):
    """The strongest of each kind of change."""

    shear: float = 0.3
    shift: float = 150.0 / 331.0  # relative to the image, or pixels from 1 on
    degrees: float = 30.0
    factor: float = 0.9
    bits: tuple[int, int] = (8, 4)


_SIGNED = ["ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"]
_FACTORS = ["Brightness", "Color", "Contrast", "Sharpness"]
_OTHERS = ["Posterize", "Solarize", "AutoContrast", "Equalize"]


def _brightest(image: Any) -> float:
    if is_pil(image):
        return 255.0
    return 1.0 if image.is_floating_point() else float(facula.iinfo(image.dtype).max)


class _AutoAugmentBase(Transform):
    _RANGES: ClassVar[_Ranges] = _Ranges()
    _OPS: ClassVar[list[str]] = ["Identity", *_SIGNED, *_FACTORS, *_OTHERS]
    # Where the thresholds of Solarize begin; None: at the largest value of the dtype.
    _SOLARIZE_FROM: ClassVar[float | None] = None

    def __init__(self, *, interpolation: Interpolation = "nearest", fill: Fill = None) -> None:
        super().__init__()
        self.interpolation = interpolation
        self.fill = fill
        self._fill = setup_fill(type(self).__name__, fill)

    def forward(self, *inputs: Any) -> Any:
        name = type(self).__name__
        flat_inputs, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        for kind in (tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints):
            if has_any(flat_inputs, kind):
                raise TypeError(f"{name}: expected an image, got also {kind.__name__}.")
        kinds = (is_pure_tensor, tv_tensors.Image, is_pil, tv_tensors.Video)
        needed = self._needs_transform_list(flat_inputs)
        found = [
            idx for idx, inpt in enumerate(flat_inputs) if needed[idx] and check_type(inpt, kinds)
        ]
        if len(found) != 1:
            raise TypeError(f"{name}: expected one image or video in the sample, got {len(found)}.")
        flat_inputs[found[0]] = self._augment(flat_inputs[found[0]])
        return tree_unflatten(flat_inputs, spec)

    def _augment(self, image: Any) -> Any:
        raise NotImplementedError

    def _draw_is_negative(self) -> bool:
        return bool(facula.rand(()) <= 0.5)

    def _draw_magnitude(
        self,
        op: str,
        image: Any,
        n_bins: int,
        *,
        bin: int | None = None,
        below: int = 0,
        is_negative: bool | None = None,
    ) -> float:
        """The magnitude of a step; its bin, ``below`` some number, and its sign may be given."""
        magnitudes = self._magnitudes(op, n_bins, *F.get_size(image))
        if magnitudes is None:
            return 0.0
        magnitude = float(magnitudes[randint(0, below) if bin is None else bin])
        if op not in _SIGNED and op not in _FACTORS:
            return magnitude
        is_negative = self._draw_is_negative() if is_negative is None else is_negative
        return -magnitude if is_negative else magnitude

    def _magnitudes(self, op: str, n_bins: int, height: int, width: int) -> Tensor | None:
        """All magnitudes of a step; None if it has none."""
        ranges = self._RANGES
        if op == "Posterize":
            start, drop = ranges.bits
            steps = facula.arange(n_bins) / ((n_bins - 1) / drop)
            return (start - steps).round().int()
        if op == "Solarize":
            return facula.linspace(self._SOLARIZE_FROM or 1.0, 0.0, n_bins)
        if op.startswith("Translate"):
            relative_to = (width if op == "TranslateX" else height) if ranges.shift < 1.0 else 1.0
            return facula.linspace(0.0, ranges.shift * relative_to, n_bins)
        if op.startswith("Shear"):
            return facula.linspace(0.0, ranges.shear, n_bins)
        if op == "Rotate":
            return facula.linspace(0.0, ranges.degrees, n_bins)
        if op in _FACTORS:
            return facula.linspace(0.0, ranges.factor, n_bins)
        return None

    def _change(self, image: Any, op: str, magnitude: float) -> Any:
        """One step."""
        warp = {
            "interpolation": self.interpolation,
            "fill": get_fill(self._fill, type(image)),
        }
        if op in ("ShearX", "ShearY"):
            angle = math.degrees(math.atan(magnitude))
            shear = [angle, 0.0] if op == "ShearX" else [0.0, angle]
            # Around the corner: the paper shears with Pillow's transform, which does so.
            return F.affine(
                image, angle=0.0, translate=[0, 0], scale=1.0, shear=shear, center=[0, 0], **warp
            )
        if op in ("TranslateX", "TranslateY"):
            shift = int(magnitude)
            translate = [shift, 0] if op == "TranslateX" else [0, shift]
            return F.affine(
                image, angle=0.0, translate=translate, scale=1.0, shear=[0.0, 0.0], **warp
            )
        if op == "Rotate":
            return F.rotate(image, angle=magnitude, **warp)
        if op in _FACTORS:
            adjust = {
                "Brightness": F.adjust_brightness,
                "Color": F.adjust_saturation,
                "Contrast": F.adjust_contrast,
                "Sharpness": F.adjust_sharpness,
            }[op]
            return adjust(image, 1.0 + magnitude)
        if op == "Posterize":
            return F.posterize(image, bits=int(magnitude))
        if op == "Solarize":
            scale = 1.0 if self._SOLARIZE_FROM else _brightest(image)
            return F.solarize(image, threshold=scale * magnitude)
        if op == "AutoContrast":
            return F.autocontrast(image)
        if op == "Equalize":
            return F.equalize(image)
        return F.invert(image) if op == "Invert" else image


class AutoAugment(_AutoAugmentBase):
    """One of the pairs of changes found best for some data (arXiv 1805.09501).

    Args:
        policy: the data that the policy was found on.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        fill: the value of pixels outside the image, given as for :class:`Pad`.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.AutoAugment()(facula.zeros(3, 8, 8, dtype=facula.uint8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Interpolation = "nearest",
        fill: Fill = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.policy = policy
        if policy not in _POLICIES:
            raise ValueError(f"AutoAugment: expected an AutoAugmentPolicy, got {policy!r}.")
        self._policies = _parse(_POLICIES[policy])

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, Tensor, Tensor]:
        """Draw one of so many policies, and two probabilities and two signs, as version 1 does."""
        policy_id = randint(0, transform_num)
        return policy_id, facula.rand(2), facula.randint(2, (2,))

    def _augment(self, image: Any) -> Any:
        for op, p, bin in self._policies[randint(0, len(self._policies))]:
            if facula.rand(()) <= p:
                magnitude = self._draw_magnitude(op, image, 10, bin=bin)
                image = self._change(image, op, magnitude)
        return image


class RandAugment(_AutoAugmentBase):
    """Some changes, drawn from all, of one magnitude (arXiv 1909.13719).

    Args:
        num_ops: how many changes are made.
        magnitude: how strong, from 0 up to, without, ``num_magnitude_bins``.
        num_magnitude_bins: how many magnitudes there are.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        fill: the value of pixels outside the image, given as for :class:`Pad`.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandAugment()(facula.zeros(3, 8, 8, dtype=facula.uint8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Interpolation = "nearest",
        fill: Fill = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def _augment(self, image: Any) -> Any:
        for _ in range(self.num_ops):
            op = self._OPS[randint(0, len(self._OPS))]
            n_bins = self.num_magnitude_bins
            magnitude = self._draw_magnitude(op, image, n_bins, bin=self.magnitude)
            image = self._change(image, op, magnitude)
        return image


class TrivialAugmentWide(_AutoAugmentBase):
    """One change, drawn from all, of a random magnitude (arXiv 2103.10158).

    Args:
        num_magnitude_bins: how many magnitudes there are.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        fill: the value of pixels outside the image, given as for :class:`Pad`.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.TrivialAugmentWide()(facula.zeros(3, 8, 8, dtype=facula.uint8)).shape
        torch.Size([3, 8, 8])
    """

    _RANGES = _Ranges(shear=0.99, shift=32.0, degrees=135.0, factor=0.99, bits=(8, 6))

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: Interpolation = "nearest",
        fill: Fill = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_magnitude_bins = num_magnitude_bins

    def _augment(self, image: Any) -> Any:
        op = self._OPS[randint(0, len(self._OPS))]
        n_bins = self.num_magnitude_bins
        magnitude = self._draw_magnitude(op, image, n_bins, below=n_bins)
        return self._change(image, op, magnitude)


class AugMix(_AutoAugmentBase):
    """The image mixed with itself after chains of changes (arXiv 1912.02781).

    Args:
        severity: how strong, from 1 to 10.
        mixture_width: how many chains are mixed.
        chain_depth: how many changes in a chain; one to three if not positive.
        alpha: parameter of the Dirichlet distribution that the weights are drawn from.
        all_ops: whether brightness, contrast, colour and sharpness are among the changes.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        fill: the value of pixels outside the image, given as for :class:`Pad`.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.AugMix()(facula.zeros(3, 8, 8, dtype=facula.uint8)).shape
        torch.Size([3, 8, 8])
    """

    _RANGES = _Ranges(shift=1.0 / 3.0, bits=(4, 4))
    _OPS: ClassVar[list[str]] = [*_SIGNED, *_OTHERS, *_FACTORS]

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Interpolation = "bilinear",
        fill: Fill = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        if not 1 <= severity <= 10:
            raise ValueError(f"AugMix: expected a severity from 1 to 10, got {severity}.")
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops

    def _draw_weights(self, n_images: int, n_weights: int) -> Tensor:
        return facula.tensor([draw_dirichlet([self.alpha] * n_weights) for _ in range(n_images)])

    def _draw_chain(self, batch: Tensor) -> Tensor:
        depth = self.chain_depth if self.chain_depth > 0 else randint(1, 4)
        ops = self._OPS if self.all_ops else self._OPS[: -len(_FACTORS)]
        for _ in range(depth):
            op = ops[randint(0, len(ops))]
            magnitude = self._draw_magnitude(op, batch, 10, below=self.severity)
            batch = self._change(batch, op, magnitude)
        return batch

    def _augment(self, image: Any) -> Any:
        tensor = F.pil_to_tensor(image) if is_pil(image) else image.as_subclass(Tensor)
        # The frames of a video share their weights; the images of a batch do not.
        n_dims = 5 if isinstance(image, tv_tensors.Video) else 4
        batch = tensor.reshape([1] * (n_dims - tensor.ndim) + list(tensor.shape))
        n_images, per_image = batch.shape[0], [-1] + [1] * (batch.ndim - 1)
        own = self._draw_weights(n_images, 2).to(batch.device)
        chains = self._draw_weights(n_images, self.mixture_width).to(batch.device) * own[:, 1:]
        mix = own[:, 0].reshape(per_image) * batch
        for idx in range(self.mixture_width):
            mix.add_(chains[:, idx].reshape(per_image) * self._draw_chain(batch))
        mix = mix.reshape(tensor.shape).to(tensor.dtype)
        if is_pil(image):
            return F.to_pil_image(mix)
        return tv_tensors.wrap(mix, like=image)

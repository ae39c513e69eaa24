"""Transforms that resize, crop and pad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import facula
from facula._warnings import warn_user
from facula.vision import tv_tensors
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._transform import Transform
from facula.vision.transforms.v2._utils import (
    Fill,
    Interpolation,
    check_padding_mode,
    check_pair,
    get_fill,
    has_any,
    query_size,
    randint,
    setup_fill,
    setup_padding,
    setup_size,
    uniform,
)

__all__ = [
    "CenterCrop",
    "FiveCrop",
    "Pad",
    "RandomCrop",
    "RandomResizedCrop",
    "Resize",
    "TenCrop",
]


class Resizing(Transform):
    """Transforms that resize to ``params["size"]``."""

    interpolation: Interpolation
    antialias: bool | None

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.resize,
            inpt,
            size=params["size"],
            interpolation=self.interpolation,
            max_size=params.get("max_size"),
            antialias=self.antialias,
        )


class Resize(Resizing):
    """Resize to a size.

    Args:
        size: height and width, or the length of the shorter edge alone, the other in proportion;
            None for the longer edge to become ``max_size``.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        max_size: the longer edge will not be longer than this.
        antialias: whether tensors are filtered as PIL images always are.

    Shape:
        ``(..., C, H, W)`` to ``(..., C, h, w)``.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.Resize(4)(facula.zeros(3, 8, 12)).shape
        torch.Size([3, 4, 6])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: Interpolation = "bilinear",
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if size is None:
            if not isinstance(max_size, int):
                raise ValueError(
                    f"{type(self).__name__}: without a size, max_size must be an int, "
                    f"got {max_size!r}."
                )
        elif isinstance(size, int):
            size = [size]
        elif isinstance(size, Sequence) and not isinstance(size, str) and len(size) in (1, 2):
            size = list(size)
        else:
            raise ValueError(
                f"{type(self).__name__}: expected an int, one or two ints, or None as size, "
                f"got {size!r}."
            )
        self.size: Any = size
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"size": self.size, "max_size": self.max_size}


class CenterCrop(Transform):
    """The middle; what is smaller is padded with 0.

    Args:
        size: height and width, or one number for both.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.CenterCrop(4)(facula.zeros(3, 8, 12)).shape
        torch.Size([3, 4, 4])
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = setup_size(type(self).__name__, size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.center_crop, inpt, output_size=self.size)


@lru_cache
def _log_range(low: float, high: float) -> tuple[float, float]:
    # Through float32, as PyTorch has them.
    log_low, log_high = facula.tensor([low, high]).log().tolist()
    return log_low, log_high


def draw_aspect_ratio(ratio: Sequence[float]) -> float:
    """Width over height, as often below 1 as above."""
    low, high = _log_range(*map(float, ratio))
    return float(facula.empty(1).uniform_(low, high).exp_())


def _draw_resized_crop(
    height: int, width: int, scale: Sequence[float], ratio: Sequence[float]
) -> tuple[int, int, int, int]:
    """Top, left, height and width of a part of an image."""
    for _ in range(10):
        area = height * width * uniform(scale[0], scale[1])
        aspect_ratio = draw_aspect_ratio(ratio)
        w = round(math.sqrt(area * aspect_ratio))
        h = round(math.sqrt(area / aspect_ratio))
        if 0 < w <= width and 0 < h <= height:
            top = randint(0, height - h + 1)
            return top, randint(0, width - w + 1), h, w
    # The image is too long or too high for the ratios: its middle, as large as it can be.
    h, w = height, width
    if width / height < min(ratio):
        h = round(w / min(ratio))
    elif width / height > max(ratio):
        w = round(h * max(ratio))
    return (height - h) // 2, (width - w) // 2, h, w


class RandomResizedCrop(Transform):
    """A part of random area and shape, resized.

    Args:
        size: height and width of the result, or one number for both.
        scale: the smallest and the largest area of the part, relative to the image.
        ratio: the smallest and the largest width over height of the part.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        antialias: whether tensors are filtered as PIL images always are.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomResizedCrop(4)(facula.zeros(3, 8, 12)).shape
        torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.size = setup_size(name, size)
        check_pair(name, "scale", scale)
        check_pair(name, "ratio", ratio)
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warn_user(f"{name}: scale and ratio should be (least, most).")
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation
        self.antialias = antialias

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Draw top, left, height and width of a part of an image."""
        _, height, width = F.get_dimensions(img)
        return _draw_resized_crop(height, width, scale, ratio)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        box = _draw_resized_crop(*query_size(flat_inputs), self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), box, strict=True))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.resized_crop,
            inpt,
            **params,
            size=self.size,
            interpolation=self.interpolation,
            antialias=self.antialias,
        )


class _ManyCrops(Transform):
    """Transforms that make many images of one, and thus know no boxes and no masks."""

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if has_any(flat_inputs, tv_tensors.BoundingBoxes, tv_tensors.Mask):
            raise TypeError(
                f"{type(self).__name__}: expected images only, got bounding boxes or masks."
            )

    def _call_kernel(self, functional: Any, inpt: Any, **kwargs: Any) -> Any:
        if isinstance(inpt, tv_tensors.KeyPoints):
            warn_passing(self, inpt)
        return super()._call_kernel(functional, inpt, **kwargs)


def warn_passing(transform: Transform, inpt: Any) -> None:
    warn_user(
        f"{type(transform).__name__}: an input of type {type(inpt).__name__} passes through.",
    )


class FiveCrop(_ManyCrops):
    """The four corners and the middle, as a tuple of five images.

    Args:
        size: height and width of the crops, or one number for both.

    Example:
        >>> from facula.vision.transforms import v2
        >>> [crop.shape for crop in v2.FiveCrop(4)(facula.zeros(3, 8, 8))][:2]
        [torch.Size([3, 4, 4]), torch.Size([3, 4, 4])]
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = setup_size(type(self).__name__, size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.five_crop, inpt, size=self.size)


class TenCrop(_ManyCrops):
    """The five crops of :class:`FiveCrop`, and those of the flipped image.

    Args:
        size: height and width of the crops, or one number for both.
        vertical_flip: whether the top becomes the bottom, rather than left right.

    Example:
        >>> from facula.vision.transforms import v2
        >>> len(v2.TenCrop(4)(facula.zeros(3, 8, 8)))
        10
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = setup_size(type(self).__name__, size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.ten_crop, inpt, size=self.size, vertical_flip=self.vertical_flip)


class Pad(Transform):
    """Padding on all sides.

    Args:
        padding: how much is added: one number for all sides; or left/right and top/bottom; or left,
            top, right and bottom.
        fill: the value of padding that is constant: a number, or one for each channel, or a dict
            of those by type (``"others"`` for all other types).
        padding_mode: ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.Pad((1, 0), fill=7)(facula.zeros(1, 1, 2))
        tensor([[[7., 0., 0., 7.]]])
    """

    def __init__(
        self, padding: int | Sequence[int], fill: Fill = 0, padding_mode: str = "constant"
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.padding: Any = setup_padding(name, padding)
        self.fill = fill
        self._fill = setup_fill(name, fill)
        self.padding_mode = check_padding_mode(name, padding_mode)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.pad,
            inpt,
            padding=self.padding,
            fill=get_fill(self._fill, type(inpt)),
            padding_mode=self.padding_mode,
        )


def _sides(padding: int | Sequence[int]) -> list[int]:
    """Left, right, top and bottom of a padding."""
    if not isinstance(padding, int) and len(padding) == 4:
        left, top, right, bottom = padding
        return [left, right, top, bottom]
    x, y = (padding, padding) if isinstance(padding, int) else (padding[0], padding[-1])
    return [x, x, y, y]


def _check_crop(name: str, size: tuple[int, int], of: tuple[int, int]) -> None:
    if size[0] > of[0] or size[1] > of[1]:
        raise ValueError(
            f"{name}: the crop {size} is larger than the image {of}, (height, width). "
            "Pass pad_if_needed=True to pad it."
        )


class RandomCrop(Transform):
    """A part of a given size, somewhere.

    Args:
        size: height and width of the part, or one number for both.
        padding: how much is added before the crop, given as for :class:`Pad`; by default nothing.
        pad_if_needed: whether to pad what is smaller than the part, rather than refuse it.
        fill: the value of pixels outside the image, given as for :class:`Pad`.
        padding_mode: what is added, one of the modes of :class:`Pad`.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomCrop(4)(facula.zeros(3, 8, 12)).shape
        torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Fill = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.size = setup_size(name, size)
        self._sides = [0, 0, 0, 0] if padding is None else _sides(setup_padding(name, padding))
        self.padding: Any = None if padding is None else self._sides
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self._fill = setup_fill(name, fill)
        self.padding_mode = check_padding_mode(name, padding_mode)

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Draw top, left, height and width of a part of an image, as version 1 does.

        Unlike in version 2, both are drawn where one of them can only be 0.
        """
        _, height, width = F.get_dimensions(img)
        h, w = output_size
        _check_crop("RandomCrop", output_size, (height, width))
        if (h, w) == (height, width):
            return 0, 0, h, w
        top = randint(0, height - h + 1)
        return top, randint(0, width - w + 1), h, w

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        left, right, top, bottom = self._sides
        if self.pad_if_needed:
            # What is missing is added on both sides: twice as much as would do.
            missing = max(0, self.size[1] - width - left - right)
            left, right = left + missing, right + missing
            missing = max(0, self.size[0] - height - top - bottom)
            top, bottom = top + missing, bottom + missing
        padding = [left, top, right, bottom]
        height, width = height + top + bottom, width + left + right
        _check_crop(type(self).__name__, self.size, (height, width))
        h, w = self.size
        top = randint(0, height - h + 1) if height > h else 0
        left = randint(0, width - w + 1) if width > w else 0
        return {"padding": padding, "corner": (top, left)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if any(params["padding"]):
            fill = get_fill(self._fill, type(inpt))
            inpt = self._call_kernel(
                F.pad, inpt, padding=params["padding"], fill=fill, padding_mode=self.padding_mode
            )
        (top, left), (height, width) = params["corner"], self.size
        return self._call_kernel(F.crop, inpt, top=top, left=left, height=height, width=width)

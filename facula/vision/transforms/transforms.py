"""Version 1 of the transforms: those of :mod:`~facula.vision.transforms.v2` for one image.

They take one PIL image or tensor, draw the numbers that torchvision's version 1 draws, and print
themselves as it does.

Example:
    >>> from facula.vision import transforms as T
    >>> augment = T.Compose([T.RandomCrop(4, padding=1), T.RandomHorizontalFlip()])
    >>> augment(facula.zeros(3, 4, 4)).shape
    torch.Size([3, 4, 4])
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import facula
from facula import nn
from facula._core import Tensor
from facula._warnings import warn_user
from facula.vision.transforms import functional as own_functional
from facula.vision.transforms import v2
from facula.vision.transforms._interpolation import InterpolationMode, as_interpolation
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._utils import check_p, is_number
from facula.vision.transforms.v2.functional._type_conversion import is_pil, scaled_tensor

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "Lambda",
    "LinearTransformation",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSizedCrop",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "Scale",
    "TenCrop",
    "ToPILImage",
    "ToTensor",
]

_BILINEAR = InterpolationMode.BILINEAR
_NEAREST = InterpolationMode.NEAREST


class View(v2.Transform):
    """A transform of version 2 for one image.

    What it draws comes from ``get_params``, which subclasses override.
    """

    # The attributes that are printed.
    _shown: ClassVar[Sequence[str]] = ()

    def forward(self, img: Any) -> Any:
        if not (isinstance(img, Tensor) or is_pil(img)):
            raise TypeError(
                f"{type(self).__name__}: expected a PIL image or a tensor, "
                f"got {type(img).__name__}."
            )
        return super().forward(img)

    def _call_kernel(self, functional: Callable[..., Any], inpt: Any, **kwargs: Any) -> Any:
        own = getattr(own_functional, functional.__name__, None)
        if own is None:
            return super()._call_kernel(functional, inpt, **kwargs)
        return own(inpt, **kwargs)

    def _values(self) -> dict[str, Any]:
        """What is printed."""
        return {name: getattr(self, name) for name in self._shown}

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self._values().items())
        return f"{type(self).__name__}({values})"


class _Resampled(View):
    """One that prints the name of its interpolation."""

    def _values(self) -> dict[str, Any]:
        values = super()._values()
        return values | {"interpolation": as_interpolation(values["interpolation"]).value}


class Compose(v2.Compose):
    """Transforms, or any functions, one after the other; of one image, or of any sample.

    Example:
        >>> from facula.vision import transforms as T
        >>> T.Compose([T.CenterCrop(2), T.Lambda(lambda x: x + 1)])(facula.zeros(1, 4, 4))
        tensor([[[1., 1.],
                 [1., 1.]]])
    """

    def __init__(self, transforms: Iterable[Callable[[Any], Any]]) -> None:
        v2.Transform.__init__(self)
        iter(transforms)  # refuses what is not a sequence; none is allowed here
        self.transforms = transforms

    def __repr__(self) -> str:
        return _lines(self, self.transforms)


def _lines(transform: v2.Transform, parts: Iterable[Any]) -> str:
    lines = "".join(f"\n    {part}" for part in parts)
    return f"{type(transform).__name__}({lines}\n)"


class RandomApply(v2.RandomApply):
    """Transforms one after the other, with a probability; see ``v2.RandomApply``."""

    def __init__(
        self, transforms: Sequence[Callable[[Any], Any]] | nn.ModuleList, p: float = 0.5
    ) -> None:
        v2.Transform.__init__(self)
        iter(transforms)  # refuses what is not a sequence; none is allowed here
        self.transforms = transforms
        self.p = check_p(type(self).__name__, p)

    def __repr__(self) -> str:
        return _lines(self, [f"p={self.p}", *self.transforms])


class _RandomTransforms(v2.Transform):
    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        if not isinstance(transforms, Sequence):
            raise TypeError(
                f"{type(self).__name__}: expected a sequence of transforms, got {transforms!r}."
            )
        self.transforms = transforms

    def __repr__(self) -> str:
        return _lines(self, self.transforms)


class RandomChoice(_RandomTransforms):
    """One of some transforms, chosen with Python's :mod:`random`; see ``v2.RandomChoice``."""

    def __init__(
        self, transforms: Sequence[Callable[..., Any]], p: Sequence[float] | None = None
    ) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError(f"RandomChoice: expected a sequence of weights as p, got {p!r}.")
        self.p = p

    def forward(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"


class RandomOrder(_RandomTransforms):
    """Some transforms in an order drawn with Python's :mod:`random`; see ``v2.RandomOrder``."""

    def forward(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for idx in order:
            img = self.transforms[idx](img)
        return img


class Lambda(v2.Lambda):
    """A function of yours, of the whole sample.

    Example:
        >>> from facula.vision import transforms as T
        >>> T.Lambda(lambda sample: sample["image"])({"image": 3})
        3
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        super().__init__(lambd)

    def forward(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return "Lambda()"


class ToTensor(v2.Transform):
    """A PIL image or array ``(H, W, C)`` as a tensor ``(C, H, W)``; bytes become 0 to 1.

    Example:
        >>> import numpy as np
        >>> from facula.vision import transforms as T
        >>> T.ToTensor()(np.full((1, 2, 1), 51, dtype=np.uint8))
        tensor([[[0.2000, 0.2000]]])
    """

    def forward(self, pic: Any) -> Tensor:
        return scaled_tensor(pic)


class PILToTensor(v2.PILToTensor):
    """A PIL image as a tensor ``(C, H, W)`` of the same values; see ``v2.PILToTensor``."""

    def forward(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)


class ToPILImage(v2.ToPILImage):
    """A tensor ``(C, H, W)`` or array ``(H, W, C)`` as a PIL image; see ``v2.ToPILImage``."""

    def forward(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)


class ConvertImageDtype(View, v2.ConvertImageDtype):
    """Another dtype, and its range of values; see ``v2.ConvertImageDtype``."""

    def __init__(self, dtype: facula.dtype) -> None:
        super().__init__(dtype)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return own_functional.convert_image_dtype(inpt, self.dtype)


class Normalize(View, v2.Normalize):
    """Values less a mean, over a standard deviation, for each channel; see ``v2.Normalize``."""

    _shown = ("mean", "std")

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        v2.Transform.__init__(self)
        self.mean = mean
        self.std = std
        self.inplace = inplace


class Resize(_Resampled, v2.Resize):
    """Resize to a size; see ``v2.Resize``."""

    _shown = ("size", "interpolation", "max_size", "antialias")

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode | int = _BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        if not isinstance(size, (int, Sequence)):
            raise TypeError(
                f"{type(self).__name__}: expected an int, or one or two ints as size, got {size!r}."
            )
        super().__init__(size, as_interpolation(interpolation), max_size, antialias)
        self.size = size


class Scale(Resize):
    """The first name of :class:`Resize`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_user("transforms.Scale: deprecated; use transforms.Resize.")
        super().__init__(*args, **kwargs)


class CenterCrop(View, v2.CenterCrop):
    """The middle; see ``v2.CenterCrop``."""

    _shown = ("size",)


class Pad(View, v2.Pad):
    """Padding on all sides; see ``v2.Pad``."""

    _shown = ("padding", "fill", "padding_mode")

    def __init__(
        self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant"
    ) -> None:
        if not (is_number(padding) or isinstance(padding, (tuple, list))):
            raise TypeError(f"Pad: expected an int or 1, 2 or 4 ints as padding, got {padding!r}.")
        if fill is None:
            raise TypeError("Pad: expected a number or a sequence of numbers as fill, got None.")
        super().__init__(padding, fill, padding_mode)
        self.padding = padding


class RandomCrop(View, v2.RandomCrop):
    """A part of a given size, somewhere; see ``v2.RandomCrop``."""

    _shown = ("size", "padding")

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__(size, padding, pad_if_needed, fill, padding_mode)
        self.padding = padding

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if self.padding is not None:
            inpt = self._pad(inpt, self.padding)
        if self.pad_if_needed:
            # A second step: what is missing mirrors what was padded already.
            _, height, width = F.get_dimensions(inpt)
            missing = [max(0, self.size[1] - width), max(0, self.size[0] - height)]
            inpt = self._pad(inpt, missing) if any(missing) else inpt
        top, left, height, width = self.get_params(inpt, self.size)
        return self._call_kernel(F.crop, inpt, top=top, left=left, height=height, width=width)

    def _pad(self, inpt: Any, padding: int | Sequence[int]) -> Any:
        fill, mode = self._fill["others"], self.padding_mode
        return self._call_kernel(F.pad, inpt, padding=padding, fill=fill, padding_mode=mode)


class RandomResizedCrop(_Resampled, v2.RandomResizedCrop):
    """A part of random area and shape, resized; see ``v2.RandomResizedCrop``."""

    _shown = ("size", "scale", "ratio", "interpolation", "antialias")

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode | int = _BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__(size, scale, ratio, as_interpolation(interpolation), antialias)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        box = self.get_params(flat_inputs[0], self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), box, strict=True))

    def _values(self) -> dict[str, Any]:
        values = super()._values()
        for name in ("scale", "ratio"):
            values[name] = tuple(round(value, 4) for value in values[name])
        return values


class RandomSizedCrop(RandomResizedCrop):
    """The first name of :class:`RandomResizedCrop`.

    Its second argument was once the interpolation: ``RandomSizedCrop(224, Image.BICUBIC)``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_user(
            "transforms.RandomSizedCrop: deprecated; use transforms.RandomResizedCrop.",
        )
        given = list(args)
        if len(given) == 2 and isinstance(given[1], (int, InterpolationMode)):
            kwargs["interpolation"] = given.pop()
        super().__init__(*given, **kwargs)


class FiveCrop(View, v2.FiveCrop):
    """The four corners and the middle; see ``v2.FiveCrop``."""

    _shown = ("size",)


class TenCrop(View, v2.TenCrop):
    """The five crops, and those of the flipped image; see ``v2.TenCrop``."""

    _shown = ("size", "vertical_flip")


class RandomHorizontalFlip(View, v2.RandomHorizontalFlip):
    """Left becomes right, with a probability; see ``v2.RandomHorizontalFlip``."""

    _shown = ("p",)


class RandomVerticalFlip(View, v2.RandomVerticalFlip):
    """The top becomes the bottom, with a probability; see ``v2.RandomVerticalFlip``."""

    _shown = ("p",)


class RandomPerspective(View, v2.RandomPerspective):
    """The image seen from a random point, with a probability; see ``v2.RandomPerspective``."""

    _shown = ("p",)

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode | int = _BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__(distortion_scale, p, as_interpolation(interpolation), fill)


class RandomRotation(_Resampled, v2.RandomRotation):
    """A turn by a random angle, counter-clockwise; see ``v2.RandomRotation``."""

    _shown = ("degrees", "interpolation", "expand", "center", "fill")

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode | int = _NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
    ) -> None:
        super().__init__(degrees, as_interpolation(interpolation), expand, center, fill)

    def _values(self) -> dict[str, Any]:
        values = super()._values()
        if self.center is None:
            del values["center"]
        return values


class RandomAffine(_Resampled, v2.RandomAffine):
    """A random turn, shift, scaling and shear; see ``v2.RandomAffine``."""

    _shown = ("degrees", "translate", "scale", "shear", "interpolation", "fill", "center")

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode | int = _NEAREST,
        fill: Any = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        interpolation = as_interpolation(interpolation)
        super().__init__(degrees, translate, scale, shear, interpolation, fill, center)

    def _values(self) -> dict[str, Any]:
        usual = {"interpolation": "nearest", "fill": 0}
        values = super()._values().items()
        return {name: value for name, value in values if value != usual.get(name)}


class ElasticTransform(View, v2.ElasticTransform):
    """Every pixel moved a little, its neighbours alike; see ``v2.ElasticTransform``."""

    _shown = ("alpha", "sigma", "interpolation", "fill")

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: InterpolationMode | int = _BILINEAR,
        fill: Any = 0,
    ) -> None:
        fill = [float(fill)] if is_number(fill) else [float(value) for value in fill]
        super().__init__(alpha, sigma, as_interpolation(interpolation), fill)
        # Version 1 keeps what is a pair already, type included.
        if isinstance(alpha, Sequence):
            self.alpha = alpha
        if isinstance(sigma, Sequence):
            self.sigma = sigma


class LinearTransformation(View, v2.LinearTransformation):
    """A matrix times the flattened image without a mean; see ``v2.LinearTransformation``."""

    def _values(self) -> dict[str, Any]:
        return {
            "transformation_matrix": self.transformation_matrix.tolist(),
            "mean_vector": self.mean_vector.tolist(),
        }


class GaussianBlur(View, v2.GaussianBlur):
    """Blurred by a Gaussian of random width; see ``v2.GaussianBlur``."""

    _shown = ("kernel_size", "sigma")

    def __init__(
        self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)
    ) -> None:
        super().__init__(kernel_size, sigma)
        self.sigma = (sigma, sigma) if is_number(sigma) else sigma


class RandomErasing(View, v2.RandomErasing):
    """A rectangle overwritten, with a probability; see ``v2.RandomErasing``."""

    _shown = ("p", "scale", "ratio", "value", "inplace")

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p, scale, ratio, value, inplace)
        self.value = value

    def _draw(
        self, flat_inputs: list[Any], size: tuple[int, int, int], value: list[float] | None
    ) -> tuple[int, int, int, int, Tensor] | None:
        drawn = self.get_params(flat_inputs[0], self.scale, self.ratio, value)
        return None if drawn[-1] is flat_inputs[0] else drawn


class Grayscale(View, v2.Grayscale):
    """RGB to shades of grey; see ``v2.Grayscale``."""

    _shown = ("num_output_channels",)


class RandomGrayscale(View, v2.RandomGrayscale):
    """RGB to shades of grey, with a probability; see ``v2.RandomGrayscale``."""

    _shown = ("p",)


class ColorJitter(View, v2.ColorJitter):
    """Brightness, contrast, saturation and hue changed at random; see ``v2.ColorJitter``."""

    _shown = ("brightness", "contrast", "saturation", "hue")

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        super().__init__(brightness, contrast, saturation, hue)


class RandomInvert(View, v2.RandomInvert):
    """The negative, with a probability; see ``v2.RandomInvert``."""

    _shown = ("p",)


class RandomAutocontrast(View, v2.RandomAutocontrast):
    """The whole range of brightness, with a probability; see ``v2.RandomAutocontrast``."""

    _shown = ("p",)


class RandomEqualize(View, v2.RandomEqualize):
    """All values about equally frequent, with a probability; see ``v2.RandomEqualize``."""

    _shown = ("p",)


class RandomPosterize(View, v2.RandomPosterize):
    """Fewer bits for each channel, with a probability; see ``v2.RandomPosterize``."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(bits={self.bits},p={self.p})"


class RandomSolarize(View, v2.RandomSolarize):
    """The negative of what is bright, with a probability; see ``v2.RandomSolarize``."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(threshold={self.threshold},p={self.p})"


class RandomAdjustSharpness(View, v2.RandomAdjustSharpness):
    """Sharper or softer, with a probability; see ``v2.RandomAdjustSharpness``."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sharpness_factor={self.sharpness_factor},p={self.p})"

"""The functions of version 1: those of :mod:`~facula.vision.transforms.v2.functional`, for images.

They take PIL images and tensors, with the arguments and exceptions that they always had.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import facula
from facula._core import Tensor
from facula.vision.transforms._interpolation import (
    InterpolationMode,
    as_interpolation,
    pil_modes_mapping,
)
from facula.vision.transforms.v2 import functional as v2
from facula.vision.transforms.v2.functional._misc import max_value
from facula.vision.transforms.v2.functional._type_conversion import is_pil, scaled_tensor

if TYPE_CHECKING:
    import PIL.Image

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "elastic_transform",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "perspective",
    "pil_modes_mapping",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "solarize",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]

_F = TypeVar("_F", bound=Callable[..., Any])

pil_to_tensor = v2.pil_to_tensor
to_pil_image = v2.to_pil_image


def _documented_as(function: Callable[..., Any]) -> Callable[[_F], _F]:
    """Give a function the docstring of its twin, whose input has another name."""

    def decorate(f: _F) -> _F:
        f.__doc__ = (function.__doc__ or "").replace("inpt: an image or a video", "img: an image")
        f.__doc__ = f.__doc__.replace(
            "inpt: an image, a video, a mask, boxes or key points", "img: an image"
        )
        return f

    return decorate


def _image(name: str, img: Any, n_dims: int = 2) -> Any:
    """A PIL image or a plain tensor of enough dimensions; anything else is refused."""
    if is_pil(img):
        return img
    if not isinstance(img, Tensor):
        raise TypeError(f"{name}: expected a PIL image or a tensor, got {type(img).__name__}.")
    if img.dim() < n_dims:
        raise TypeError(
            f"{name}: expected an image of {n_dims} or more dimensions, got {tuple(img.shape)}."
        )
    return img.as_subclass(Tensor)


def _gray_or_rgb(name: str, img: Any, dtype: facula.dtype | None = None) -> Any:
    img = _image(name, img, n_dims=3)
    if isinstance(img, Tensor):
        if img.shape[-3] not in (1, 3):
            raise TypeError(f"{name}: expected 1 or 3 channels, got an image {tuple(img.shape)}.")
        if dtype is not None and img.dtype != dtype:
            raise TypeError(f"{name}: expected a {dtype} image, got {img.dtype}.")
    return img


def _on_channels(function: Callable[..., Any], img: Any, *args: Any, **kwargs: Any) -> Any:
    """A function that needs a dimension of channels, of an image that may have none."""
    if isinstance(img, Tensor) and img.dim() == 2:
        return function(img.unsqueeze(0), *args, **kwargs).squeeze(0)
    return function(img, *args, **kwargs)


def _interpolation(name: str, mode: Any) -> InterpolationMode:
    if not isinstance(mode, (InterpolationMode, int)):
        raise TypeError(
            f"{name}: expected an InterpolationMode or Pillow's number for it, got {mode!r}."
        )
    return as_interpolation(mode)


def to_tensor(pic: PIL.Image.Image | Any) -> Tensor:
    """A PIL image or NumPy array ``(H, W, C)`` as a tensor ``(C, H, W)``; bytes become 0 to 1.

    Args:
        pic: the image.

    Shape:
        result ``(C, H, W)``.

    Example:
        >>> import PIL.Image
        >>> from facula.vision.transforms import functional as F
        >>> F.to_tensor(PIL.Image.new("L", (2, 1), 51))
        tensor([[[0.2000, 0.2000]]])
    """
    return scaled_tensor(pic)


@_documented_as(v2.convert_image_dtype)
def convert_image_dtype(image: Tensor, dtype: facula.dtype = facula.float32) -> Tensor:
    if not isinstance(image, Tensor):
        raise TypeError(f"convert_image_dtype: expected a tensor, got {type(image).__name__}.")
    image = image.as_subclass(Tensor)
    if dtype.is_floating_point and not image.is_floating_point():
        return image.to(dtype).div_(max_value(image.dtype))
    if image.dtype == facula.bool and dtype != facula.bool:
        return image.to(dtype).mul_((max_value(dtype) + 1) // 2)
    return v2.to_dtype(image, dtype, scale=True)  # type: ignore[no-any-return]


@_documented_as(v2.normalize)
def normalize(
    tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"normalize: expected a tensor, got {type(tensor).__name__}. "
            "(img should be Tensor Image)"
        )
    result = v2.normalize_image(tensor.as_subclass(Tensor), mean, std, inplace)
    if result.shape != tensor.shape:
        raise RuntimeError(
            f"normalize: expected a mean and a std for 1 channel or for each, got {mean} and {std} "
            f"for an image {tuple(tensor.shape)}."
        )
    return result


@_documented_as(v2.get_dimensions)
def get_dimensions(img: Any) -> list[int]:
    return v2.get_dimensions(_image("get_dimensions", img))


def get_image_size(img: Any) -> list[int]:
    """Width and height of an image.

    Example:
        >>> from facula.vision.transforms import functional as F
        >>> F.get_image_size(facula.zeros(3, 4, 5))
        [5, 4]
    """
    return v2.get_size(_image("get_image_size", img))[::-1]


@_documented_as(v2.get_num_channels)
def get_image_num_channels(img: Any) -> int:
    return v2.get_num_channels(_image("get_image_num_channels", img))


@_documented_as(v2.resize)
def resize(
    img: Any,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    mode = _interpolation("resize", interpolation)
    img = _image("resize", img)
    if size is None or (isinstance(size, (list, tuple)) and len(size) not in (1, 2)):
        raise ValueError(f"resize: size is an int or a sequence of one or two, got {size!r}.")
    is_smooth = mode in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
    if not isinstance(img, Tensor):
        return v2.resize(img, size, mode, max_size)
    if mode == InterpolationMode.LANCZOS:
        raise ValueError("resize: lanczos is for PIL images, and for tensors in version 2.")
    if not (is_smooth and img.dtype == facula.uint8):
        return v2.resize(img, size, mode, max_size, antialias)
    # Computed in floating point, which rounds once; bytes are resized in steps in version 2.
    resized = v2.resize(img.to(facula.float32), size, mode, max_size, antialias)
    return img if resized.shape == img.shape else resized.round_().clamp_(0, 255).to(img.dtype)


@_documented_as(v2.pad)
def pad(
    img: Any,
    padding: int | Sequence[int],
    fill: float | Sequence[float] = 0,
    padding_mode: str = "constant",
) -> Any:
    img = _image("pad", img)
    if isinstance(img, Tensor) and fill is not None and not isinstance(fill, numbers.Number):
        raise TypeError(f"pad: for tensors fill is a number, got {fill!r}.")
    return _on_channels(v2.pad, img, padding, fill, padding_mode)


@_documented_as(v2.crop)
def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    return v2.crop(_image("crop", img), top, left, height, width)


@_documented_as(v2.center_crop)
def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    return v2.center_crop(_image("center_crop", img), output_size)


@_documented_as(v2.resized_crop)
def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    img = crop(img, top, left, height, width)
    return resize(img, size, interpolation, antialias=antialias)


@_documented_as(v2.hflip)
def hflip(img: Any) -> Any:
    return v2.hflip(_image("hflip", img))


@_documented_as(v2.vflip)
def vflip(img: Any) -> Any:
    return v2.vflip(_image("vflip", img))


@_documented_as(v2.five_crop)
def five_crop(img: Any, size: int | Sequence[int]) -> tuple[Any, ...]:
    return v2.five_crop(_image("five_crop", img), size)


@_documented_as(v2.ten_crop)
def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    return v2.ten_crop(_image("ten_crop", img), size, vertical_flip)


@_documented_as(v2.perspective)
def perspective(
    img: Any,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    if startpoints is None or endpoints is None:
        raise TypeError("perspective: startpoints and endpoints are sequences of points, got None.")
    mode = _interpolation("perspective", interpolation)
    return v2.perspective(_image("perspective", img), startpoints, endpoints, mode, fill)


@_documented_as(v2.rotate)
def rotate(
    img: Any,
    angle: float,
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Any:
    mode = _interpolation("rotate", interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError(f"rotate: angle is a number, got {angle!r}.")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError(f"rotate: center is a sequence of two numbers, got {center!r}.")
    return v2.rotate(_image("rotate", img), angle, mode, expand, center, fill)


@_documented_as(v2.affine)
def affine(
    img: Any,
    angle: float,
    translate: Sequence[int],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[int] | None = None,
) -> Any:
    mode = _interpolation("affine", interpolation)
    img = _image("affine", img)
    return v2.affine(img, angle, translate, scale, shear, mode, fill, center)  # type: ignore[arg-type]


@_documented_as(v2.elastic)
def elastic_transform(
    img: Any,
    displacement: Tensor,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    return v2.elastic(_image("elastic_transform", img), displacement, interpolation, fill)


@_documented_as(v2.adjust_brightness)
def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    img = _image("adjust_brightness", img)
    return _on_channels(v2.adjust_brightness, img, brightness_factor)


@_documented_as(v2.adjust_contrast)
def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    img = _image("adjust_contrast", img, n_dims=3)
    return v2.adjust_contrast(img, contrast_factor)


@_documented_as(v2.adjust_saturation)
def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    img = _image("adjust_saturation", img)
    return _on_channels(v2.adjust_saturation, img, saturation_factor)


@_documented_as(v2.adjust_hue)
def adjust_hue(img: Any, hue_factor: float) -> Any:
    return _on_channels(v2.adjust_hue, _image("adjust_hue", img), hue_factor)


@_documented_as(v2.adjust_gamma)
def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    return v2.adjust_gamma(_gray_or_rgb("adjust_gamma", img), gamma, gain)


@_documented_as(v2.adjust_sharpness)
def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    return v2.adjust_sharpness(_image("adjust_sharpness", img, n_dims=3), sharpness_factor)


@_documented_as(v2.posterize)
def posterize(img: Any, bits: int) -> Any:
    if not 0 <= bits <= 8:
        raise ValueError(f"posterize: bits is from 0 to 8, got {bits}.")
    return v2.posterize(_gray_or_rgb("posterize", img, facula.uint8), bits)


@_documented_as(v2.solarize)
def solarize(img: Any, threshold: float) -> Any:
    return v2.solarize(_gray_or_rgb("solarize", img), threshold)


@_documented_as(v2.invert)
def invert(img: Any) -> Any:
    return v2.invert(_gray_or_rgb("invert", img))


@_documented_as(v2.autocontrast)
def autocontrast(img: Any) -> Any:
    return v2.autocontrast(_gray_or_rgb("autocontrast", img))


@_documented_as(v2.equalize)
def equalize(img: Any) -> Any:
    return v2.equalize(_gray_or_rgb("equalize", img, facula.uint8))


def to_grayscale(img: PIL.Image.Image, num_output_channels: int = 1) -> Any:
    """A grey PIL image; :func:`rgb_to_grayscale` also takes tensors.

    Args:
        img: the image.
        num_output_channels: 1, or 3 for equal red, green and blue.

    Example:
        >>> import PIL.Image
        >>> from facula.vision.transforms import functional as F
        >>> F.to_grayscale(PIL.Image.new("RGB", (5, 4))).mode
        'L'
    """
    if not is_pil(img):
        raise TypeError(f"to_grayscale: expected a PIL image, got {type(img).__name__}.")
    return v2.rgb_to_grayscale(img, num_output_channels)


@_documented_as(v2.rgb_to_grayscale)
def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    img = _gray_or_rgb("rgb_to_grayscale", img)
    if isinstance(img, Tensor) and img.shape[-3] == 1 and num_output_channels == 3:
        return img.clone()  # As it always was: a grey tensor stays one.
    return v2.rgb_to_grayscale(img, num_output_channels)


@_documented_as(v2.erase)
def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    if not isinstance(img, Tensor):
        raise TypeError(f"erase: expected a tensor, got {type(img).__name__}.")
    return v2.erase_image(img.as_subclass(Tensor), i, j, h, w, v, inplace)


@_documented_as(v2.gaussian_blur)
def gaussian_blur(
    img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    if not isinstance(kernel_size, (int, list, tuple)):
        raise TypeError(f"gaussian_blur: kernel_size is an int or two, got {kernel_size!r}.")
    return v2.gaussian_blur(_image("gaussian_blur", img), kernel_size, sigma)

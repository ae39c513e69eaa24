"""Images as tensors, as PIL images and as arrays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import facula
from facula._core import Tensor
from facula._warnings import warn_user
from facula.vision._imports import optional
from facula.vision.tv_tensors import Image, TVTensor

if TYPE_CHECKING:
    import PIL.Image

# The dtype of one channel of an image in these modes; of all others bytes.
_DTYPE_OF_MODE = {"I": facula.int32, "I;16": facula.int16, "F": facula.float32}


def is_pil(obj: Any) -> bool:
    """Whether something is a PIL image; Pillow is not imported to see that."""
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(obj, pil.Image)


def is_array(obj: Any) -> bool:
    """Whether something is a NumPy array; NumPy is not imported to see that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, numpy.ndarray)


def is_pure_tensor(inpt: Any) -> bool:
    """Whether something is a tensor, but not of the types of :mod:`facula.vision.tv_tensors`.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.is_pure_tensor(facula.zeros(3, 4, 5))
        True
    """
    return isinstance(inpt, Tensor) and not isinstance(inpt, TVTensor)


def pixels(image: PIL.Image.Image) -> Tensor:
    """The pixels of an image as ``(C, H, W)``, a view of memory in their order in the image."""
    if image.mode == "1":
        image = image.convert("L")
    dtype = _DTYPE_OF_MODE.get(image.mode, facula.uint8)
    shape = image.height, image.width, len(image.getbands())
    if 0 in shape:
        return facula.empty(shape, dtype=dtype).permute(2, 0, 1)
    return facula.frombuffer(bytearray(image.tobytes()), dtype=dtype).view(shape).permute(2, 0, 1)


def from_pixels(channels: Tensor, mode: str) -> Any:
    """An image of some mode with the values of a tensor ``(C, H, W)``."""
    image = optional("PIL.Image")
    size = channels.shape[2], channels.shape[1]
    if 0 in size:
        return image.new(mode, size)
    in_order = channels.permute(1, 2, 0)
    if in_order.is_contiguous():
        if mode == "1":
            return image.frombytes("L", size, bytes(memoryview(in_order))).convert("1")
        return image.frombytes(mode, size, bytes(memoryview(in_order)))
    # Pillow puts channels together faster than a copy into their order.
    bands = (memoryview(channel.contiguous()) for channel in channels.unbind(0))
    parts = [image.frombuffer("L", size, band, "raw", "L", 0, 1) for band in bands]
    return image.merge(mode, parts)


def pil_to_tensor(pic: Any) -> Tensor:
    """A PIL image as a tensor of the same values; those of 16 bits become int32.

    Args:
        pic: the image.

    Shape:
        result ``(C, H, W)``.

    Example:
        >>> import PIL.Image
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.pil_to_tensor(PIL.Image.new("RGB", (5, 4))).shape
        torch.Size([3, 4, 5])
    """
    if not is_pil(pic):
        raise TypeError(f"pil_to_tensor: expected a PIL image, got {type(pic).__name__}.")
    values = pixels(pic)
    if pic.mode == "1":
        return values.to(facula.bool)
    return values.view(facula.uint16) if pic.mode == "I;16" else values


def to_image(inpt: Any) -> Image:
    """A tensor, PIL image or NumPy array ``(H, W, C)`` as an image; values are kept.

    Args:
        inpt: the image.

    Shape:
        result ``(..., C, H, W)``.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.to_image(facula.zeros(3, 4, 5)).shape
        torch.Size([3, 4, 5])
    """
    if is_array(inpt):
        output = (
            facula.from_numpy(inpt[:, :, None] if inpt.ndim == 2 else inpt)
            .permute(2, 0, 1)
            .contiguous()
        )
    elif is_pil(inpt):
        output = pil_to_tensor(inpt)
    elif isinstance(inpt, Tensor):
        output = inpt
    else:
        raise TypeError(
            f"to_image: expected a tensor, a PIL image or a NumPy array, got {type(inpt).__name__}."
        )
    image: Image = Image(output)
    return image


def to_tensor(inpt: Any) -> Tensor:
    """A PIL image or NumPy array ``(H, W, C)`` as a tensor ``(C, H, W)``; bytes become 0 to 1.

    Deprecated: use ``to_dtype(to_image(inpt), facula.float32, scale=True)``.

    Args:
        inpt: the image.

    Shape:
        result ``(C, H, W)``.

    Example:
        >>> import numpy as np
        >>> from facula.vision.transforms import functional as F
        >>> F.to_tensor(np.full((1, 2, 1), 51, dtype=np.uint8))
        tensor([[[0.2000, 0.2000]]])
    """
    warn_user(
        "to_tensor: deprecated; use to_dtype(to_image(inpt), facula.float32, scale=True). The "
        "result is the same up to rounding.",
    )
    return scaled_tensor(inpt)


def scaled_tensor(pic: Any) -> Tensor:
    """What ``to_tensor`` of version 1 does."""
    if is_array(pic):
        if pic.ndim not in (2, 3):
            raise ValueError(
                f"to_tensor: expected an array of 2 or 3 dimensions, got {pic.ndim} dimensions."
            )
        channels = facula.from_numpy(pic[:, :, None] if pic.ndim == 2 else pic).permute(2, 0, 1)
    elif is_pil(pic):
        channels = pixels(pic)
    else:
        raise TypeError(
            f"to_tensor: expected a PIL image or a NumPy array, got {type(pic).__name__}. "
            "(pic should be PIL Image or ndarray)"
        )
    channels = channels.contiguous()
    if channels.dtype != facula.uint8:
        return channels
    return channels.to(facula.get_default_dtype()).div_(255)


# The modes that may be asked for, by the number of channels; the first is the default.
_MODES = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}
_MODE_OF_DTYPE = {facula.uint8: "L", facula.int16: "I;16", facula.int32: "I", facula.float32: "F"}


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor ``(C, H, W)`` or NumPy array ``(H, W, C)`` as a PIL image.

    Floating-point values of a tensor from 0 to 1 become bytes.

    Args:
        pic: the image, of 1 to 4 channels, or ``(H, W)``.
        mode: the mode of the PIL image; by default as channels and dtype say.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.to_pil_image(facula.ones(3, 4, 5)).getpixel((0, 0))
        (255, 255, 255)
    """
    if is_array(pic):
        channels = facula.from_numpy(pic[:, :, None] if pic.ndim == 2 else pic)
        channels = channels.movedim(-1, 0) if channels.dim() == 3 else channels
    elif isinstance(pic, Tensor):
        channels = pic.as_subclass(Tensor).detach().cpu()
        channels = channels.unsqueeze(0) if channels.dim() == 2 else channels
    else:
        raise TypeError(
            f"to_pil_image: expected a tensor or a NumPy array, got {type(pic).__name__}."
        )
    if channels.dim() != 3:
        raise ValueError(
            f"to_pil_image: expected an image of 2 or 3 dimensions, got {tuple(pic.shape)}."
        )
    n_channels = channels.shape[0]
    if not 1 <= n_channels <= 4:
        raise ValueError(
            f"to_pil_image: expected 1 to 4 channels, got {n_channels} of shape {tuple(pic.shape)}."
        )
    if channels.is_floating_point() and mode != "F":
        channels = channels.mul(255).to(facula.uint8)
    dtype = channels.dtype
    modes = _MODES.get(n_channels) or [_MODE_OF_DTYPE[dtype]] if dtype in _MODE_OF_DTYPE else []
    if mode is not None and mode not in modes and modes:
        raise ValueError(
            f"to_pil_image: expected one of the modes {list(modes)} for {n_channels} channels of "
            f"{dtype}, got {mode!r}."
        )
    if not modes or (n_channels > 1 and dtype != facula.uint8):
        raise TypeError(
            f"to_pil_image: no PIL image has {n_channels} channels of {dtype}. Convert them to "
            "uint8."
        )
    return from_pixels(channels, mode or modes[0])

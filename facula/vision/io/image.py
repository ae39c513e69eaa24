"""Images in files and in memory, read and written with Pillow."""

from __future__ import annotations

from enum import Enum
from io import BytesIO
from typing import Any

import facula
from facula._core import Tensor
from facula.vision._imports import optional
from facula.vision.transforms.v2.functional._type_conversion import (
    from_pixels,
    pil_to_tensor,
    pixels,
)

__all__ = [
    "ImageReadMode",
    "decode_avif",
    "decode_gif",
    "decode_heic",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]


class ImageReadMode(Enum):
    """What an image is converted to as it is read.

    ``UNCHANGED`` keeps the channels of the file; of a palette they are the numbers, as masks need.

    Example:
        >>> from facula.vision import io
        >>> io.ImageReadMode.RGB.value
        3
    """

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_PIL_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}
_ALPHA = (ImageReadMode.GRAY_ALPHA, ImageReadMode.RGB_ALPHA)


def read_file(path: str) -> Tensor:
    """The bytes of a file.

    Args:
        path: where the file is.

    Shape:
        result ``(n_bytes,)``, uint8.

    Example:
        >>> import tempfile
        >>> from facula.vision import io
        >>> path = tempfile.mkdtemp() + "/image"
        >>> io.write_file(path, facula.tensor([1, 2, 3], dtype=facula.uint8))
        >>> io.read_file(path)
        tensor([1, 2, 3], dtype=torch.uint8)
    """
    try:
        with open(path, "rb") as file:
            data = bytearray(file.read())
    except OSError as error:
        raise RuntimeError(f"read_file: {error}") from error
    if not data:
        return facula.empty(0, dtype=facula.uint8)
    return facula.frombuffer(data, dtype=facula.uint8)


def write_file(filename: str, data: Tensor) -> None:
    """Write bytes to a file.

    Args:
        filename: the path of the file.
        data: one dimension, uint8.

    Example:
        >>> import tempfile
        >>> from facula.vision import io
        >>> path = tempfile.mkdtemp() + "/image"
        >>> io.write_file(path, facula.tensor([1, 2, 3], dtype=facula.uint8))
    """
    _check_bytes("write_file", data)
    try:
        with open(filename, "wb") as file:
            file.write(memoryview(data.contiguous()))
    except OSError as error:
        raise RuntimeError(f"write_file: {error}") from error


def _check_bytes(name: str, data: Any) -> None:
    if not isinstance(data, Tensor):
        raise RuntimeError(f"{name}: expected a tensor, got {type(data).__name__}.")
    if data.dtype != facula.uint8 or data.dim() != 1:
        raise RuntimeError(
            f"{name}: expected one dimension of uint8, got {data.dtype} {tuple(data.shape)}."
        )


def _mode(mode: Any) -> ImageReadMode:
    if isinstance(mode, str):
        return ImageReadMode[mode.upper()]
    if not isinstance(mode, ImageReadMode):
        raise AttributeError(f"decode_image: mode is an ImageReadMode or its name, got {mode!r}.")
    return mode


def _to_tensor(name: str, image: Any, mode: ImageReadMode) -> Tensor:
    """One frame, its pixels converted."""
    if mode in _ALPHA and image.format == "JPEG":
        raise RuntimeError(f"{name}: a JPEG has no alpha channel, got mode {mode.name}.")
    if image.mode in ("I;16", "I;16B", "I"):
        values = pil_to_tensor(image.convert("I"))
        n_colors = 3 if mode in (mode.RGB, mode.RGB_ALPHA) else 1
        alpha = [facula.full_like(values, 65535)] if mode in _ALPHA else []
        return facula.cat([values] * n_colors + alpha)
    if mode == ImageReadMode.UNCHANGED:
        if image.mode == "CMYK":
            return 255 - pixels(image)  # As in the file: Pillow inverts what printers need.
    elif image.mode != _PIL_MODES[mode]:
        image = image.convert(_PIL_MODES[mode])
    return pixels(image)


def _decode(
    name: str,
    input: Tensor,
    mode: ImageReadMode,
    apply_exif_orientation: bool = False,
    formats: tuple[str, ...] | None = None,
    source: str = "the data",
) -> Tensor:
    _check_bytes(name, input)
    if input.numel() == 0:
        raise RuntimeError(f"{name}: {source} is empty.")
    pil, ops = optional("PIL.Image"), optional("PIL.ImageOps")
    try:
        with pil.open(BytesIO(memoryview(input.contiguous())), formats=formats) as image:
            if image.format == "GIF":
                return _frames(name, image)
            if mode == ImageReadMode.GRAY and image.format == "JPEG":
                image.draft("L", image.size)  # The file has brightness as a channel of its own.
            image.load()
            kind = image.format
            if apply_exif_orientation:
                image = ops.exif_transpose(image)
                image.format = kind
            return _to_tensor(name, image, mode).contiguous()
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        expected = f"an image of format {' or '.join(formats)}" if formats else "an image"
        raise RuntimeError(f"{name}: {source} is not {expected}, or is cut off: {error}") from error


def _frames(name: str, image: Any) -> Tensor:
    frames = []
    for index in range(image.n_frames):
        image.seek(index)
        frames.append(_to_tensor(name, image, ImageReadMode.RGB).contiguous())
    return frames[0] if len(frames) == 1 else facula.stack(frames)


def decode_image(
    input: Tensor | str,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """An image from its bytes or file: PNG, JPEG, GIF, WEBP and what else Pillow reads.

    Args:
        input: the bytes, one dimension of uint8, or the path of the file.
        mode: what the image is converted to.
        apply_exif_orientation: whether the image is turned as its EXIF data says.

    Shape:
        result ``(C, H, W)``, uint8, or int32 for 16 bits; ``(N, 3, H, W)`` for N frames of a GIF.

    Example:
        >>> from facula.vision import io
        >>> data = io.encode_png(facula.zeros(3, 4, 5, dtype=facula.uint8))
        >>> io.decode_image(data, mode="GRAY").shape
        torch.Size([1, 4, 5])
    """
    if isinstance(input, Tensor):
        return _decode("decode_image", input, _mode(mode), apply_exif_orientation)
    path = str(input)
    data = read_file(path)
    return _decode("decode_image", data, _mode(mode), apply_exif_orientation, source=repr(path))


def read_image(
    path: str,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """An image from a file; :func:`decode_image` with a path.

    Args:
        path: where the file is.
        mode: what the image is converted to.
        apply_exif_orientation: whether the image is turned as its EXIF data says.

    Shape:
        result ``(C, H, W)``, uint8.

    Example:
        >>> import tempfile
        >>> from facula.vision import io
        >>> path = tempfile.mkdtemp() + "/image"
        >>> io.write_png(facula.zeros(3, 4, 5, dtype=facula.uint8), path)
        >>> io.read_image(path).shape
        torch.Size([3, 4, 5])
    """
    data = read_file(path)
    source = repr(str(path))
    return _decode("read_image", data, _mode(mode), apply_exif_orientation, source=source)


def decode_png(
    input: Tensor,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """An image from the bytes of a PNG file: see :func:`decode_image`.

    Example:
        >>> from facula.vision import io
        >>> io.decode_png(io.encode_png(facula.zeros(1, 4, 5, dtype=facula.uint8))).shape
        torch.Size([1, 4, 5])
    """
    return _decode("decode_png", input, _mode(mode), apply_exif_orientation, ("PNG",))


def decode_jpeg(
    input: Tensor | list[Tensor],
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    device: Any = "cpu",
    apply_exif_orientation: bool = False,
) -> Any:
    """An image from the bytes of a JPEG file, or a list of them: see :func:`decode_image`.

    Args:
        input: the bytes, one dimension of uint8, or a list of such.
        mode: what the image is converted to.
        device: where the result lives.
        apply_exif_orientation: whether the image is turned as its EXIF data says.

    Example:
        >>> from facula.vision import io
        >>> io.decode_jpeg(io.encode_jpeg(facula.zeros(3, 4, 5, dtype=facula.uint8))).shape
        torch.Size([3, 4, 5])
    """
    if isinstance(input, list):
        return [decode_jpeg(data, mode, device, apply_exif_orientation) for data in input]
    image = _decode("decode_jpeg", input, _mode(mode), apply_exif_orientation, ("JPEG",))
    return image.to(device)


def decode_gif(input: Tensor) -> Tensor:
    """The frames of a GIF from its bytes.

    Args:
        input: the bytes, one dimension of uint8.

    Shape:
        result ``(N, 3, H, W)``, or ``(3, H, W)`` for one frame, uint8.
    """
    return _decode("decode_gif", input, ImageReadMode.RGB, formats=("GIF",))


def decode_webp(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """An image from the bytes of a WEBP file: see :func:`decode_image`."""
    return _decode("decode_webp", input, _mode(mode), formats=("WEBP",))


def decode_avif(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """An image from the bytes of an AVIF file: see :func:`decode_image`."""
    return _decode("decode_avif", input, _mode(mode), formats=("AVIF",))


def decode_heic(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """An image from the bytes of a HEIC file: see :func:`decode_image`.

    Pillow reads them with a plugin: ``pip install pillow-heif``.
    """
    try:
        optional("pillow_heif").register_heif_opener()
    except ImportError as error:
        raise RuntimeError(
            "decode_heic: Pillow reads HEIC with a plugin. Install it with pip install pillow-heif."
        ) from error
    return _decode("decode_heic", input, _mode(mode), formats=("HEIF",))


def _encode(name: str, input: Tensor, **options: Any) -> Tensor:
    if input.dtype != facula.uint8 or input.dim() != 3 or input.shape[0] not in (1, 3):
        raise RuntimeError(
            f"{name}: expected a uint8 image (C, H, W) of 1 or 3 channels, got {input.dtype} "
            f"{tuple(input.shape)}."
        )
    mode = "L" if input.shape[0] == 1 else "RGB"
    buffer = BytesIO()
    from_pixels(input.as_subclass(Tensor).cpu(), mode).save(buffer, **options)
    return facula.frombuffer(bytearray(buffer.getbuffer()), dtype=facula.uint8)


def encode_jpeg(input: Tensor | list[Tensor], quality: int = 75) -> Any:
    """The bytes of a JPEG file of an image, or of each of a list.

    Args:
        input: ``(C, H, W)`` of 1 or 3 channels, uint8, or a list of such.
        quality: how good the image stays, from 1 to 100.

    Example:
        >>> from facula.vision import io
        >>> io.encode_jpeg(facula.zeros(3, 4, 5, dtype=facula.uint8))[:2]
        tensor([255, 216], dtype=torch.uint8)
    """
    if not 1 <= quality <= 100:
        raise ValueError(f"encode_jpeg: quality is from 1 to 100, got {quality}.")
    if isinstance(input, list):
        return [encode_jpeg(image, quality) for image in input]
    return _encode("encode_jpeg", input, format="JPEG", quality=quality)


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """The bytes of a PNG file of an image.

    Args:
        input: ``(C, H, W)`` of 1 or 3 channels, uint8.
        compression_level: how much to compress, from 0, fast, to 9, small.

    Example:
        >>> from facula.vision import io
        >>> io.encode_png(facula.zeros(3, 4, 5, dtype=facula.uint8))[1:4]
        tensor([80, 78, 71], dtype=torch.uint8)
    """
    if not 0 <= compression_level <= 9:
        raise RuntimeError(
            f"encode_png: compression_level is from 0 to 9, got {compression_level}."
        )
    return _encode("encode_png", input, format="PNG", compress_level=compression_level)


def write_jpeg(input: Tensor, filename: str, quality: int = 75) -> None:
    """Write an image as a JPEG file: :func:`encode_jpeg` to a path.

    Example:
        >>> import tempfile
        >>> from facula.vision import io
        >>> path = tempfile.mkdtemp() + "/image"
        >>> io.write_jpeg(facula.zeros(3, 4, 5, dtype=facula.uint8), path)
    """
    write_file(filename, encode_jpeg(input, quality))


def write_png(input: Tensor, filename: str, compression_level: int = 6) -> None:
    """Write an image as a PNG file: :func:`encode_png` to a path.

    Example:
        >>> import tempfile
        >>> from facula.vision import io
        >>> path = tempfile.mkdtemp() + "/image"
        >>> io.write_png(facula.zeros(3, 4, 5, dtype=facula.uint8), path)
    """
    write_file(filename, encode_png(input, compression_level))

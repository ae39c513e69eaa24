"""Files with numbers for each pixel: flows of ``.flo``, maps of ``.pfm``, PNG files of 16 bits."""

from __future__ import annotations

import math
import os
from typing import Any, BinaryIO

from facula.vision._imports import optional
from facula.vision.datasets.utils import check_length, read_image

# The number 202021.25 as float32, little-endian.
_FLO_MAGIC = b"PIEH"
_PFM_CHANNELS = {b"Pf": 1, b"PF": 3}


def read_flo(path: str) -> Any:
    """The flow of a ``.flo`` file: an array ``(2, H, W)``, float32."""
    with open(path, "rb") as file:
        if file.read(4) != _FLO_MAGIC:
            raise ValueError(f"{path!r} is no .flo file: it does not begin with {_FLO_MAGIC!r}.")
        head = file.read(8)
        width, height = (int.from_bytes(part, "little") for part in (head[:4], head[4:]))
        return _floats(file, path, (height, width, 2), "<f4").transpose(2, 0, 1)


def read_pfm(path: str, n_channels: int) -> Any:
    """The first channels of a portable float map: an array ``(n_channels, H, W)``, float32."""
    numpy = optional("numpy")
    with open(path, "rb") as file:
        kind, size, scale = (file.readline(64).split() for _ in range(3))
        try:
            n_stored = _PFM_CHANNELS[kind[0]]
            width, height = (int(number) for number in size)
            order = "<f4" if float(scale[0]) < 0 else ">f4"
        except (IndexError, KeyError, ValueError) as error:
            raise ValueError(
                f"{path!r} is no .pfm file: expected lines 'Pf' or 'PF', 'width height' and 'scale'"
                f", got {kind}, {size} and {scale}."
            ) from error
        if n_stored < n_channels:
            raise ValueError(f"{path!r}: expected {n_channels} channels, got {n_stored}.")
        rows = _floats(file, path, (height, width, n_stored), order)
    # Rows are stored from the bottom to the top.
    return numpy.ascontiguousarray(rows[::-1, :, :n_channels].transpose(2, 0, 1), "float32")


def _floats(file: BinaryIO, path: str, shape: tuple[int, ...], order: str) -> Any:
    """The numbers that follow in a file, which must have as many as its head says."""
    wanted = 4 * math.prod(shape)
    left = os.fstat(file.fileno()).st_size - file.tell()
    if min(shape) < 1 or left < wanted:
        raise ValueError(
            f"{path!r} is damaged: {left} bytes follow its head, which says that it has "
            f"{shape[0]} rows of {shape[1]} pixels of {4 * shape[2]} bytes."
        )
    return optional("numpy").fromfile(file, order, math.prod(shape)).reshape(shape)


def read_gray(path: str) -> Any:
    """The pixels of an image of one channel: an array ``(H, W)``."""
    image = read_image(path, mode=None)
    if len(image.getbands()) != 1:
        raise ValueError(f"{path!r}: expected an image of one channel, got mode {image.mode!r}.")
    return optional("numpy").asarray(image)


def read_rgb16(path: str) -> Any:
    """The pixels of a PNG file of three channels of 16 bits: an array ``(H, W, 3)``, uint16."""
    high, low = (_bytes_of_rgb16(path, order) for order in ("RGB;16B", "RGB;16L"))
    return high.astype("uint16") << 8 | low


def _bytes_of_rgb16(path: str, order: str) -> Any:
    # Pillow has no mode of three channels of 16 bits. It drops the byte that is the low one in the
    # order it is told: told the right one it leaves the high bytes, told the other the low ones.
    image_module = optional("PIL.Image")
    with open(path, "rb") as file:
        try:
            image = image_module.open(file, formats=["PNG"])
            [(codec, box, offset, stored)] = image.tile
            if stored != "RGB;16B":
                raise ValueError("it has not three channels of 16 bits")
            check_length(file, image)
            image.tile = [(codec, box, offset, order)]
            return optional("numpy").asarray(image)
        except (OSError, SyntaxError, ValueError, image_module.DecompressionBombError) as error:
            raise RuntimeError(f"cannot read the flow {path!r}: {error}") from error

"""How values between pixels are found."""

from __future__ import annotations

from enum import Enum
from typing import Any


class InterpolationMode(Enum):
    """How values between pixels are found; ``BOX`` and ``HAMMING`` for PIL images only.

    Example:
        >>> from facula.vision.transforms import InterpolationMode
        >>> InterpolationMode.BILINEAR.value
        'bilinear'
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# The numbers by which Pillow calls the modes.
pil_modes_mapping = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.NEAREST_EXACT: 0,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
    InterpolationMode.LANCZOS: 1,
}
_OF_NUMBER = {
    number: mode
    for mode, number in pil_modes_mapping.items()
    if mode is not InterpolationMode.NEAREST_EXACT
}


def as_interpolation(mode: Any) -> InterpolationMode:
    """A mode from itself, its name or Pillow's number for it."""
    if isinstance(mode, InterpolationMode):
        return mode
    if isinstance(mode, int):
        return _OF_NUMBER[mode]
    if isinstance(mode, str):
        try:
            return InterpolationMode(mode)
        except ValueError:
            names = [mode.value for mode in InterpolationMode]
            raise ValueError(f"interpolation: expected one of {names}, got {mode!r}.") from None
    raise ValueError(
        f"interpolation: expected an InterpolationMode, its name or Pillow's number, got {mode!r}."
    )

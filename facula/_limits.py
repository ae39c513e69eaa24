"""The limits of dtypes: ``finfo`` and ``iinfo``."""

from __future__ import annotations

from typing import Any

from facula import _core

__all__ = ["finfo", "iinfo"]

# eps, max, smallest_normal, resolution.
_LIMITS = {
    "float16": (2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
    "float32": (2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
    "float64": (2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
    "float8_e4m3fn": (2.0**-3, 448.0, 2.0**-6, 1.0),
    "float8_e5m2": (2.0**-2, 57344.0, 2.0**-14, 1.0),
    "float8_e4m3fnuz": (2.0**-3, 240.0, 2.0**-7, 1.0),
    "float8_e5m2fnuz": (2.0**-3, 57344.0, 2.0**-15, 1.0),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127, 1.0),
}


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _checked_dtype(name: str, type: Any) -> Any:
    python_types = {float: _core.float64, int: _core.int64, bool: _core.bool}
    dtype = python_types.get(type, type)
    if not isinstance(dtype, _core.dtype):
        raise TypeError(f"{name}: expected a dtype, got {type!r}.")
    return dtype


class _Info:
    """Compared by value, and for that reason without a hash."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype


class finfo(_Info):
    """Limits of a floating-point dtype; of a complex one, those of its parts.

    Args:
        type: the dtype; the default dtype if left out.

    Example:
        >>> facula.finfo(facula.float16).max
        65504.0
    """

    def __init__(self, type: Any = None) -> None:
        dtype = _core.get_default_dtype() if type is None else _checked_dtype("finfo", type)
        if dtype.is_complex:
            dtype = dtype.to_real()
        if not dtype.is_floating_point:
            raise TypeError(f"finfo: expected a floating-point dtype, got {dtype}. Use iinfo.")
        self.dtype = _name(dtype)
        self.eps, self.max, self.smallest_normal, self.resolution = _LIMITS[self.dtype]
        self.bits = 8 * dtype.itemsize
        self.min = self.smallest_normal if self.dtype == "float8_e8m0fnu" else -self.max
        self.tiny = self.smallest_normal

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        values = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({values}, dtype={self.dtype})"


class iinfo(_Info):
    """Limits of an integer dtype.

    Args:
        type: the dtype.

    Example:
        >>> facula.iinfo(facula.int8).max
        127
    """

    def __init__(self, type: Any) -> None:
        dtype = _checked_dtype("iinfo", type)
        if dtype.is_floating_point or dtype.is_complex or dtype == _core.bool:
            raise TypeError(f"iinfo: expected an integer dtype, got {dtype}. For others use finfo.")
        self.dtype = _name(dtype)
        self.bits = 8 * dtype.itemsize
        self.max = 2 ** (self.bits - dtype.is_signed) - 1
        self.min = -self.max - 1 if dtype.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

"""The Python array API standard, version 2024.12.

``x.__array_namespace__()`` of a tensor is this module. Libraries that are written against the
standard, such as SciPy and scikit-learn, find its names, signatures and special values here,
where those of ``facula`` itself are PyTorch's. Most functions are the operations of ``facula`` with
another signature, so gradients flow through them.

Where tensors differ from the standard, for PyTorch's sake: ``x.size`` is a method (``x.numel()``
counts the elements), operators give a tensor without dimensions less weight than others
(``add(x, y)`` does not), slices have no negative steps (``flip(x)`` reverses), a mask has all of
the sizes that it stands for, and there are no integers of 16 to 64 bits without a sign.

Example:
    >>> x = facula.tensor([[1.0, 2.0], [3.0, 6.0]])
    >>> xp = x.__array_namespace__()
    >>> xp.mean(x, axis=0)
    tensor([2., 4.])
"""
# ruff: noqa: F401, F403

from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula._exports import public_names as _public_names
from facula.array_api._creation import *
from facula.array_api._data_types import *
from facula.array_api._elementwise import *
from facula.array_api._info import __array_namespace_info__
from facula.array_api._manipulation import *
from facula.array_api._products import *
from facula.array_api._reductions import *
from facula.array_api._searching import *

__array_api_version__ = "2024.12"

newaxis = None

if _TYPE_CHECKING:
    from facula.array_api import fft, linalg


def __getattr__(name: str) -> _Any:
    if name not in ("fft", "linalg"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module(f"{__name__}.{name}")


if not _TYPE_CHECKING:
    __all__ = [
        *_public_names(globals(), "fft", "linalg"),
        "__array_api_version__",
        "__array_namespace_info__",
    ]

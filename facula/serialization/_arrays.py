"""NumPy's scalars and arrays in checkpoints: numbers and strings, no objects and no records."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from facula.serialization._errors import CheckpointError, shown
from facula.serialization._source import Budget

if TYPE_CHECKING:
    import numpy

# Booleans, integers, floating-point and complex numbers, byte strings, strings.
_CODE = re.compile(r"b1|[iu][1248]|f[248]|c(8|16)|[SU]\d{1,6}")


def _dtype(args: Any, budget: Budget) -> Any:
    import numpy

    code = args[0] if args else None
    if len(args) not in (1, 3) or type(code) is not str or not _CODE.fullmatch(code):
        raise CheckpointError(f"numpy.dtype: {shown(code)} is no number and no string", found=code)
    budget.spend(200)
    return numpy.dtype(code, copy=True)


def _scalar(args: Any, budget: Budget) -> Any:
    import numpy

    is_scalar = len(args) == 2 and isinstance(args[0], numpy.dtype) and type(args[1]) is bytes
    if not is_scalar or len(args[1]) != args[0].itemsize or not args[1]:
        raise CheckpointError("numpy.scalar: expected a dtype and the bytes of one element")
    budget.spend(100 + len(args[1]))
    return numpy.frombuffer(args[1], args[0])[0]


def _reconstruct(args: Any, budget: Budget) -> Any:
    """An array that its state is still to be given to."""
    import numpy

    # In pickles of Python 2 the letter is a string, and so is the content of the array below.
    is_empty = len(args) == 3 and args[1] == (0,) and args[2] in (b"b", "b")
    if not is_empty or args[0] is not numpy.ndarray:
        raise CheckpointError("numpy: expected an ndarray of no elements, to be given its state")
    budget.spend(200)
    return numpy.empty(0, "int8")


def build(made: Any, state: Any, budget: Budget) -> bool:
    """Give a dtype or an array its state; whether ``made`` is one."""
    kind = type(made).__module__.partition(".")[0]
    if kind != "numpy":
        return False
    import numpy

    if isinstance(made, numpy.dtype):
        _build_dtype(made, state)
        return True
    if type(made) is numpy.ndarray:
        _build_array(made, state, budget)
        return True
    return False


def _build_dtype(made: numpy.dtype[Any], state: Any) -> None:
    order = state[1] if type(state) is tuple and len(state) > 1 else None
    # The state is made anew and compared: nothing of the file's own reaches NumPy.
    expected = made.newbyteorder(order).__reduce__()[2] if order in ("<", ">", "|") else None
    if expected is None or state != expected:
        raise CheckpointError("numpy.dtype: the state is not that of a number or string")
    made.__setstate__(expected)  # type: ignore[attr-defined]


def _build_array(made: numpy.ndarray, state: Any, budget: Budget) -> None:
    import numpy

    if type(state) is not tuple or len(state) != 5:
        raise CheckpointError("numpy.ndarray: expected a state of five parts")
    version, shape, dtype, is_fortran, data = state
    if type(data) is str:
        budget.spend(len(data))
        data = data.encode("latin-1")
    is_array = version == 1 and type(shape) is tuple and isinstance(dtype, numpy.dtype)
    is_array = is_array and all(type(n) is int and n >= 0 for n in shape) and len(shape) <= 32
    if not is_array or type(is_fortran) is not bool or type(data) is not bytes:
        raise CheckpointError("numpy.ndarray: expected a shape, a dtype, an order and bytes")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise CheckpointError(
            f"numpy.ndarray: {len(data)} bytes are not a {dtype} array of shape {shape}"
        )
    budget.spend(len(data))
    made.__setstate__((version, shape, dtype, is_fortran, data))  # type: ignore[arg-type]


Make = Callable[[Any, Budget], Any]

CALLABLE: dict[str, tuple[Any, Make]] = {
    "numpy._core.multiarray.scalar": (_scalar, _scalar),
    "numpy._core.multiarray._reconstruct": (_reconstruct, _reconstruct),
}
VALUES = {"numpy.dtype", "numpy.ndarray"}


def find(name: str) -> Any:
    """NumPy's class of one of the names in ``VALUES``."""
    import numpy

    return getattr(numpy, name.removeprefix("numpy."))


def make_of(function: Any) -> Make | None:
    """What makes a ``numpy.dtype``, if that is what ``function`` is."""
    is_dtype = isinstance(function, type) and function.__name__ == "dtype"
    return _dtype if is_dtype and function.__module__ == "numpy" else None

"""``_foreach_`` functions: lists of tensors in one call of the core, or one operation per tensor.

One per tensor it is where others must see the operations: transforms (``vmap``, forward mode),
modes, subclasses that override operations, and whoever resolves tensors that are to be conjugated
or negated when they are read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor

__all__ = ["functions"]

_Function = Callable[..., Any]


def functions() -> dict[str, _Function]:
    """All ``_foreach_`` functions of the core by name, which take transforms into account."""
    names = [name for name in dir(_core) if name.startswith("_foreach_")]
    return {name: _entry(name, getattr(_core, name)) for name in names}


def _entry(name: str, in_core: _Function) -> _Function:
    def foreach(*args: Any, **kwargs: Any) -> Any:
        if _core._transforms() or any(map(_is_special, (*args, *kwargs.values()))):
            return _one_by_one(name, *args, **kwargs)
        return in_core(*args, **kwargs)

    foreach.__name__ = foreach.__qualname__ = name
    foreach.__module__ = "facula"
    return foreach


def _is_special(value: Any) -> bool:
    """Whether somebody must be asked for a tensor of a list, or its mark be resolved."""
    tensors = value if isinstance(value, (list, tuple)) else (value,)
    return _core._has_torch_function(*tensors) or any(
        isinstance(x, Tensor) and (x.is_conj() or x.is_neg()) for x in tensors
    )


def _one_by_one(name: str, self: Any, *args: Any, **kwargs: Any) -> Any:
    own = name.removeprefix("_foreach_")
    if own == "pow" and not isinstance(self, (list, tuple)):  # a number to the power of tensors
        return tuple(_core.pow(self, x) for x in args[0])
    others = [*args, *(kwargs.pop(k) for k in list(kwargs) if k not in ("alpha", "dtype"))]
    results = [
        _operation(own, x)(*[_of(value, i, own) for value in others], **kwargs)
        for i, x in enumerate(self)
    ]
    return self if own.endswith("_") else tuple(results)


def _of(value: Any, i: int, own: str) -> Any:
    """What the i-th tensor meets."""
    if isinstance(value, (list, tuple)):
        return value[i]
    is_list = own.startswith("addc") and isinstance(value, Tensor) and value.dim() == 1
    return value[i].item() if is_list else value


def _operation(own: str, x: Tensor) -> _Function:
    if own in ("norm", "powsum"):
        return functools.partial(_sum_of_powers if own == "powsum" else _norm, x)
    if own == "max":
        return x.amax
    if own == "zero":
        return lambda: _core.zeros_like(x)
    if own in ("maximum", "minimum", "maximum_", "minimum_"):
        bound = getattr(x, ("clamp_min" if "max" in own else "clamp_max") + "_" * own.endswith("_"))
        return bound  # type: ignore[no-any-return]
    if own in ("addcmul", "addcdiv", "addcmul_", "addcdiv_"):
        method = getattr(x, own)
        return lambda a, b, value=1: method(a, b, value=value)
    return getattr(x, own)  # type: ignore[no-any-return]


def _norm(x: Tensor, ord: Any = 2, dtype: _core.dtype | None = None) -> Tensor:
    from facula.linalg import vector_norm

    return vector_norm(x, ord, dtype=dtype)


def _sum_of_powers(x: Tensor, ord: Any = 2, dtype: _core.dtype | None = None) -> Tensor:
    return (x if dtype is None else x.to(dtype)).abs().pow(ord).sum()

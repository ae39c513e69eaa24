"""Forms of arguments that PyTorch takes besides the written ones, translated to those.

Most are those of its first versions. Asked for only when an operation could do nothing with its
arguments, so that it costs other programs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._core import Tensor
from facula._notes import note

_Arguments = tuple[tuple[Any, ...], dict[str, Any]]

# Factors once stood before the tensors that they multiply, in this order.
_FACTORS = {
    **dict.fromkeys(("add", "sub", "subtract"), ("alpha",)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("value",)),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm", "sspaddmm"), ("beta", "alpha")),
}
_SECOND_OPERAND = [
    "add",
    "sub",
    "mul",
    "div",
    "fmod",
    "remainder",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "lerp",
]
_JOINED = {"inputs": "tensors", "seq": "tensors", "sequence": "tensors", "dimension": "dim"}
_MOVED = {"async": "non_blocking"}
# Older names of arguments, by operation.
_NAMES: dict[str, dict[str, str]] = {
    **{name: {"value": "other"} for name in _SECOND_OPERAND},
    "pow": {"value": "exponent"},
    "cat": _JOINED,
    "stack": _JOINED,
    "cuda": _MOVED,
    "copy": _MOVED,
    "to": _MOVED,
    "type": _MOVED,
    "backward": {"retain_variables": "retain_graph"},
    "chunk": {"n_chunks": "chunks"},
    "index_add": {"tensor": "source"},
    "index_copy": {"tensor": "source"},
    "dot": {"tensor2": "tensor"},
}
# Methods, not functions, that take the ints of their only argument one by one, too. Those whose
# usual form this is, as permute(), read it themselves.
_ONE_BY_ONE = {"squeeze", "squeeze_", "count_nonzero", "hsplit", "vsplit", "dsplit"}


def translated(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Arguments | None:
    """The arguments in the written form; None if they are in no other form that is known.

    Args:
        function: the operation that refused them.
        args: its arguments without a name, of a method with the tensor.
        kwargs: its arguments by name.
    """
    name = function.__name__
    if name in _ONE_BY_ONE and function is getattr(Tensor, name):
        return _in_a_list(args, kwargs)
    plain = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    today = _with_names_of_today(name, _NAMES.get(plain, {}), args, kwargs)
    return today or _with_factors_behind(name, _FACTORS.get(plain, ()), args, kwargs)


def _in_a_list(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Arguments | None:
    tensor, *ints = args
    are_ints = all(hasattr(x, "__index__") for x in ints)
    return ((tensor, tuple(ints)), kwargs) if len(ints) > 1 and are_ints and not kwargs else None


def _with_names_of_today(
    name: str, names: dict[str, str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Arguments | None:
    older = [key for key in kwargs if key in names]
    if not older or any(names[key] in kwargs for key in older):
        return None
    for key in older:
        note(f"{name}({key}=...) is an older form of {name}({names[key]}=...).")
    return args, {names.get(key, key): value for key, value in kwargs.items()}


def _with_factors_behind(
    name: str, factors: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Arguments | None:
    numbers = [x for x in args if isinstance(x, (int, float, complex))]
    tensors = tuple(x for x in args if isinstance(x, Tensor))
    n_tensors = 3 if factors != ("alpha",) else 2
    is_older = 0 < len(numbers) <= len(factors) and len(tensors) == n_tensors
    if not is_older or len(numbers) + len(tensors) < len(args) or kwargs.keys() - {"out"}:
        return None
    given = dict(zip(factors, numbers, strict=False))
    today = ", ".join(f"{key}=..." for key in given)
    note(f"{name}: a factor before its tensor is an older form. Write {name}(..., {today}).")
    return tensors, {**kwargs, **given}

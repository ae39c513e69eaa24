"""Numbers and branches that compilers trace as symbols, and that are plain values here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

from facula._core import Tensor
from facula._refusing import refusing_class

_NO_SYMBOLS = "sizes are numbers: nothing is traced with symbols in their place."


def _symbol(name: str) -> Any:
    doc = f"""Stands for a number that is not known yet, of which there are none.

    Example:
        >>> isinstance(3, facula.{name})
        False
    """
    return refusing_class(f"torch.{name}", _NO_SYMBOLS, __doc__=doc)


SymInt = _symbol("SymInt")
SymFloat = _symbol("SymFloat")
SymBool = _symbol("SymBool")


def sym_int(a: Any) -> int:
    """A number as an int, rounded towards zero.

    Args:
        a: the number.

    Example:
        >>> facula.sym_int(2.7)
        2
    """
    return int(math.floor(a) if a >= 0 else math.ceil(a))


def sym_float(a: Any) -> float:
    """A number as a float.

    Args:
        a: the number.

    Example:
        >>> facula.sym_float(2)
        2.0
    """
    return float(a)


def _check_numbers(name: str, *numbers: Any) -> None:
    for number in numbers:
        # NumPy registers its numbers as these, and our tensors are none.
        if not isinstance(number, (Integral, Real)):
            raise AssertionError(f"{name}: expected an int or a float, got {type(number)}.")


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers, a float if one of them is.

    Args:
        a, b: the numbers.

    Example:
        >>> facula.sym_max(2, 3.0)
        3.0
    """
    _check_numbers("sym_max", a, b)
    is_float = isinstance(a, float) or isinstance(b, float)
    return float(max(a, b)) if is_float else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, a float if one of them is.

    Args:
        a, b: the numbers.

    Example:
        >>> facula.sym_min(2, 3.0)
        2.0
    """
    _check_numbers("sym_min", a, b)
    is_float = isinstance(a, float) or isinstance(b, float)
    return float(min(a, b)) if is_float else min(a, b)


def sym_not(a: Any) -> bool:
    """The opposite of a truth value.

    Args:
        a: the value.

    Example:
        >>> facula.sym_not(True)
        False
    """
    return not a


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """One of two values.

    Args:
        b: whether it is the first.
        t: the first.
        f: the second, of the same type.

    Example:
        >>> facula.sym_ite(True, 1, 2)
        1
    """
    if not isinstance(b, bool):
        raise AssertionError(f"sym_ite: expected a bool as b, got {type(b)}.")
    if type(t) is not type(f):
        raise AssertionError(
            f"sym_ite: expected t and f of one type, got {type(t)} and {type(f)} (type mismatch)."
        )
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root of a number.

    Args:
        a: the number.

    Example:
        >>> facula.sym_sqrt(4)
        2.0
    """
    return math.sqrt(a)


def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of numbers.

    Args:
        args: the numbers.

    Example:
        >>> facula.sym_sum([1, 2, 3])
        6
    """
    return sum(args)


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """One of two functions of the same arguments, as an ``if`` chooses.

    Args:
        pred: a bool, or a tensor of one element.
        true_fn: called if it is true.
        false_fn: called if it is not.
        operands: the arguments.

    Example:
        >>> x = facula.ones(2)
        >>> facula.cond(x.sum() > 1, lambda x: x + 1, lambda x: x - 1, (x,))
        tensor([2., 2.])
    """
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: expected two functions.")
    if not isinstance(operands, (list, tuple)):
        raise RuntimeError(f"cond: expected a tuple of arguments, got {operands!r}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(
            f"cond: expected a bool or a tensor of one element, got {tuple(pred.shape)}."
        )
    return (true_fn if pred else false_fn)(*operands)

"""Questions about sizes that may be symbols. Here they are always numbers, so all have an answer.

Packages ask them so that their code runs under PyTorch's compiler, too.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "GuardOnDataDependentSymNode",
    "definitely_false",
    "definitely_true",
    "expect_true",
    "free_symbols",
    "free_unbacked_symbols",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_scalar",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "hint_int",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "is_nested_int",
    "size_hint",
    "statically_known_false",
    "statically_known_true",
    "sym_eq",
]


class GuardOnDataDependentSymNode(RuntimeError):
    """A question about a symbol of unknown value; never raised, since there are no symbols."""


def guard_bool(a: Any) -> bool:
    """The truth of a condition on sizes.

    Args:
        a: the condition.

    Example:
        >>> from facula.fx.experimental.symbolic_shapes import guard_bool
        >>> guard_bool(facula.ones(2).shape[0] == 2)
        True
    """
    return bool(a)


expect_true = definitely_true = guard_or_false = guard_or_true = guard_bool
guard_size_oblivious = statically_known_true = guard_bool


def definitely_false(a: Any) -> bool:
    """Whether a condition on sizes does not hold.

    Args:
        a: the condition.
    """
    return not a


statically_known_false = definitely_false


def guard_int(a: Any) -> int:
    """A size as a number.

    Args:
        a: the size.

    Example:
        >>> from facula.fx.experimental.symbolic_shapes import guard_int
        >>> guard_int(facula.ones(2).shape[0])
        2
    """
    return int(a)


hint_int = size_hint = guard_int


def guard_float(a: Any) -> float:
    """A number that was computed from sizes.

    Args:
        a: the number.
    """
    return float(a)


def guard_scalar(a: Any) -> Any:
    """A number, or a truth, that was computed from sizes.

    Args:
        a: the value.
    """
    if not isinstance(a, (bool, int, float)):
        raise AssertionError(f"unrecognized scalar {a}")
    return a


def is_concrete_int(a: Any) -> bool:
    """Whether a size is a number rather than a symbol: always.

    Args:
        a: the size.
    """
    if not isinstance(a, int):
        raise AssertionError(f"Expected SymInt or int, got {type(a)}")
    return True


def is_concrete_bool(a: Any) -> bool:
    """Whether a condition is a truth rather than a symbol: always.

    Args:
        a: the condition.
    """
    if not isinstance(a, bool):
        raise AssertionError(f"Expected SymBool or bool, got {type(a)}")
    return True


def is_concrete_float(a: Any) -> bool:
    """Whether a number is one rather than a symbol: always.

    Args:
        a: the number.
    """
    if not isinstance(a, float):
        raise AssertionError(f"Expected SymFloat or float, got {type(a)}")
    return True


def is_nested_int(s: Any) -> bool:
    """Whether a size is that of a ragged dimension: never.

    Args:
        s: the size.
    """
    return False


def free_symbols(val: Any) -> set[Any]:
    """The symbols in sizes: none.

    Args:
        val: a size, a tensor, or several of them.
    """
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val: Any) -> bool:
    """Whether there are symbols in sizes: never.

    Args:
        val: a size, a tensor, or several of them.
    """
    return False


has_free_unbacked_symbols = has_free_symbols


def sym_eq(x: Any, y: Any) -> bool:
    """Whether two sizes, or two lists of sizes, are equal.

    Args:
        x: a size, or sizes.
        y: a size, or sizes.

    Example:
        >>> from facula.fx.experimental.symbolic_shapes import sym_eq
        >>> sym_eq(facula.ones(2, 3).shape, (2, 3))
        True
    """
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return list(x) == list(y)
    return bool(x == y)

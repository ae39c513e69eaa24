"""What the options of an optimiser and the arguments of a schedule may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from facula import Tensor

# What is wrong with a value: the rest of a sentence that begins with its name. None: nothing is.
Check: TypeAlias = Callable[[Any], str | None]


def check(owner: object, name: str, value: Any, is_wrong: Check) -> None:
    """Refuse a value, with an error that begins with the class of ``owner``."""
    problem = is_wrong(value)
    if problem is not None:
        words = f" (Invalid learning rate: {value})" if name == "lr" else ""
        raise ValueError(f"{type(owner).__name__}: {name} {problem}{words}")


def must_be(what: str, is_met: Callable[[Any], object]) -> Check:
    """The check that ``is_met(value)`` holds, said in words by ``what``."""

    def is_wrong(value: Any) -> str | None:
        shown = repr(value) if isinstance(value, str) else value
        return None if is_met(value) else f"must be {what}, got {shown}."

    return is_wrong


def one_of(*names: str) -> Check:
    """The check for one of a few strings."""
    quoted = [repr(name) for name in names]
    return must_be(f"{', '.join(quoted[:-1])} or {quoted[-1]}", lambda value: value in names)


def anything(value: Any) -> None:
    """The check of an option without limits."""


def at_least_zero(value: Any) -> str | None:
    """The check of most options: a number or a tensor of one element, neither negative nor NaN."""
    if isinstance(value, Tensor) and value.numel() != 1:
        return f"must be a number or a tensor of one element, got one of {value.numel()}."
    # `not >=` rather than `<`, which is False for NaN.
    return None if value >= 0 else f"must be at least 0, got {value}."


def above_zero(value: Any) -> str | None:
    """The same for an option that must not be zero."""
    problem = at_least_zero(value)
    return problem if problem or value > 0 else f"must be above 0, got {value}."


def decays(betas: Any) -> str | None:
    """The check of factors that averages are multiplied by at each step: each in [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0 <= beta < 1:
            return f"must be at least 0 and below 1, got {beta} at index {i}."
    return None


between_0_and_1 = must_be("between 0 and 1", lambda value: 0 <= value <= 1)
integer_above_0 = must_be("an integer above 0", lambda value: isinstance(value, int) and value > 0)

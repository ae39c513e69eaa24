"""Rules of Python's operators, of other names, and of what becomes a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import facula
from facula._core import Tensor
from facula._library._parts import RULES, Rule, aten, rule_of

_OPERATORS = {
    "__abs__": "abs",
    "__and__": "bitwise_and",
    "__eq__": "eq",
    "__floordiv__": "floor_divide",
    "__ge__": "ge",
    "__gt__": "gt",
    "__iand__": "bitwise_and_",
    "__ifloordiv__": "floor_divide_",
    "__ilshift__": "bitwise_left_shift_",
    "__invert__": "bitwise_not",
    "__ior__": "bitwise_or_",
    "__ipow__": "pow_",
    "__irshift__": "bitwise_right_shift_",
    "__ixor__": "bitwise_xor_",
    "__le__": "le",
    "__lshift__": "bitwise_left_shift",
    "__lt__": "lt",
    "__mod__": "remainder",
    "__ne__": "ne",
    "__neg__": "neg",
    "__or__": "bitwise_or",
    "__pow__": "pow",
    "__rand__": "bitwise_and",
    "__ror__": "bitwise_or",
    "__rshift__": "bitwise_right_shift",
    "__rxor__": "bitwise_xor",
    "__xor__": "bitwise_xor",
}


def _operator(method: str) -> Rule:
    return lambda dispatch, self, *other: getattr(self, method)(*other)


RULES.update({name: _operator(method) for name, method in _OPERATORS.items()})


# Other names of operations, also of those in place.
_ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "divide": "div",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "true_divide": "div",
}


def _alias(name: str) -> Rule:
    def rule(dispatch: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(input, Tensor):
            return getattr(input, name)(*args, **kwargs)
        return getattr(facula, name)(input, *args, **kwargs)

    return rule


for _name, _usual in _ALIASES.items():
    RULES[_name], RULES[f"{_name}_"] = _alias(_usual), _alias(f"{_usual}_")


@rule_of("square")
def _square(dispatch: Any, input: Tensor) -> Tensor:
    return input.pow(2)


@rule_of("__rsub__")
def _rsub(dispatch: Any, self: Tensor, other: Any) -> Any:
    return dispatch(aten("rsub", "Tensor" if isinstance(other, Tensor) else "Scalar"), self, other)


@rule_of("__rtruediv__", "__rdiv__")
def _rdiv(dispatch: Any, self: Tensor, other: Any) -> Any:
    if not isinstance(other, (Tensor, int, float, complex)):
        return NotImplemented
    return self.reciprocal() * other


@rule_of("__rpow__")
def _rpow(dispatch: Any, self: Tensor, other: Any) -> Any:
    return facula.pow(other, self)


@rule_of("__matmul__")
def _matmul_operator(dispatch: Any, self: Tensor, other: Any) -> Any:
    return facula.matmul(self, other) if isinstance(other, Tensor) else NotImplemented


@rule_of("__rmatmul__")
def _rmatmul(dispatch: Any, self: Tensor, other: Any) -> Any:
    return facula.matmul(other, self) if isinstance(other, Tensor) else NotImplemented


@rule_of("item")
def _item(dispatch: Any, self: Tensor) -> Any:
    return NotImplemented if self.numel() != 1 else dispatch(aten("_local_scalar_dense"), self)


def _number(kind: Any, refuses: Callable[[Tensor], bool]) -> Rule:
    """The rule of a conversion to a number of Python, and the tensors that have none."""

    def rule(dispatch: Any, self: Tensor) -> Any:
        if self.numel() != 1 or refuses(self):
            return NotImplemented
        return kind(dispatch(aten("_local_scalar_dense"), self))

    return rule


RULES["__bool__"] = _number(bool, lambda x: False)
RULES["__complex__"] = _number(complex, lambda x: False)
RULES["__float__"] = _number(float, Tensor.is_complex)
RULES["__int__"] = _number(int, Tensor.is_complex)
RULES["__index__"] = _number(int, lambda x: x.is_complex() or x.is_floating_point())


def _extreme(name: str) -> Rule:
    def rule(dispatch: Any, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        other = args[0] if args else kwargs.get("other")
        return getattr(facula, name)(input, other) if isinstance(other, Tensor) else NotImplemented

    return rule


RULES["max"], RULES["min"] = _extreme("maximum"), _extreme("minimum")

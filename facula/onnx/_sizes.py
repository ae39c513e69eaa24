"""Sizes of dynamic dimensions: integers that note what is computed with them.

A model is run with two sets of inputs at once (:mod:`facula.onnx._capture`), whose dynamic
dimensions differ. A size that differs between them is a :class:`TracedSize`: to the program and to
operations it is the integer of the first set, and it carries that of the second and its node.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from facula._core import Tensor
from facula._warnings import warn_user
from facula.fx._patch import Patcher
from facula.fx.node import Node
from facula.jit import TracerWarning


class TracedSize(int):
    """A size that depends on a dynamic dimension.

    Args:
        value: the size for the example inputs.
        other: the size for the second set of inputs.
        node: what computes it in the graph.
    """

    node: Node
    other: int

    def __new__(cls, value: int, other: int, node: Node) -> TracedSize:
        size = super().__new__(cls, value)
        size.other, size.node = other, node
        return size

    __hash__ = int.__hash__

    def __int__(self) -> int:
        return self._fixed("turned into an int")

    def __float__(self) -> float:
        return float(self._fixed("turned into a float"))

    def __truediv__(self, value: Any) -> Any:
        return self._fixed("divided with /") / value

    def __rtruediv__(self, value: Any) -> Any:
        return value / self._fixed("divided by with /")

    def __neg__(self) -> int:
        return 0 - self

    def __divmod__(self, value: Any) -> Any:
        return self // value, self % value

    def __pow__(self, value: Any, modulus: Any = None) -> Any:
        return pow(self._fixed("raised to a power"), value, modulus)

    def _fixed(self, what: str) -> int:
        plain = int.__add__(self, 0)
        warn_user(
            f"A size of a dynamic dimension was {what}: the exported model keeps what follows from "
            f"its value for the example inputs, {plain}. Sizes stay dynamic "
            "with +, -, *, // and %.",
            TracerWarning,
        )
        return plain


class _RangeType(type):
    """Makes ranges, and takes them for its objects."""

    def __call__(cls, *args: Any) -> Any:
        for arg in args:
            if isinstance(arg, TracedSize):
                arg._fixed("the length of a loop, which is unrolled")
        return _range(*args)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is _range


_range, _len, _min = range, len, min


class _Range(metaclass=_RangeType):
    """Python's ``range``, which tells of loops over a dynamic dimension."""


def _length(obj: Any) -> int:
    """Python's ``len``, whose results for tensors are traced."""
    return obj.shape[0] if isinstance(obj, Tensor) and obj.dim() else _len(obj)


def smaller(a: int, b: int) -> int:
    """The smaller of two sizes."""
    return _min(a, b)


def _least(*args: Any, **kwargs: Any) -> Any:
    """Python's ``min``, whose result for two sizes is traced."""
    traced = [arg for arg in args if isinstance(arg, TracedSize)]
    if not traced or kwargs or _len(args) != 2 or not all(isinstance(arg, int) for arg in args):
        return _min(*args, **kwargs)
    first, second = (int.__add__(arg, 0) for arg in args)
    result = _min(first, second)
    other = _min(*(other_value(arg) for arg in args))
    if result == other:
        traced[0]._fixed("cut to a smaller one")
    nodes = tuple(arg.node if isinstance(arg, TracedSize) else arg for arg in args)
    return TracedSize(result, other, traced[0].node.graph.call_function(smaller, nodes))


@contextmanager
def traced_builtins() -> Iterator[None]:
    """A block in which the functions of Python that want plain integers know of traced sizes."""
    with Patcher().active() as patcher:
        patcher.patch(vars(builtins), "range", _Range)
        patcher.patch(vars(builtins), "len", _length)
        patcher.patch(vars(builtins), "min", _least)
        yield


def other_value(value: Any) -> Any:
    """What a number is for the second set of inputs."""
    return value.other if isinstance(value, TracedSize) else value


def _arithmetic(name: str, function: Callable[[Any, Any], Any], is_swapped: bool) -> Any:
    exact = getattr(int, name)

    def method(self: TracedSize, value: Any) -> Any:
        if isinstance(value, float):
            plain = self._fixed("joined with a float")
            return function(value, plain) if is_swapped else function(plain, value)
        result = exact(self, value)
        if result is NotImplemented:
            return result
        pair = (value, self) if is_swapped else (self, value)
        nodes = [each.node if isinstance(each, TracedSize) else int(each) for each in pair]
        node = self.node.graph.call_function(function, tuple(nodes))
        return TracedSize(result, exact(self.other, other_value(value)), node)

    return method


def _comparison(name: str) -> Any:
    exact = getattr(int, name)

    def method(self: TracedSize, value: Any) -> Any:
        result = exact(self, value)
        if result is not NotImplemented and result != exact(self.other, other_value(value)):
            warn_user(
                f"A size of a dynamic dimension was compared with {value!r}, which decides "
                "differently for other sizes: the exported model keeps what was decided for the "
                f"example inputs, where it is {int.__repr__(self)}.",
                TracerWarning,
            )
        return result

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _function = getattr(operator, _name)
    setattr(TracedSize, f"__{_name}__", _arithmetic(f"__{_name}__", _function, False))
    setattr(TracedSize, f"__r{_name}__", _arithmetic(f"__r{_name}__", _function, True))
for _name in ("lt", "le", "eq", "ne", "gt", "ge"):
    setattr(TracedSize, f"__{_name}__", _comparison(f"__{_name}__"))

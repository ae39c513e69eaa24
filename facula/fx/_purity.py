"""Which nodes may be left out when nobody uses their results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import facula

if TYPE_CHECKING:
    from facula.fx.node import Node

# In facula and, if Tensor has them, as methods.
_RANDOM = [
    "bernoulli",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
]


@functools.cache
def _random_functions() -> frozenset[Callable[..., Any]]:
    return frozenset(getattr(facula, name) for name in _RANDOM)


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def is_impure(node: Node, impure_random: bool) -> bool:
    """See :meth:`facula.fx.Node.is_impure`."""
    if node.op in ("placeholder", "output"):
        return True
    if node.op == "call_function":
        return _is_impure_function(node, impure_random)
    if node.op == "call_method":
        # PyTorch drops `x.add_(1)` if its result is not used, and with it the change of x.
        return _is_in_place(str(node.target)) or node.target == "backward"
    if node.op == "call_module":
        owner = node.graph.owning_module
        if owner is None:
            raise AssertionError("self.graph.owning_module not set for purity check")
        module = owner.get_submodule(str(node.target))
        return bool(getattr(module, "is_impure", False))
    return False


def _is_impure_function(node: Node, impure_random: bool) -> bool:
    from facula.fx.node import _side_effectful_functions

    target: Any = node.target
    if target in _side_effectful_functions or target is facula._assert:
        return True
    if impure_random and target in _random_functions():
        return True
    name = getattr(target, "__name__", "")
    if "out" in node.kwargs or node.kwargs.get("inplace") is True:
        return True
    if getattr(target, "__module__", "") == "_operator":
        return name in ("setitem", "delitem") or (name.startswith("i") and name in _IN_PLACE)
    return _is_in_place(name)


_IN_PLACE = frozenset(
    [
        "iadd",
        "iand",
        "ifloordiv",
        "ilshift",
        "imatmul",
        "imod",
        "imul",
        "ior",
        "ipow",
        "irshift",
        "isub",
        "itruediv",
        "ixor",
    ]
)

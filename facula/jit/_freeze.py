"""Preparations of compiled modules for inference, which leave a module as it is."""

from __future__ import annotations

from typing import TypeVar

from facula.nn.modules.module import Module

__all__ = ["freeze", "optimize_for_inference", "run_frozen_optimizations"]

_Module = TypeVar("_Module", bound=Module)


def freeze(
    mod: _Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> _Module:
    """The module itself, which must be in evaluation.

    Args:
        mod: the module.
        preserved_attrs: names of attributes to keep; all are kept.
        optimize_numerics: accepted for compatibility.

    Example:
        >>> net = facula.nn.Linear(2, 3).eval()
        >>> facula.jit.freeze(facula.jit.script(net)) is net
        True
    """
    if not isinstance(mod, Module):
        raise RuntimeError(f"jit.freeze: expected a module, got {type(mod).__name__}.")
    if mod.training and not preserved_attrs:
        raise RuntimeError("jit.freeze: expected a module in evaluation. Call mod.eval() first.")
    return mod


def run_frozen_optimizations(
    mod: Module, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Does nothing: the module runs as it is.

    Args:
        mod: the module.
        optimize_numerics: accepted for compatibility.
        preserved_methods: accepted for compatibility.
    """


def optimize_for_inference(mod: _Module, other_methods: list[str] | None = None) -> _Module:
    """The module itself.

    Args:
        mod: the module.
        other_methods: names of more methods to prepare.

    Example:
        >>> net = facula.nn.Linear(2, 3).eval()
        >>> facula.jit.optimize_for_inference(net) is net
        True
    """
    return mod

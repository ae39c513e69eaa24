"""``trace``: the function runs on its example inputs once, and is returned as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from facula import _core
from facula._core import Tensor
from facula._refusing import refusing
from facula.nn.modules.module import Module

__all__ = [
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "is_tracing",
    "trace",
    "trace_module",
]

_T = TypeVar("_T")


class TracerWarning(Warning):
    """PyTorch's warning of what a trace does not keep, such as branches on values.

    Nothing is traced here, so that it is never given; scripts name it in filters of warnings.
    """

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Silence the warnings of the library itself, of which there are none."""


class TracingCheckError(Exception):
    """PyTorch's error of a trace that did not repeat the function's results."""


class TracedModule(Module):
    """The class of PyTorch's traced modules, of which there are none here."""


class TopLevelTracedModule(TracedModule):
    """The class of PyTorch's traced modules, of which there are none here."""


def is_tracing() -> bool:
    """Whether the operations are being recorded by ``jit.trace``: never.

    Example:
        >>> facula.jit.is_tracing()
        False
    """
    return False


def trace(
    func: _T,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Mapping[str, Any] | None = None,
    _store_inputs: bool = True,
) -> _T:
    """Run a function or module on example inputs once, and return it as it is.

    What comes back takes every branch anew, for other inputs too. An input that the function does
    not take, and a result that PyTorch would not trace, are refused as PyTorch refuses them.

    Args:
        func: the function or module.
        example_inputs: a tensor, or a tuple of what the function takes.
        optimize: accepted for compatibility.
        check_trace: accepted for compatibility: what is returned gives the function's results.
        check_inputs: a list of more example inputs, which are tried too.
        check_tolerance: accepted for compatibility.
        strict: whether a dict or list as a result is refused.
        example_kwarg_inputs: example inputs by name, in place of ``example_inputs``.

    Example:
        >>> net = facula.jit.trace(facula.nn.Linear(2, 3), facula.ones(1, 2))
        >>> net(facula.ones(5, 2)).shape
        torch.Size([5, 3])
    """
    if not callable(func):
        raise RuntimeError(
            f"jit.trace: expected a function or a module, got {type(func).__name__}."
        )
    if example_kwarg_inputs is not None:
        if example_inputs is not None:
            raise RuntimeError(
                "jit.trace: expected example_inputs or example_kwarg_inputs, not both."
            )
        _try(func, (), dict(example_kwarg_inputs), strict)
        return func
    for inputs in [example_inputs, *(check_inputs or [])]:
        _try(func, _as_tuple(inputs), {}, strict)
    return func


def trace_module(
    mod: Module,
    inputs: Mapping[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Module:
    """As :func:`trace`, for several methods of a module.

    Args:
        mod: the module.
        inputs: example inputs by the name of the method.
        optimize: accepted for compatibility.
        check_trace: accepted for compatibility.
        check_inputs: a list of more dicts of example inputs, which are tried too.
        check_tolerance: accepted for compatibility.
        strict: whether a dict or list as a result is refused.
        example_inputs_is_kwarg: whether the example inputs are dicts of arguments by name.

    Example:
        >>> net = facula.nn.Linear(2, 3)
        >>> facula.jit.trace_module(net, {"forward": facula.ones(1, 2)}) is net
        True
    """
    if not isinstance(mod, Module):
        raise AttributeError("jit.trace_module: expected a module as the first argument.")
    if not isinstance(inputs, Mapping):
        raise AttributeError("jit.trace_module: expected a dict from methods to their inputs.")
    for each in [inputs, *(check_inputs or [])]:
        for name, values in each.items():
            method = mod if name == "forward" else getattr(mod, name)
            if example_inputs_is_kwarg:
                _try(method, (), dict(values), strict)
            else:
                _try(method, _as_tuple(values), {}, strict)
    return mod


def _as_tuple(inputs: Any) -> tuple[Any, ...]:
    if isinstance(inputs, (Tensor, dict)):
        return (inputs,)
    if inputs is None or isinstance(inputs, (int, float)):
        raise TypeError(
            f"jit.trace: expected example inputs, a tensor or a tuple of tensors, got {inputs!r}."
        )
    return tuple(inputs)


def _try(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], strict: bool) -> None:
    for value in (*args, *kwargs.values()):
        _check_input(value)
    # A trial run: it draws no numbers that the program would have drawn.
    state = _core.get_rng_state()
    try:
        _check_output(function(*args, **kwargs), strict)
    finally:
        _core.set_rng_state(state)


def _check_input(value: Any) -> None:
    if isinstance(value, (list, tuple)):
        for item in value:
            _check_input(item)
    elif isinstance(value, dict):
        for item in value.values():
            _check_input(item)
    elif not isinstance(value, (Tensor, int, float, bool, type(None))):
        raise RuntimeError(
            f"jit.trace: an example input of type {type(value).__name__} cannot be traced. Only "
            "Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced."
        )


def _check_output(result: Any, strict: bool) -> None:
    if result is None:
        raise RuntimeError("jit.trace: the traced function didn't return any values.")
    if isinstance(result, (dict, list)) and strict:
        raise RuntimeError(
            f"jit.trace: a {type(result).__name__} at the output of the tracer might change from "
            "call to call. Return a tuple, or pass strict=False."
        )
    items = result.values() if isinstance(result, dict) else result
    if isinstance(result, Tensor):
        return
    if not isinstance(result, (dict, list, tuple)) or any(item is None for item in items):
        raise RuntimeError(
            "jit.trace: only tensors, lists, tuples of tensors, or dictionary of tensors can be "
            f"output from traced functions, got {type(result).__name__}."
        )
    for item in items:
        _check_output(item, strict)


_get_trace_graph = refusing(
    "torch.jit._get_trace_graph",
    "there is no TorchScript graph. Use torch.fx.symbolic_trace for a graph of the module, and "
    "torch.utils.flop_counter.FlopCounterMode to count what it computes.",
)

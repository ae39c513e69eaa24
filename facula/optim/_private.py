"""Helpers that optimisers of others take from ``torch.optim.optimizer``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

from facula import _core
from facula._core import Tensor
from facula.autograd.grad_mode import set_grad_enabled

_Function = TypeVar("_Function", bound=Callable[..., Any])

# What a docstring says of the options that optimisers have in common.
_params_doc = """params: the parameters, or pairs of names and parameters, or groups as dicts."""
_foreach_doc = """foreach: whether parameters are updated in lists; all are, in one call."""
_fused_doc = """fused: whether a step is one kernel; it is."""
_capturable_doc = """capturable: whether a step can be captured in a CUDA graph."""
_differentiable_doc = """differentiable: whether a step is recorded, to be differentiated."""
_maximize_doc = """maximize: whether the parameters go up the gradient."""


def _use_grad_for_differentiable(func: _Function) -> _Function:
    """A method ``step`` that is recorded if the optimiser's option ``differentiable`` says so."""

    @functools.wraps(func)
    def step(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        with set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(*args, **kwargs)

    return step  # type: ignore[return-value]


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether a step is one kernel, and whether it goes over lists, where the user does not say.

    Args:
        params: the parameters.
        differentiable: whether the step is recorded: then neither.
        use_fused: whether one kernel is wanted.
    """
    if differentiable:
        return False, False
    kinds = {p.device.type for p in params if p is not None}
    is_floating = all(p is None or p.is_floating_point() for p in params)
    fused = use_fused and is_floating and kinds <= {"cpu", "cuda"}
    return fused, not fused and kinds == {"cuda"}


def _get_value(x: Any) -> Any:
    """A number out of a tensor of one element; anything else as it is."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions; anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() > 0 else x


def _stack_if_compiling(x: Any) -> Any:
    """A list as it is, since nothing is compiled."""
    return x


def _dispatch_sqrt(x: Any) -> Any:
    """The square root of a number or tensor."""
    return x.sqrt() if isinstance(x, Tensor) else math.sqrt(x)


def _get_scalar_dtype(is_fused: bool | None = None) -> _core.dtype:
    """The dtype of a count of steps."""
    if is_fused:
        return _core.float32
    is_double = _core.get_default_dtype() == _core.float64
    return _core.float64 if is_double else _core.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The kinds of devices whose steps can be captured in graphs."""
    return ["cuda"]


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Raise unless a step of the parameter can be one kernel."""
    if p.device.type not in ("cpu", "cuda") or not p.is_floating_point():
        raise RuntimeError(
            "fused=True requires all the params to be floating point Tensors of the CPU or of a "
            f"GPU, but got {p.dtype} on {p.device}."
        )


def _disable_dynamo_if_unsupported(
    single_tensor_fn: Callable[..., object] | None = None,
) -> Callable[[_Function], _Function]:
    """A decorator of functions that a compiler would not read: the function itself."""
    return lambda func: func


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Put real views in the place of complex tensors, in lists that belong together."""
    for i, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = _core.view_as_real(tensors[i])

"""The places in the graph where a module's backward hooks are called."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.autograd.function import Function


class BackwardHook:
    """Two nodes that do nothing, around what a module computed.

    Gradients pass the node of the outputs on the way into the module, where the pre-hooks are
    called with them, and the node of the inputs on the way out, where the hooks are called.
    """

    def __init__(
        self,
        module: Any,
        user_hooks: Sequence[Callable[..., Any]],
        user_pre_hooks: Sequence[Callable[..., Any]],
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.n_inputs = 0
        self.has_input_node = False
        self.grad_outputs: tuple[Any, ...] | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of the module, behind the node of the inputs."""
        self.n_inputs = len(args)
        values, node, places = _behind_node(args)
        if node is not None:
            self.has_input_node = True

            def hook(grad_inputs: tuple[Any, ...], _: Any) -> Any:
                if self.grad_outputs is None:  # no output of the module was used
                    return None
                full = _spread(grad_inputs, places, len(args))
                full = self._call_hooks(full)
                return tuple(full[place] for place in places)

            node.register_hook(hook)
        return values

    def setup_output_hook(self, result: Any) -> Any:
        """The results of the module, behind the node of the outputs."""
        is_single = isinstance(result, Tensor)
        if not is_single and not isinstance(result, tuple):
            return result
        outputs = (result,) if is_single else result
        values, node, places = _behind_node(outputs)
        if node is not None:

            def prehook(grad_outputs: tuple[Any, ...]) -> Any:
                full = self._call_pre_hooks(_spread(grad_outputs, places, len(outputs)))
                self.grad_outputs = full
                if self.user_hooks and not self.has_input_node:
                    self._call_hooks_without_inputs()
                return tuple(full[place] for place in places)

            node.register_prehook(prehook)
        return values[0] if is_single else values

    def _call_pre_hooks(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.user_pre_hooks:
            changed = _as_tuple(hook(self.module, grads))
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(
                    f"backward pre-hook: expected None or {len(grads)} gradients of the outputs "
                    f"from the hook, got {len(changed)}."
                )
            grads = changed
        return grads

    def _call_hooks(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.user_hooks:
            changed = _as_tuple(hook(self.module, grads, self.grad_outputs))
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(
                    f"backward hook: expected None or {len(grads)} gradients of the inputs from "
                    f"the hook, got {len(changed)}."
                )
            grads = changed
        self.grad_outputs = None
        return grads

    def _call_hooks_without_inputs(self) -> None:
        warnings.warn(
            "register_full_backward_hook: no input of the module requires gradients, so the hook "
            "runs as soon as those of the outputs are there, with None for the inputs.",
            stacklevel=2,
        )
        grads = self._call_hooks((None,) * self.n_inputs)
        if any(grad is not None for grad in grads):
            raise RuntimeError(
                "backward hook: no input of the module requires gradients, so the hook has none to "
                "replace. Return None."
            )


def _as_tuple(value: Any) -> tuple[Any, ...] | None:
    return (value,) if isinstance(value, Tensor) else value


def _spread(values: tuple[Any, ...], places: list[int], size: int) -> tuple[Any, ...]:
    spread: list[Any] = [None] * size
    for place, value in zip(places, values, strict=True):
        spread[place] = value
    return tuple(spread)


class BackwardHookFunction(Function):
    """Hands its arguments on, and their gradients back."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*(arg for arg in args if not arg.requires_grad))
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads


def _behind_node(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, list[int]]:
    """The values with their tensors behind one node, the node, and the places of the tensors."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not _core.is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return values, None, places
    tensors = BackwardHookFunction.apply(*(values[i] for i in places))
    node = next(tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None)
    behind = list(values)
    for place, tensor in zip(places, tensors, strict=True):
        behind[place] = tensor
    is_named = hasattr(values, "_fields")
    return type(values)(*behind) if is_named else tuple(behind), node, places

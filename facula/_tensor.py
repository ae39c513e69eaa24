"""The parts of ``Tensor`` that are written in Python, attached to the core's type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._core import Node, Tensor
from facula._tensor_str import tensor_format, tensor_repr
from facula.utils.hooks import RemovableHandle


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call ``hook(grad)`` whenever a gradient for this tensor is computed.

    A tensor that it returns replaces the gradient. ``handle.remove()`` takes the hook away.

    Example:
        >>> x = facula.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 2)
        >>> x.sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """
    return RemovableHandle.add(self._tensor_hooks(), hook)


def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call ``hook(tensor)`` after a gradient was added to this leaf's ``.grad``.

    Example:
        >>> x = facula.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
        >>> x.sum().backward()
        tensor([1., 1.])
    """
    return RemovableHandle.add(self._post_accumulate_hooks(), hook)


def _register_node_hook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call ``fn(grad_inputs, grad_outputs)`` after this node has run in backward.

    A tuple that it returns replaces ``grad_inputs``.
    """
    return RemovableHandle.add(self._hooks(), fn)


def _register_node_prehook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call ``fn(grad_outputs)`` before this node runs in backward.

    A tuple that it returns replaces ``grad_outputs``.
    """
    return RemovableHandle.add(self._prehooks(), fn)


def attach(name: str, function: Callable[..., Any]) -> None:
    """Make ``function`` the method ``name`` of every tensor."""
    setattr(Tensor, name, function)


attach("__repr__", tensor_repr)
attach("__format__", tensor_format)
attach("register_hook", register_hook)
attach("register_post_accumulate_grad_hook", register_post_accumulate_grad_hook)
Node.__doc__ = "A derivative in the graph: ``grad_fn`` of a tensor."
Node.register_hook = _register_node_hook
Node.register_prehook = _register_node_prehook

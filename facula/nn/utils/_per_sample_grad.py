"""Gradients of a loss for each sample of a batch, in one forward and one backward."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from facula._core import Tensor
from facula.autograd import Function
from facula.func import functional_call, vmap
from facula.nn.modules.module import Module
from facula.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = ["call_for_per_sample_grads"]


class _ForEachSample(Function):
    """A parameter, repeated for the samples; what comes back is kept as its ``grad_sample``."""

    @staticmethod
    def forward(ctx: Any, parameter: Any, n_samples: int, factor: int) -> Tensor:
        ctx.parameter, ctx.factor = parameter, factor
        expanded: Tensor = parameter.expand(n_samples, *parameter.shape)
        return expanded

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, None]:
        ctx.parameter.grad_sample = grad.detach() * ctx.factor
        return None, None, None


def call_for_per_sample_grads(
    module: Module,
    *,
    batch_size: int | None = None,
    loss_reduction: str = "sum",
    batch_first: bool = True,
) -> Callable[..., Any]:
    """The module as a function whose backward gives each parameter a ``grad_sample``.

    ``parameter.grad_sample`` has the gradient of the loss of each sample, along a new first
    dimension; ``parameter.grad`` is left as it is. The module sees one sample at a time, so that
    nothing in it may mix samples, as batch normalisation does.

    Args:
        module: the module.
        batch_size: the number of samples; by default the size of the arguments, which all must
            have the same.
        loss_reduction: what the loss does with the samples, ``"sum"`` or ``"mean"``.
        batch_first: whether samples lie along the first dimension of arguments and results, rather
            than along the second.

    Example:
        >>> from facula.nn.utils._per_sample_grad import call_for_per_sample_grads
        >>> layer = facula.nn.Linear(2, 1, bias=False)
        >>> x = facula.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> call_for_per_sample_grads(layer)(x).sum().backward()
        >>> layer.weight.grad_sample
        tensor([[[1., 2.]],
        <BLANKLINE>
                [[3., 4.]]])
    """
    _check(module, batch_size, loss_reduction)
    dim = 0 if batch_first else 1

    @functools.wraps(module.forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        n_samples = _batch_size(args, kwargs, dim) if batch_size is None else batch_size
        expanded = {}
        factor = n_samples if loss_reduction == "mean" else 1
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                _check_is_clear(name, parameter)
                expanded[name] = _ForEachSample.apply(parameter, n_samples, factor)

        def is_batch(x: Any) -> bool:
            return isinstance(x, Tensor) and x.dim() > dim and x.size(dim) == n_samples

        given, structure = tree_flatten((args, kwargs))
        batches = [x for x in given if is_batch(x)]

        def one(weights: dict[str, Tensor], *samples: Tensor) -> Any:
            rest = iter(samples)
            inputs = [next(rest).unsqueeze(dim) if is_batch(x) else x for x in given]
            positional, named = tree_unflatten(inputs, structure)
            result = functional_call(module, weights, positional, named)
            return tree_map(lambda y: y.squeeze(dim), result)

        in_dims = (0, *[dim for _ in batches])
        return vmap(one, in_dims, dim, randomness="different")(expanded, *batches)

    return call


def _check(module: Any, batch_size: Any, loss_reduction: str) -> None:
    name = "call_for_per_sample_grads"
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"{name}: expected loss_reduction 'sum' or 'mean', got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"{name}: expected a Module, got {type(module).__name__}.")
    if batch_size is None:
        return
    if not isinstance(batch_size, int):
        got = type(batch_size).__name__
        raise RuntimeError(f"{name}: expected None or an int as batch_size, got {got}.")
    if batch_size < 1:
        raise RuntimeError(f"{name}: expected a positive batch_size, got {batch_size}.")


def _check_is_clear(name: str, parameter: Any) -> None:
    if getattr(parameter, "grad_sample", None) is not None:
        raise RuntimeError(
            f"call_for_per_sample_grads: the parameter {name} has a grad_sample already, to which "
            "no other can be added. Set it to None before the next call."
        )


def _batch_size(args: tuple[Any, ...], kwargs: dict[str, Any], dim: int) -> int:
    """The number of samples of the arguments."""
    tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    sizes = sorted({int(x.size(dim)) for x in tensors})
    if not sizes:
        raise RuntimeError(
            "call_for_per_sample_grads: there is no tensor among the arguments to tell the number "
            "of samples. Pass batch_size."
        )
    if len(sizes) > 1:
        raise RuntimeError(
            f"call_for_per_sample_grads: the arguments have {sizes} samples. Pass batch_size."
        )
    return sizes[0]

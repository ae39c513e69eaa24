"""Gradients kept within bounds."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import facula
from facula import linalg
from facula._core import Tensor
from facula._warnings import warn_user
from facula.autograd.grad_mode import no_grad

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        return [tensors]
    listed = list(tensors)
    if not listed and isinstance(tensors, types.GeneratorType):
        warn_user(
            "clip_grad: expected gradients to clip, got a generator that yields nothing. Was it "
            "consumed before?",
        )
    return listed


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of some tensors, as if they were one vector.

    Args:
        tensors: the tensor, or several, that make the vector.
        norm_type: the order of the norm; may be ``inf``.
        error_if_nonfinite: whether a norm that is infinite or NaN is an error.
        foreach: accepted for compatibility; there is one implementation.

    Example:
        >>> facula.nn.utils.get_total_norm([facula.ones(2, 2), facula.zeros(3)])
        tensor(2.)
    """
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not listed:
        return facula.tensor(0.0)
    order = float(norm_type)
    norms = [linalg.vector_norm(tensor, order) for tensor in listed]
    total = linalg.vector_norm(facula.stack([n.to(norms[0].device) for n in norms]), order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"clip_grad_norm_: expected a finite total norm, got {total.item()} for the norm of "
            f"order {order}. Look for inf and nan in the gradients, or pass "
            "error_if_nonfinite=False to scale by it all the same."
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale the gradients of parameters by ``max_norm / total_norm`` where that is less than 1.

    Args:
        parameters: one parameter or several.
        max_norm: the largest norm that the gradients may have.
        total_norm: the norm that the gradients have, see :func:`get_total_norm`.
        foreach: accepted for compatibility; there is one implementation.

    Example:
        >>> p = facula.nn.Parameter(facula.ones(2))
        >>> p.grad = facula.tensor([3.0, 4.0])
        >>> facula.nn.utils.clip_grads_with_norm_(p, 2.5, facula.tensor(5.0))
        >>> p.grad
        tensor([1.5000, 2.0000])
    """
    # There is no branch on the norm, since reading its value would wait for a GPU.
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for parameter in _listed(parameters):
        if parameter.grad is not None:
            parameter.grad.mul_(factor.to(parameter.grad.device))


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients by one factor, so that their common norm is at most ``max_norm``.

    Args:
        parameters: one parameter or several; those without a gradient are passed over.
        max_norm: the largest norm that the gradients may have.
        norm_type: the order of the norm; may be ``inf``.
        error_if_nonfinite: whether a norm that is infinite or NaN is an error.
        foreach: accepted for compatibility; there is one implementation.

    Returns:
        The norm before.

    Example:
        >>> p = facula.nn.Parameter(facula.ones(2))
        >>> p.grad = facula.tensor([3.0, 4.0])
        >>> facula.nn.utils.clip_grad_norm_([p], 1.0)
        tensor(5.)
        >>> p.grad
        tensor([0.6000, 0.8000])
    """
    listed = _listed(parameters)
    grads = [parameter.grad for parameter in listed if parameter.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """Deprecated name of :func:`clip_grad_norm_`.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> x = facula.tensor([3.0, 4.0], requires_grad=True)
        >>> x.grad = facula.tensor([3.0, 4.0])
        >>> facula.nn.utils.clip_grad_norm([x], 1.0)
        tensor(5.)
    """
    warn_user(
        "clip_grad_norm: this is the old name. Call nn.utils.clip_grad_norm_ instead.",
        FutureWarning,
    )
    return clip_grad_norm_(*args, **kwargs)


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Limit every element of the gradients to ``[-clip_value, clip_value]``.

    Args:
        parameters: one parameter or several; those without a gradient are passed over.
        clip_value: the largest absolute value that an element of a gradient may have.
        foreach: accepted for compatibility; there is one implementation.

    Example:
        >>> p = facula.nn.Parameter(facula.ones(2))
        >>> p.grad = facula.tensor([3.0, -0.5])
        >>> facula.nn.utils.clip_grad_value_([p], 1.0)
        >>> p.grad
        tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    for parameter in [parameters] if isinstance(parameters, Tensor) else parameters:
        if parameter.grad is not None:
            parameter.grad.clamp_(-bound, bound)

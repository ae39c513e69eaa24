"""Losses that are likelihoods: of distributions, counts, measurements and sequences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from facula import _core, _ops
from facula._core import Tensor
from facula._ops.losses import reduced
from facula.autograd.grad_mode import no_grad
from facula.nn._reduction import get_enum, resolve


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of ``target`` from ``input``.

    Args:
        input: log probabilities.
        target: probabilities, or their logarithms.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"batchmean"``, the divergence; ``"mean"``, by element; ``"sum"`` or ``"none"``.
        log_target: whether the target is logarithms.

    Example:
        >>> from facula.nn import functional as F
        >>> log_probs = facula.tensor([[0.5, 0.5]]).log()
        >>> F.kl_div(log_probs, facula.tensor([[1.0, 0.0]]), reduction="batchmean")
        tensor(0.6931)
    """
    reduction = resolve(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "kl_div: reduction='mean' divides by the number of elements. reduction='batchmean' "
            "divides by the batch size, which is what the divergence is defined as.",
            stacklevel=3,
        )
    is_batchmean = reduction == "batchmean"
    number = get_enum("sum" if is_batchmean else reduction)
    total = _ops.kl_div(input, target, number, log_target=log_target)
    return total / input.size(0) if is_batchmean and input.dim() > 0 else total


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log likelihood of counts under Poisson distributions.

    Args:
        input: expectations, or their logarithms.
        target: counts.
        log_input: whether the input is logarithms.
        full: whether Stirling's approximation of ``log(target!)`` is added.
        size_average: deprecated, see ``reduction``.
        eps: added to expectations before their logarithm.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.poisson_nll_loss(facula.zeros(2), facula.tensor([1.0, 3.0]))
        tensor(1.)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    return _ops.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log likelihood of the target under normal distributions.

    Args:
        input: expectations.
        target: of the input's shape, or broadcast with it.
        var: variances: one number, of the input's shape, or of it with a last dimension of 1 or
            none.
        full: whether ``log(2 pi) / 2`` is added.
        eps: the least variance that is divided by; it takes no part in differentiation.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.gaussian_nll_loss(facula.zeros(2), facula.ones(2), facula.ones(2))
        tensor(0.5000)
    """
    if isinstance(var, Tensor):
        var = _variances(input, var)
        is_negative = bool((var < 0).any())
    else:
        is_negative = var < 0
        var = var * _core.ones_like(input)
    if is_negative:
        raise ValueError("gaussian_nll_loss: expected variances of 0 or more, got a negative one.")
    number = get_enum(reduction)
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, number)


def _variances(input: Tensor, var: Tensor) -> Tensor:
    if var.shape == input.shape:
        return var
    if var.shape == input.shape[:-1]:
        return var.unsqueeze(-1)
    n_ones = sum(a != b and b == 1 for a, b in zip(input.shape, var.shape, strict=False))
    n_same = sum(a == b for a, b in zip(input.shape, var.shape, strict=False))
    if input.dim() == var.dim() and n_ones == 1 and n_same == input.dim() - 1:
        return var
    raise ValueError(
        f"gaussian_nll_loss: expected var of the input's shape {tuple(input.shape)}, or with a "
        f"last dimension of 1 or none, got {tuple(var.shape)}."
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log likelihood of label sequences that are not aligned with the input.

    The gradient is that for logits of which ``log_probs`` are the log_softmax.

    Args:
        log_probs: log probabilities of the labels at each step, from ``log_softmax``.
        targets: labels, as rows or all behind each other.
        input_lengths: how many steps each sequence has.
        target_lengths: how many labels each sequence has.
        blank: the label that stands for none.
        reduction: ``"mean"``, of the losses over the target lengths, ``"sum"`` or ``"none"``.
        zero_infinity: whether losses of sequences too short for their target, and their
            gradients, are zero instead of infinite.

    Shape:
        log_probs ``(T, N, C)`` or ``(T, C)``, targets ``(N, S)`` or ``(sum(target_lengths),)``,
        lengths ``(N,)`` or ``()``; losses ``(N,)`` or ``()``.

    Example:
        >>> from facula.nn import functional as F
        >>> log_probs = facula.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
        >>> F.ctc_loss(log_probs, facula.tensor([[1]]), (2,), (1,))
        tensor(0.2877)
    """
    number = get_enum(reduction)
    return _ops.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity
    )

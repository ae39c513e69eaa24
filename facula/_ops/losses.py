"""Losses as PyTorch has them at its top level: ``reduction`` is 0 for none, 1 mean, 2 sum.

``facula.nn.functional`` has the same losses, with their reduction by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from facula import _core
from facula._core import Tensor
from facula._ops._mark import looks_at_values, operation
from facula._ops._out import named
from facula._ops.other import pairwise_distance
from facula._ops.shapes import broadcast_for


def reduced(losses: Tensor, reduction: int) -> Tensor:
    """The losses, their mean or their sum."""
    if reduction == 1:
        return losses.mean()
    return losses.sum() if reduction == 2 else losses


def _check_shapes(name: str, *tensors: Tensor) -> None:
    """Refuse what does not broadcast, in the name of the loss."""
    if any(t.shape != tensors[0].shape for t in tensors[1:]):
        broadcast_for(name, *tensors)


@operation
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """Cross entropy between probabilities, given as logits, and targets.

    Args:
        input: the logits.
        target: the probabilities that are wanted, shaped as ``input``.
        weight: how much each loss counts, broadcast with the losses.
        pos_weight: how much positive targets count, by class, broadcast with the losses.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Example:
        >>> facula.binary_cross_entropy_with_logits(facula.tensor([0.0]), facula.tensor([1.0]))
        tensor(0.6931)
    """
    if not target.is_floating_point():
        error = NotImplementedError if not input.is_floating_point() else RuntimeError
        raise error(
            "binary_cross_entropy_with_logits: expected a floating-point input and target, got "
            f"{input.dtype} and {target.dtype}. Convert them with .float()."
        )
    if weight is None and pos_weight is None:
        return _core._binary_cross_entropy_with_logits(input, target, reduction)
    if pos_weight is None:
        losses = _core._binary_cross_entropy_with_logits(input, target, 0)
    else:
        # -log(sigmoid(x)) is the loss of target 1, and that of target 0 has x more.
        positive = _core._binary_cross_entropy_with_logits(input, _core.ones_like(input), 0)
        losses = (1 - target) * input + (1 + (pos_weight - 1) * target) * positive
    result = reduced(losses if weight is None else losses * weight, reduction)
    return named("BinaryCrossEntropyWithLogitsBackward0", result)


@operation
def kl_div(
    input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    """The Kullback-Leibler divergence of ``target`` from ``input``, by element.

    Args:
        input: the logarithms of probabilities.
        target: the probabilities that are wanted, or their logarithms.
        reduction: 0 for none, 1 for the mean over elements, 2 for the sum.
        log_target: whether ``target`` holds logarithms.

    Example:
        >>> facula.kl_div(facula.tensor([0.5, 0.5]).log(), facula.tensor([1.0, 0.0]), 2)
        tensor(0.6931)
    """
    for x in (input, target):
        if not x.is_floating_point():
            raise RuntimeError(
                "kl_div: expected a floating-point input and target, got "
                f"{input.dtype} and {target.dtype}. Convert them with .float()."
            )
    _check_shapes("kl_div", input, target)
    if log_target:
        return reduced(target.exp() * (target - input), reduction)
    return reduced(_core.xlogy(target, target) - target * input, reduction)


@operation
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """Minus the log likelihood of counts under Poisson distributions.

    Args:
        input: the expected counts, or their logarithms.
        target: the counts that were observed.
        log_input: whether ``input`` holds logarithms.
        full: whether Stirling's approximation of ``log(target!)`` is added.
        eps: a small number, added to expected counts before their logarithm is taken.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Example:
        >>> one = facula.tensor([1.0])
        >>> facula.poisson_nll_loss(facula.zeros(1), one, True, False, 1e-8, 1)
        tensor(1.)
    """
    _check_shapes("poisson_nll_loss", input, target)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@operation
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1
) -> Tensor:
    """``input`` where the target is 1, and ``max(0, margin - input)`` where it is -1.

    Args:
        input: the distances.
        target: 1 for pairs that should be near, -1 for pairs that should be far.
        margin: the smallest distance wanted where the target is -1.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Example:
        >>> facula.hinge_embedding_loss(facula.tensor([0.5, 0.25]), facula.tensor([1, -1]))
        tensor(0.6250)
    """
    _check_shapes("hinge_embedding_loss", input, target)
    bound = _core.full((), margin, dtype=input.dtype, device=input.device)
    near = _core.where(target != -1, input, 0)
    far = _core.where(target != 1, (bound - input).clamp_min(0), 0)
    return reduced(near + far, reduction)


@operation
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``.

    Args:
        input1: the scores on one side.
        input2: the scores on the other side.
        target: 1 where ``input1`` should be the larger, -1 where ``input2`` should be.
        margin: by how much the one should be larger than the other.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Example:
        >>> one = facula.ones(1)
        >>> facula.margin_ranking_loss(one, 3 * one, one)
        tensor(2.)
    """
    _check_shapes("margin_ranking_loss", input1, input2, target)
    # As a float the margin makes floats of integers, which have a mean.
    return reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


@operation
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """``1 - cos`` of vectors where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Args:
        input1: the vectors on one side, along the last dimension.
        input2: the vectors on the other side, of the same shape.
        target: 1 for pairs that should be near, -1 for pairs that should be far.
        margin: the largest cosine, from -1 to 1, that costs nothing where the target is -1.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Shape:
        inputs ``(N, D)`` and target ``(N,)``, or ``(D,)`` and ``()``.

    Example:
        >>> x, y = facula.tensor([[1.0, 0.0]]), facula.tensor([[0.0, 1.0]])
        >>> facula.cosine_embedding_loss(x, y, facula.ones(1))
        tensor(1.)
    """
    if target.dim() not in (0, 1):
        raise RuntimeError(
            f"cosine_embedding_loss: expected a target (N,) or (), got {tuple(target.shape)}."
        )
    if input1.dim() != target.dim() + 1 or input2.dim() != target.dim() + 1:
        raise RuntimeError(
            f"cosine_embedding_loss: expected inputs of {target.dim() + 1} dimensions for a target "
            f"{tuple(target.shape)}, got {tuple(input1.shape)} and {tuple(input2.shape)}."
        )
    if input1.is_complex() or input2.is_complex():
        raise NotImplementedError("cosine_embedding_loss: not defined for complex numbers.")
    _check_shapes("cosine_embedding_loss", input1, input2)
    dim = target.dim()
    # Products, which unsigned integers have, not squares.
    square1 = (input1 * input1).sum(dim) + 1e-12
    square2 = (input2 * input2).sum(dim) + 1e-12
    cosine = (input1 * input2).sum(dim) / (square1 * square2).sqrt()
    _check_shapes("cosine_embedding_loss", cosine, target)
    near = _core.where(target == 1, 1 - cosine, 0.0)
    far = _core.where(target == -1, (cosine - margin).clamp_min(0), 0.0)
    return reduced(near + far, reduction)


@operation
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    """By how much an anchor is too near to the negative, compared with the positive.

    Args:
        anchor: the vectors to measure from.
        positive: the vectors that should be near.
        negative: the vectors that should be far.
        margin: by how much farther the negative should be than the positive.
        p: the order of the norm.
        eps: a small number, added to the differences so that no norm is 0.
        swap: whether the distance from the positive to the negative counts, where it is smaller
            than that from the anchor.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Shape:
        anchor, positive and negative ``(N, D)`` or ``(D,)``; losses ``(N,)`` or ``()``.

    Example:
        >>> anchor, far = facula.zeros(1, 2), facula.tensor([[3.0, 4.0]])
        >>> facula.triplet_margin_loss(anchor, far, anchor)
        tensor(6.0000)
    """
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_loss: expected anchor, positive and negative of as many dimensions, "
            f"got {tuple(anchor.shape)}, {tuple(positive.shape)} and {tuple(negative.shape)}."
        )
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _core.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), reduction)


@operation
@looks_at_values
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log likelihood of label sequences that are not aligned with the input.

    The gradient is that for logits of which ``log_probs`` are the log_softmax.

    Args:
        log_probs: the logarithms of the labels' probabilities at each step, from log_softmax.
        targets: the labels, one sequence to a row, or all sequences one after the other.
        input_lengths: how many steps each sequence has.
        target_lengths: how many labels each sequence has.
        blank: the label that stands for none.
        reduction: 0 for none, 1 for the mean of losses over target lengths, 2 for the sum.
        zero_infinity: whether the losses of inputs that are too short for their target are zero,
            as are their gradients, instead of infinite.

    Shape:
        log_probs ``(T, N, C)`` or ``(T, C)``, targets ``(N, S)`` or ``(sum(target_lengths),)``,
        lengths ``(N,)`` or ``()``; losses ``(N,)`` or ``()``.

    Example:
        >>> log_probs = facula.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
        >>> facula.ctc_loss(log_probs, facula.tensor([[1]]), (2,), (1,))
        tensor(0.2877)
    """
    if log_probs.dim() == 0:
        raise IndexError("ctc_loss: expected log_probs (T, N, C) or (T, C), got ().")
    is_batch = log_probs.dim() != 2
    if not is_batch:
        log_probs = log_probs.unsqueeze(1)
    n_steps = _lengths("input_lengths", input_lengths)
    n_labels = _lengths("target_lengths", target_lengths)
    if not is_batch and targets.dim() == 1:
        targets = targets.unsqueeze(0)
    losses = _core._ctc_loss(log_probs, targets, n_steps, n_labels, blank, zero_infinity)
    if reduction == 1:
        shares = _core.tensor(n_labels, dtype=losses.dtype, device=losses.device).clamp_min(1)
        return (losses / shares).mean()
    return reduced(losses if is_batch else losses.squeeze(0), reduction)


def _lengths(name: str, lengths: Tensor | Sequence[int]) -> list[int]:
    if isinstance(lengths, Tensor):
        if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == _core.bool:
            raise RuntimeError(f"ctc_loss: {name} must be integers, got {lengths.dtype}.")
        n_steps: list[int] = lengths.flatten().tolist()
        return n_steps
    if not isinstance(lengths, Sequence):
        raise TypeError(
            f"ctc_loss: expected {name} as a tensor or a sequence of ints, got "
            f"{type(lengths).__name__}."
        )
    return list(lengths)

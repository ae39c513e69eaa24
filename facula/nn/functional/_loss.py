"""Losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from facula import _core, _ops
from facula._core import Tensor
from facula._ops._mark import looks_at_values
from facula._ops._out import named
from facula._ops.losses import reduced
from facula._ops.other import has_kernel
from facula._warnings import warn_user
from facula.autograd.grad_mode import no_grad
from facula.nn._reduction import get_enum, resolve

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def _weighted(name: str, losses: Tensor, weight: Tensor) -> Tensor:
    if weight.shape != losses.shape:
        raise ValueError(
            f"{name}: expected a weight of the input's shape {tuple(losses.shape)}, got "
            f"{tuple(weight.shape)}."
        )
    return losses * weight


def _mean_by_weight(name: str, losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Losses times weights; the mean divides by the sum of the weights."""
    losses = _weighted(name, losses, weight)
    if reduction == "mean":
        return losses.sum() / weight.sum()
    return reduced(losses, get_enum(reduction))


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``(input - target) ** 2``.

    Args:
        input: the predictions.
        target: the values to predict, of the input's shape.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        weight: the weight of each loss, of the input's shape; the mean divides by the sum of the
            weights.

    Example:
        >>> from facula.nn import functional as F
        >>> F.mse_loss(facula.tensor([1.0, 2.0]), facula.tensor([1.0, 5.0]))
        tensor(4.5000)
    """
    reduction = resolve(size_average, reduce, reduction)
    if weight is not None:
        return _mean_by_weight("mse_loss", _core._mse_loss(input, target, 0), weight, reduction)
    return _core._mse_loss(input, target, get_enum(reduction))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``abs(input - target)``.

    Args:
        input: the predictions.
        target: the values to predict, of the input's shape.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        weight: the weight of each loss, of the input's shape; the mean divides by the sum of the
            weights.

    Example:
        >>> from facula.nn import functional as F
        >>> F.l1_loss(facula.tensor([1.0, 2.0]), facula.tensor([1.0, 5.0]))
        tensor(1.5000)
    """
    reduction = resolve(size_average, reduce, reduction)
    if weight is not None:
        return _mean_by_weight("l1_loss", _core._l1_loss(input, target, 0), weight, reduction)
    return _core._l1_loss(input, target, get_enum(reduction))


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared error, but a line that joins it smoothly for errors above ``delta``.

    Args:
        input: the predictions.
        target: the values to predict, of the input's shape.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: the error at which the parabola becomes a line.
        weight: the weight of each loss, of the input's shape.

    Example:
        >>> from facula.nn import functional as F
        >>> F.huber_loss(facula.tensor([1.0, 2.0]), facula.tensor([0.5, 5.0]))
        tensor(1.3125)
    """
    if delta <= 0:
        raise RuntimeError(f"huber_loss: expected delta > 0, got {delta}.")
    # As in PyTorch the result has the dtype of the input here, not the one promotion would give.
    if target.is_floating_point():
        target = target.to(input.dtype)
    if weight is None:
        return _core._huber_loss(input, target, get_enum(reduction), delta)
    losses = _core._huber_loss(input, target, 0, delta)
    return reduced(_weighted("huber_loss", losses, weight), get_enum(reduction))


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy between probabilities and targets.

    Logarithms below -100 count as -100. With logits, ``binary_cross_entropy_with_logits`` is exact.

    Args:
        input: the predicted probabilities, from 0 to 1.
        target: the true probabilities, from 0 to 1, of the input's shape.
        weight: the weight of each loss, broadcast to the input.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.binary_cross_entropy(facula.tensor([0.5, 0.25]), facula.tensor([1.0, 0.0]))
        tensor(0.4904)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    _check_target_shape("binary_cross_entropy", input, target)
    if input.dtype != target.dtype:
        raise RuntimeError(
            f"binary_cross_entropy: expected a target of the input's dtype {input.dtype}, got "
            f"{target.dtype}. Convert it with target.to(input.dtype). (Found dtype "
            f"{_type_name(target)} but expected {_type_name(input)})"
        )
    if weight is None:
        return _core._binary_cross_entropy(input, target, number)
    losses = _core._binary_cross_entropy(input, target, 0) * weight.expand_as(input)
    return named("BinaryCrossEntropyBackward0", reduced(losses, number))


def _type_name(x: Tensor) -> str:
    """The dtype by its name in PyTorch's messages, such as ``Float`` or ``Long``."""
    return str(x.type()).rpartition(".")[2].removesuffix("Tensor")


def _check_target_shape(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ValueError(
            f"{name}: expected a target of the input's shape {tuple(input.shape)}, got "
            f"{tuple(target.shape)}. (Using a target size that is different to the input size)"
        )


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy between probabilities, given as logits, and targets.

    Args:
        input: the logits.
        target: the true probabilities, from 0 to 1, of the input's shape.
        weight: the weight of each loss, broadcast to the input.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        pos_weight: the weights of positive targets by class, broadcast to the target.

    Example:
        >>> from facula.nn import functional as F
        >>> F.binary_cross_entropy_with_logits(facula.tensor([0.0, 2.0]), facula.tensor([1.0, 1.0]))
        tensor(0.4100)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    _check_target_shape("binary_cross_entropy_with_logits", input, target)
    return _ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log probabilities of the target classes.

    Args:
        input: log probabilities of the classes, from ``log_softmax``.
        target: the class indices, int64, each in ``[0, C)`` or ``ignore_index``.
        weight: the weight of each class; the mean divides by the sum of the weights.
        size_average: a deprecated flag, replaced by ``reduction``.
        ignore_index: the class index that marks targets without a loss.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input ``(C,)``, ``(N, C)`` or ``(N, C, *)``, target ``()``, ``(N,)`` or ``(N, *)``; result
        ``()``, or the target's shape without reduction.

    Example:
        >>> from facula.nn import functional as F
        >>> F.nll_loss(facula.tensor([[0.5, 0.5]]).log(), facula.tensor([0]))
        tensor(0.6931)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    return _core._nll_loss(input, target, weight, number, ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between logits and class indices, or probabilities of the classes.

    The softmax is included: pass logits, not probabilities.

    Args:
        input: the logits.
        target: the class indices, int64, each in ``[0, C)`` or ``ignore_index``; or probabilities,
            floating point, of the input's shape.
        weight: the weight of each class; with class indices the mean divides by the sum of the
            weights.
        size_average: a deprecated flag, replaced by ``reduction``.
        ignore_index: the class index that marks targets without a loss.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        label_smoothing: how much of the target is spread evenly over all classes, from 0 to 1.

    Shape:
        input ``(C,)``, ``(N, C)`` or ``(N, C, *)``, target ``()``, ``(N,)`` or ``(N, *)``, or the
        input's; result ``()``, or that of class indices without reduction.

    Example:
        >>> from facula.nn import functional as F
        >>> F.cross_entropy(facula.tensor([[2.0, 0.0], [0.0, 2.0]]), facula.tensor([0, 1]))
        tensor(0.1269)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    # The shape, not the dtype, says that targets are probabilities, as in PyTorch: class indices of
    # the input's shape are refused with a hint.
    if input.shape == target.shape:
        return _soft_cross_entropy(input, target, weight, number, ignore_index, label_smoothing)
    if label_smoothing <= 0.0:
        return _core._cross_entropy(input, target, weight, number, ignore_index)
    if label_smoothing > 1.0:
        raise RuntimeError(
            f"cross_entropy: expected label_smoothing from 0.0 to 1.0, got {label_smoothing}."
        )
    return _smoothed_cross_entropy(input, target, weight, number, ignore_index, label_smoothing)


def _by_class(values: Tensor, dim: int, n_dims: int) -> Tensor:
    """One number for each class, shaped to broadcast along ``dim``."""
    return values.view(*(-1 if d == dim else 1 for d in range(n_dims)))


def _soft_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
) -> Tensor:
    if not target.is_floating_point():
        raise RuntimeError(
            "cross_entropy: expected a floating-point target, since it has the shape of the input "
            f"{tuple(input.shape)}, got {target.dtype}. Class indices have no class dimension."
        )
    if ignore_index >= 0:
        raise RuntimeError("cross_entropy: ignore_index is not supported for soft targets.")
    if label_smoothing > 1.0:
        raise RuntimeError(
            f"cross_entropy: expected label_smoothing from 0.0 to 1.0, got {label_smoothing}."
        )
    dim = 0 if input.dim() == 1 else 1
    n_classes = input.size(dim)
    if weight is not None and weight.shape != (n_classes,):
        raise RuntimeError(
            f"cross_entropy: expected a weight for each of the {n_classes} classes, got "
            f"{tuple(weight.shape)}."
        )
    if label_smoothing > 0.0:
        target = target * (1 - label_smoothing) + label_smoothing / n_classes
    products = _core.log_softmax(input, dim) * target
    if weight is not None:
        products = products * _by_class(weight, dim, input.dim())
    if reduction == 0:
        return -products.sum(dim)
    total = -products.sum()
    if reduction == 2:
        return total
    # Without classes this is 0 / 0, the NaN that the mean of nothing is in PyTorch.
    return total / (input.numel() / n_classes if n_classes else 0)


def _smoothed_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
) -> Tensor:
    dim = 0 if input.dim() == 1 else 1
    log_probs = _core.log_softmax(input, dim)
    # A mixture of the loss of the targets and that of a uniform distribution over the classes.
    hard = _core._nll_loss(log_probs, target, weight, reduction, ignore_index)
    spread = log_probs if weight is None else log_probs * _by_class(weight, dim, input.dim())
    is_ignored = target == ignore_index
    even = -spread.sum(dim).masked_fill(is_ignored, 0)
    if reduction == 1:
        if weight is None:
            even = even.sum() / (~is_ignored).sum()
        else:
            kept = weight[target.long().masked_fill(is_ignored, 0)].masked_fill(is_ignored, 0)
            even = even.sum() / kept.sum()
    elif reduction == 2:
        even = even.sum()
    share = label_smoothing / input.size(dim)
    smoothed: Tensor = hard * (1 - label_smoothing) + even.view_as(hard) * share
    return smoothed


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
        input: the log probabilities of the distribution to compare.
        target: the probabilities to compare with, or their logarithms.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"batchmean"``, the divergence; ``"mean"``, by
            element; ``"sum"`` or ``"none"``.
        log_target: whether the target holds logarithms of probabilities.

    Example:
        >>> from facula.nn import functional as F
        >>> log_probs = facula.tensor([[0.5, 0.5]]).log()
        >>> F.kl_div(log_probs, facula.tensor([[1.0, 0.0]]), reduction="batchmean")
        tensor(0.6931)
    """
    reduction = resolve(size_average, reduce, reduction)
    if reduction == "mean":
        warn_user(
            "kl_div: reduction='mean' divides by the number of elements. reduction='batchmean' "
            "divides by the batch size, which is what the divergence is defined as.",
        )
    is_batchmean = reduction == "batchmean"
    number = get_enum("sum" if is_batchmean else reduction)
    total = _ops.kl_div(input, target, number, log_target=log_target)
    return total / input.size(0) if is_batchmean and input.dim() > 0 else total


def _number_of_name(name: str, reduction: str) -> int:
    """As ``get_enum``, for losses of which PyTorch fails at a reduction that is no name."""
    if not isinstance(reduction, str):
        raise TypeError(f"{name}: expected a str as reduction, got {type(reduction).__name__}.")
    return get_enum(reduction)


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
        input: the expected counts, or their logarithms.
        target: the counts that were observed.
        log_input: whether the input holds logarithms of the expected counts.
        full: whether Stirling's approximation of ``log(target!)`` is added to the loss.
        size_average: a deprecated flag, replaced by ``reduction``.
        eps: a small number that is added to expectations before their logarithm is taken.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.poisson_nll_loss(facula.zeros(2), facula.tensor([1.0, 3.0]))
        tensor(1.)
    """
    number = _number_of_name("poisson_nll_loss", resolve(size_average, reduce, reduction))
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
        input: the expected values.
        target: the values that were observed, of the input's shape or broadcast with it.
        var: the variances: one number, or a tensor of the input's shape, where the last dimension
            may be 1 or missing.
        full: whether the constant ``log(2 pi) / 2`` is added to the loss.
        eps: the smallest variance that is divided by; the bound takes no part in differentiation.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.gaussian_nll_loss(facula.zeros(2), facula.ones(2), facula.ones(2))
        tensor(0.5000)
    """
    if isinstance(var, Tensor):
        var = _variances(input, var)
        is_negative = not var.is_meta and bool((var < 0).any())
    else:
        is_negative = var < 0
        var = var * _core.ones_like(input)
    if is_negative:
        raise ValueError("gaussian_nll_loss: expected variances of 0 or more, got a negative one.")
    number = _number_of_name("gaussian_nll_loss", reduction)
    # Clamped in a copy and unrecorded: the gradient of a variance below eps is not cut off.
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


@looks_at_values
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

    The gradient is the one for logits whose log_softmax is ``log_probs``.

    Args:
        log_probs: the log probabilities of the labels at each step, from ``log_softmax``.
        targets: the labels of the sequences, as rows or one sequence after the other.
        input_lengths: how many steps each sequence has.
        target_lengths: how many labels each sequence has.
        blank: the label that stands for no label at all.
        reduction: what is made of the losses: ``"mean"``, after division by the target lengths,
            ``"sum"`` or ``"none"``.
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


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        input: the distances.
        target: which of the two cases each element belongs to, 1 or -1.
        margin: the smallest distance that costs nothing where the target is -1.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.hinge_embedding_loss(facula.tensor([0.5, 0.25]), facula.tensor([1, -1]))
        tensor(0.6250)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    return _ops.hinge_embedding_loss(input, target, margin, number)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``.

    Args:
        input1: the first scores.
        input2: the scores to compare the first ones with.
        target: 1 where ``input1`` should be the larger, -1 where ``input2``.
        margin: by how much one input should be above the other.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.margin_ranking_loss(facula.ones(1), facula.tensor([3.0]), facula.ones(1))
        tensor(2.)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss: expected inputs and target of as many dimensions, got "
            f"{tuple(input1.shape)}, {tuple(input2.shape)} and {tuple(target.shape)}."
        )
    return _ops.margin_ranking_loss(input1, input2, target, margin, number)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` of vectors where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Args:
        input1: the first vectors, along the last dimension.
        input2: the second vectors, of the shape of ``input1``.
        target: which of the two cases each element belongs to, 1 or -1.
        margin: the largest cosine that costs nothing where the target is -1, from -1 to 1.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        inputs ``(N, D)`` and target ``(N,)``, or ``(D,)`` and ``()``.

    Example:
        >>> from facula.nn import functional as F
        >>> x, y = facula.tensor([[1.0, 0.0]]), facula.tensor([[0.0, 1.0]])
        >>> F.cosine_embedding_loss(x, y, facula.ones(1))
        tensor(1.)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    return _ops.cosine_embedding_loss(input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, where d is a distance.

    Args:
        anchor: the vectors that the others are compared with.
        positive: the vectors that should be near the anchor.
        negative: the vectors that should be far from the anchor.
        margin: by how much the negative should be farther away than the positive; above 0.
        p: the order of the norm.
        eps: a small number that is added to the differences.
        swap: whether the distance from the positive to the negative counts where it is the smaller
            one.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        all ``(N, D)`` or ``(D,)``; losses ``(N,)`` or ``()``.

    Example:
        >>> from facula.nn import functional as F
        >>> anchor, far = facula.zeros(1, 2), facula.tensor([[3.0, 4.0]])
        >>> F.triplet_margin_loss(anchor, far, anchor)
        tensor(6.0000)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: expected margin > 0, got {margin}.")
    return _ops.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with any function as the distance.

    Args:
        anchor: the vectors that the others are compared with.
        positive: the vectors that should be near the anchor.
        negative: the vectors that should be far from the anchor.
        distance_function: a function of two tensors of vectors that returns their distances;
            ``pairwise_distance`` by default.
        margin: by how much the negative should be farther away than the positive; above 0.
        swap: whether the distance from the positive to the negative counts where it is the smaller
            one.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> anchor, far = facula.zeros(1, 2), facula.tensor([[3.0, 4.0]])
        >>> F.triplet_margin_with_distance_loss(
        ...     anchor, far, anchor, distance_function=lambda x, y: (x - y).abs().sum(1)
        ... )
        tensor(8.)
    """
    number = get_enum(reduction)
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: expected margin > 0, got {margin}.")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_with_distance_loss: expected anchor, positive and negative of as many "
            f"dimensions, got {tuple(anchor.shape)}, {tuple(positive.shape)} and "
            f"{tuple(negative.shape)}."
        )
    distance = _ops.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _core.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), number)


def _check_class_dtypes(name: str, input: Tensor, target: Tensor) -> None:
    """Refuse inputs that are not floating point, and targets that are not int64."""
    if not input.is_floating_point():
        raise NotImplementedError(
            f"{name}: expected a floating-point input, got {input.dtype}. Convert it with "
            "input.float()."
        )
    if target.dtype != _core.int64:
        raise RuntimeError(
            f"{name}: expected class indices of dtype int64, got {target.dtype}. Convert them "
            "with target.long()."
        )


def _check_classes(name: str, input: Tensor, target: Tensor, least: int) -> None:
    """Refuse targets that are not from ``least`` to the number of classes minus one."""
    if target.is_cuda and (least == 0 or _core._cuda_is_capturing(target.device.index)):
        return  # gather() reports them, when the GPU is next waited for
    n_classes = input.size(-1) if input.dim() > 0 else 1
    is_bad = (target < least) | (target >= n_classes)
    if is_bad.is_meta or not is_bad.any():
        return
    places = is_bad.nonzero()[0].tolist()
    bad_class = target[tuple(places)].item()
    where = "" if not places else f" at index {places[0] if len(places) == 1 else tuple(places)}"
    raise RuntimeError(
        f"{name}: target has class {bad_class}{where}, but input {tuple(input.shape)} has "
        f"{n_classes} classes."
    )


def _check_rows(name: str, input: Tensor) -> None:
    if input.dim() > 2 or (input.dim() > 0 and input.size(-1) == 0):
        raise RuntimeError(
            f"{name}: expected an input (C,) or (N, C) with classes, got {tuple(input.shape)}."
        )


def _as_rows(input: Tensor) -> Tensor:
    return input if input.dim() == 2 else input.reshape(1, -1)


@looks_at_values
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the scores of other classes exceed that of the target minus the margin.

    Args:
        input: the scores.
        target: the class indices, int64, each in ``[0, C)``.
        p: the power to which each excess is raised, 1 or 2.
        margin: by how much the target's score should be above the others.
        weight: the weight of each class.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input ``(C,)`` or ``(N, C)``, target ``()`` or ``(N,)``; losses of the target's shape.

    Example:
        >>> from facula.nn import functional as F
        >>> F.multi_margin_loss(facula.tensor([[0.1, 0.2, 0.4, 0.8]]), facula.tensor([3]))
        tensor(0.3250)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: expected p = 1 or 2, got {p}.")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss: expected a weight (C,), got {tuple(weight.shape)}.")
    _check_rows("multi_margin_loss", input)
    scores = _as_rows(input)
    n_rows, n_classes = scores.shape
    if target.dim() > 1 or target.numel() != n_rows:
        raise RuntimeError(
            f"multi_margin_loss: expected {n_rows} targets for an input {tuple(input.shape)}, got "
            f"{tuple(target.shape)}."
        )
    if weight is not None and weight.size(0) != n_classes:
        raise RuntimeError(
            f"multi_margin_loss: expected a weight for each of the {n_classes} classes, got "
            f"{tuple(weight.shape)}."
        )
    _check_class_dtypes("multi_margin_loss", input, target)
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(
            f"multi_margin_loss: expected a weight of {input.dtype}, got {weight.dtype}."
        )
    classes = target.reshape(-1, 1)
    try:
        if has_kernel(scores) and (weight is None or has_kernel(weight)):
            losses = _core._margin_losses(scores, classes, 0, p, margin, weight)
        else:
            excess = (margin - scores.gather(1, classes) + scores).scatter(1, classes, 0).relu()
            if p == 2:
                excess = excess.square()
            losses = (excess if weight is None else excess * weight[classes]).mean(1)
    except RuntimeError:
        _check_classes("multi_margin_loss", input, target, 0)  # which says what is wrong
        raise
    if number == 0:
        result = losses if target.dim() else losses.sum()
    else:
        # The mean of no rows is 0 here; PyTorch leaves it whatever the memory held.
        result = losses.mean() if number == 1 and n_rows > 0 else losses.sum()
    return named("MultiMarginLossBackward0", result)


def _composed_multilabel_losses(scores: Tensor, classes: Tensor) -> Tensor:
    # 1 up to the first -1, and 0 from there on. Classes that do not count become 0, a legal index,
    # and the mask of pairs leaves them out.
    counts = (classes >= 0).long().cumprod(1)
    is_captured = counts.is_cuda and _core._cuda_is_capturing(counts.device.index)
    if not counts.is_meta and not is_captured and counts.numel() > 0:
        # Without columns in which no row has a target: most of them, where classes are many.
        n_most = max(1, int(counts.sum(1).max()))
        classes, counts = classes[:, :n_most], counts[:, :n_most]
    classes = classes * counts
    is_target = _core.zeros_like(scores, dtype=_core.int64).scatter_add(1, classes, counts) > 0
    excess = (1 - scores.gather(1, classes).unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    is_pair = (counts > 0).unsqueeze(2) & ~is_target.unsqueeze(1)
    losses: Tensor = excess.masked_fill(~is_pair, 0).sum((1, 2)) / scores.size(1)
    return losses


@looks_at_values
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the scores of other classes exceed those of the targets minus 1.

    Args:
        input: the scores.
        target: the class indices, int64, from the left; what follows the first -1 does not count.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input and target ``(C,)`` or ``(N, C)``; losses ``()`` or ``(N,)``.

    Example:
        >>> from facula.nn import functional as F
        >>> scores = facula.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> F.multilabel_margin_loss(scores, facula.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    _check_rows("multilabel_margin_loss", input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"multilabel_margin_loss: expected a target of the input's shape "
            f"{tuple(input.shape)}, got {tuple(target.shape)}."
        )
    _check_class_dtypes("multilabel_margin_loss", input, target)
    scores = _as_rows(input)
    classes = target.view(scores.shape)
    try:
        if has_kernel(scores):
            losses = _core._margin_losses(scores, classes, -1, 1, 1.0, None)
        else:
            _check_classes("multilabel_margin_loss", input, target, -1)
            losses = _composed_multilabel_losses(scores, classes)
    except RuntimeError:
        _check_classes("multilabel_margin_loss", input, target, -1)  # which says what is wrong
        raise
    losses = losses if input.dim() > 1 else losses.sum()
    return named("MultilabelMarginLossBackward0", reduced(losses, number))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of ``binary_cross_entropy_with_logits``.

    Args:
        input: the logits.
        target: zeros and ones, of the input's shape.
        weight: the weight of each class, broadcast to the input.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input and target ``(*, C)``; losses ``(*)``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.multilabel_soft_margin_loss(facula.tensor([[0.0, 2.0]]), facula.tensor([[1.0, 1.0]]))
        tensor(0.4100)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    losses = -(target * _core._logsigmoid(input) + (1 - target) * _core._logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(losses.sum(-1) / input.size(-1), number)

"""Losses by element and by class."""

from __future__ import annotations

import warnings

from facula import _core, _ops
from facula._core import Tensor
from facula._ops.losses import reduced
from facula._ops.shapes import broadcast_for
from facula.nn._reduction import get_enum, resolve


def _same_shape(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in one shape; a warning where they were not."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"{name}: the target {tuple(target.shape)} and the input {tuple(input.shape)} are "
        "broadcast together, which is likely not what was meant. Give them the same shape.",
        stacklevel=4,
    )
    first, second = broadcast_for(name, input, target)
    return first, second


def _weighted(name: str, losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Losses times weights; the mean is over the weights."""
    if weight.shape != losses.shape:
        raise ValueError(
            f"{name}: expected a weight of the input's shape {tuple(losses.shape)}, got "
            f"{tuple(weight.shape)}."
        )
    losses = losses * weight
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
        input: predictions.
        target: of the input's shape.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        weight: of each loss, of the input's shape; the mean is over the weights.

    Example:
        >>> from facula.nn import functional as F
        >>> F.mse_loss(facula.tensor([1.0, 2.0]), facula.tensor([1.0, 5.0]))
        tensor(4.5000)
    """
    reduction = resolve(size_average, reduce, reduction)
    input, target = _same_shape("mse_loss", input, target)
    if weight is not None:
        return _weighted("mse_loss", _core._mse_loss(input, target, 0), weight, reduction)
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
        input: predictions.
        target: of the input's shape.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        weight: of each loss, of the input's shape; the mean is over the weights.

    Example:
        >>> from facula.nn import functional as F
        >>> F.l1_loss(facula.tensor([1.0, 2.0]), facula.tensor([1.0, 5.0]))
        tensor(1.5000)
    """
    reduction = resolve(size_average, reduce, reduction)
    input, target = _same_shape("l1_loss", input, target)
    losses = (input - target).abs()
    if weight is not None:
        return _weighted("l1_loss", losses, weight, reduction)
    return reduced(losses, get_enum(reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """The absolute error, but for errors below ``beta`` a parabola of the same slope there.

    Args:
        input: predictions.
        target: of the input's shape.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        beta: where the parabola ends; 0 is ``l1_loss``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.smooth_l1_loss(facula.tensor([1.0, 2.0]), facula.tensor([0.5, 5.0]))
        tensor(1.3125)
    """
    reduction = resolve(size_average, reduce, reduction)
    input, target = _same_shape("smooth_l1_loss", input, target)
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss: expected beta >= 0, got {beta}.")
    return _core._smooth_l1_loss(input, target, get_enum(reduction), beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared error, but for errors above ``delta`` a line of the same slope there.

    Args:
        input: predictions.
        target: of the input's shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: where the parabola ends.
        weight: of each loss, of the input's shape.

    Example:
        >>> from facula.nn import functional as F
        >>> F.huber_loss(facula.tensor([1.0, 2.0]), facula.tensor([0.5, 5.0]))
        tensor(1.3125)
    """
    if delta <= 0:
        raise RuntimeError(f"huber_loss: expected delta > 0, got {delta}.")
    input, target = _same_shape("huber_loss", input, target)
    if target.is_floating_point():
        target = target.to(input.dtype)
    if weight is None:
        return _core._huber_loss(input, target, get_enum(reduction), delta)
    if weight.shape != input.shape:
        raise ValueError(
            f"huber_loss: expected a weight of the input's shape {tuple(input.shape)}, got "
            f"{tuple(weight.shape)}."
        )
    return reduced(_core._huber_loss(input, target, 0, delta) * weight, get_enum(reduction))


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy between probabilities and targets.

    Logarithms count as -100 at least. With logits, ``binary_cross_entropy_with_logits`` is exact.

    Args:
        input: probabilities, from 0 to 1.
        target: probabilities, from 0 to 1, of the input's shape.
        weight: of each loss; broadcast.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

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
            f"{target.dtype}. Convert it with target.to(input.dtype)."
        )
    if weight is None:
        return _core._binary_cross_entropy(input, target, number)
    return reduced(_core._binary_cross_entropy(input, target, 0) * weight.expand_as(input), number)


def _check_target_shape(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ValueError(
            f"{name}: expected a target of the input's shape {tuple(input.shape)}, got "
            f"{tuple(target.shape)}."
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
        input: logits.
        target: probabilities, from 0 to 1, of the input's shape.
        weight: of each loss; broadcast.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        pos_weight: of positive targets, by class; broadcast.

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
        input: log probabilities, from ``log_softmax``.
        target: class indices, int64, each in ``[0, C)`` or ``ignore_index``.
        weight: of each class; the mean is over the weights.
        size_average: deprecated, see ``reduction``.
        ignore_index: targets that count nothing.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

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
        input: logits.
        target: class indices, int64, each in ``[0, C)`` or ``ignore_index``; or probabilities,
            floating point, of the input's shape.
        weight: of each class; with class indices the mean is over the weights.
        size_average: deprecated, see ``reduction``.
        ignore_index: class indices that count nothing.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        label_smoothing: how much of the target is spread evenly over all classes, 0 to 1.

    Shape:
        input ``(C,)``, ``(N, C)`` or ``(N, C, *)``, target ``()``, ``(N,)`` or ``(N, *)``, or the
        input's; result ``()``, or that of class indices without reduction.

    Example:
        >>> from facula.nn import functional as F
        >>> F.cross_entropy(facula.tensor([[2.0, 0.0], [0.0, 2.0]]), facula.tensor([0, 1]))
        tensor(0.1269)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
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
    """One number a class, ready to broadcast along ``dim``."""
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
    # No classes: 0 / 0, as the mean of nothing.
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

"""Normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from facula import _core
from facula._core import Tensor
from facula.nn.functional._padding import pad

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]


def _check_batch(name: str, input: Tensor, n_values: int) -> None:
    if n_values == 1:
        raise ValueError(
            f"{name}: training needs at least 2 values of each channel to estimate a variance, got "
            f"an input {tuple(input.shape)}. (Expected more than 1 value per channel when training)"
        )


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Brings each channel to mean 0 and variance 1, then scales and shifts it.

    Args:
        input: a tensor of floating-point dtype, whose dimension 1 counts the channels.
        running_mean: the means to use or, in training, to move towards those of the batch.
        running_var: the variances to use or to move, in the same way as the means.
        weight: what each channel is multiplied by.
        bias: what is added to each channel.
        training: whether mean and variance are those of the batch.
        momentum: the weight of the batch in the new running statistics.
        eps: a small number that is added to the variance, against division by zero.

    Shape:
        input ``(N, C, *)``, all other tensors ``(C,)``; result as the input.

    Example:
        >>> x = facula.tensor([[1.0], [3.0]])
        >>> facula.nn.functional.batch_norm(x, None, None, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    if eps < 0 or (training and eps == 0):
        wanted = "positive" if training else "non-negative"
        raise ValueError(f"batch_norm: expected a {wanted} eps, got {eps}.")
    if training and input.dim() > 1:
        _check_batch("batch_norm", input, input.numel() // max(input.size(1), 1))
    return _core.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Brings each channel of each sample to mean 0 and variance 1, then scales and shifts it.

    Args:
        input: a tensor of floating-point dtype, whose dimension 1 counts the channels.
        running_mean: the means to use, or to move towards those of the input.
        running_var: the variances to use or to move, in the same way as the means.
        weight: what each channel is multiplied by.
        bias: what is added to each channel.
        use_input_stats: whether mean and variance are those of the input.
        momentum: the weight of the input in the new running statistics.
        eps: a small number that is added to the variance, against division by zero.

    Shape:
        input ``(N, C, *)``, all other tensors ``(C,)``; result as the input.

    Example:
        >>> facula.nn.functional.instance_norm(facula.tensor([[[1.0, 3.0]]]), eps=0.0)
        tensor([[[-1.,  1.]]])
    """
    if (running_mean is None) != (running_var is None):
        raise ValueError(
            "instance_norm: expected both of running_mean and running_var, or none of the two."
        )
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(
            "instance_norm: the statistics of an instance need at least 2 places of each channel, "
            f"got an input {tuple(input.shape)}."
        )
    return _core.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Brings groups of channels of each sample to mean 0 and variance 1.

    Args:
        input: a tensor of floating-point dtype, whose dimension 1 counts the channels.
        num_groups: the number of groups that the channels are divided into.
        weight: what each channel is multiplied by.
        bias: what is added to each channel.
        eps: a small number that is added to the variance, against division by zero.

    Shape:
        input ``(N, C, *)``, weight and bias ``(C,)``; result as the input.

    Example:
        >>> facula.nn.functional.group_norm(facula.tensor([[1.0, 3.0]]), 1, eps=0.0)
        tensor([[-1.,  1.]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"group_norm: expected an input (N, C, *), got {tuple(input.shape)}.")
    n_values = input.size(0) * (input.size(1) // num_groups) * math.prod(input.shape[2:])
    _check_batch("group_norm", input, n_values)
    return _core.group_norm(input, num_groups, weight, bias, eps, False)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Brings the last dimensions to mean 0 and variance 1, then scales and shifts them.

    Args:
        input: a tensor of floating-point dtype.
        normalized_shape: the sizes of the last dimensions, which have one mean.
        weight: what each element is multiplied by, of the shape ``normalized_shape``.
        bias: what is added to each element, of the shape ``normalized_shape``.
        eps: a small number that is added to the variance, against division by zero.

    Shape:
        input ``(*, *normalized_shape)``; result of the same shape.

    Example:
        >>> facula.nn.functional.layer_norm(facula.tensor([[1.0, 3.0]]), (2,), eps=0.0)
        tensor([[-1.,  1.]])
    """
    return _core.layer_norm(input, normalized_shape, weight, bias, eps, False)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divides the last dimensions by the root of their mean square, then scales them.

    Args:
        input: a tensor of floating-point dtype.
        normalized_shape: the sizes of the last dimensions, which are divided by one number.
        weight: what each element is multiplied by, of the shape ``normalized_shape``.
        eps: a small number that is added to the mean square; by default ``finfo(float32).eps``, or
            that of float64 for float64.

    Shape:
        input ``(*, *normalized_shape)``; result of the same shape.

    Example:
        >>> facula.nn.functional.rms_norm(facula.tensor([[3.0, 4.0, 0.0, 0.0]]), (4,))
        tensor([[1.2000, 1.6000, 0.0000, 0.0000]])
    """
    return _core.rms_norm(input, normalized_shape, weight, eps)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divides each channel by a power of the mean square of its neighbours.

    Args:
        input: a tensor of floating-point dtype, or int64, whose mean squares are whole numbers.
        size: the number of neighbouring channels that count.
        alpha: the factor of the neighbours' mean square.
        beta: the exponent of what is divided by.
        k: a number that is added to the mean square.

    Shape:
        input ``(N, C, *)`` of three dimensions or more; result of the same shape.

    Example:
        >>> facula.nn.functional.local_response_norm(facula.ones(1, 1, 2), 1, k=3.0, alpha=1.0,
        ...     beta=0.5)
        tensor([[[0.5000, 0.5000]]])
    """
    if input.dim() < 3:
        raise ValueError(
            "local_response_norm: expected an input of at least 3 dimensions (N, C, *), got "
            f"{tuple(input.shape)}."
        )
    if input.numel() == 0:
        return input
    if not input.is_floating_point() and input.dtype != _core.int64:
        raise NotImplementedError(
            f"local_response_norm: expected a floating-point input, got {input.dtype}."
        )
    if size < 1:
        raise RuntimeError(f"local_response_norm: expected a size of 1 or more, got {size}.")
    # Windows of channels as a view: padded with zeros, which count in the mean, as in PyTorch.
    beyond = [0, 0] * (input.dim() - 2)
    squares = pad(input * input, [*beyond, size // 2, (size - 1) // 2])
    windows = squares.unfold(1, size, 1)
    means = windows.mean(-1) if input.is_floating_point() else windows.sum(-1) // size
    return input / (means * alpha + k) ** beta


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int | tuple[int, ...] = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """Divides vectors along a dimension by their norm, so that it becomes 1.

    Args:
        input: a tensor of floating-point or complex dtype.
        p: the order of the norm.
        dim: the dimension, or several, along which the norm is taken.
        eps: the smallest norm that is divided by.
        out: a tensor to write the result to.

    Example:
        >>> facula.nn.functional.normalize(facula.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    size = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / size
    return _core.div(input, size, out=out)

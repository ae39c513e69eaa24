"""Random sampling: activations and dropouts that are products with random numbers."""

from __future__ import annotations

import math

from facula import _core
from facula._core import Generator, Tensor
from facula._ops._mark import looks_at_values, operation
from facula._ops._out import named

# The limit of selu for large negative numbers, with its sign turned.
_ALPHA = 1.7580993408473766


@operation
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zero whole channels with probability ``p`` and scale the others by ``1 / (1 - p)``.

    Args:
        input: samples ``(N, C, *)`` with their channels, floating point.
        p: the probability that a channel is dropped.
        train: whether anything is dropped; otherwise the result is the input.

    Example:
        >>> facula.feature_dropout(facula.ones(1, 2, 2), 0.0, True)
        tensor([[[1., 1.],
                 [1., 1.]]])
    """
    return _dropout("feature_dropout", input, p, train, features=True)


@operation
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_dropout`` in place.

    Args:
        input: samples ``(N, C, *)`` with their channels, floating point.
        p: the probability that a channel is dropped.
        train: whether anything is dropped; otherwise the result is the input.

    Example:
        >>> facula.feature_dropout_(facula.ones(1, 2, 2), 1.0, True)
        tensor([[[0., 0.],
                 [0., 0.]]])
    """
    return _dropout("feature_dropout_", input, p, train, features=True, in_place=True)


@operation
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout for ``selu``, which keeps the mean 0 and the variance 1.

    Args:
        input: the elements, floating point.
        p: the probability that an element is dropped.
        train: whether anything is dropped; otherwise the result is the input.

    Example:
        >>> facula.alpha_dropout(facula.tensor([1.0, 2.0]), 0.0, True)
        tensor([1., 2.])
    """
    return _dropout("alpha_dropout", input, p, train, alpha=True)


@operation
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` in place.

    Args:
        input: the elements, floating point.
        p: the probability that an element is dropped.
        train: whether anything is dropped; otherwise the result is the input.

    Example:
        >>> facula.alpha_dropout_(facula.tensor([1.0, 2.0]), 1.0, True)
        tensor([0., 0.])
    """
    return _dropout("alpha_dropout_", input, p, train, alpha=True, in_place=True)


@operation
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` of whole channels.

    Args:
        input: samples ``(N, C, *)`` with their channels, floating point.
        p: the probability that a channel is dropped.
        train: whether anything is dropped; otherwise the result is the input.

    Example:
        >>> facula.feature_alpha_dropout(facula.ones(1, 2, 2), 0.0, True)
        tensor([[[1., 1.],
                 [1., 1.]]])
    """
    return _dropout("feature_alpha_dropout", input, p, train, features=True, alpha=True)


@operation
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_alpha_dropout`` in place.

    Args:
        input: samples ``(N, C, *)`` with their channels, floating point.
        p: the probability that a channel is dropped.
        train: whether anything is dropped; otherwise the result is the input.

    Example:
        >>> facula.feature_alpha_dropout_(facula.ones(1, 2, 2), 1.0, True)
        tensor([[[0., 0.],
                 [0., 0.]]])
    """
    return _dropout(
        "feature_alpha_dropout_", input, p, train, features=True, alpha=True, in_place=True
    )


def _dropout(
    name: str,
    input: Tensor,
    p: float,
    train: bool,
    *,
    features: bool = False,
    alpha: bool = False,
    in_place: bool = False,
) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"{name}: expected p from 0 to 1, got {p}.")
    if not train or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0) if in_place else input * input.new_zeros(())
    if not features:
        kept = _core.empty_like(input, requires_grad=False)
    elif input.dim() >= 2:
        kept = input.new_empty((*input.shape[:2], *(1,) * (input.dim() - 2)))
    else:
        raise RuntimeError(
            f"{name}: expected an input of at least 2 dimensions, got {tuple(input.shape)}."
        )
    kept.bernoulli_(1 - p)
    if not alpha:
        factor = kept.div_(1 - p)
        return input.mul_(factor) if in_place else input * factor
    # What is dropped becomes -alpha, then all are scaled and shifted to the old mean and variance.
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (kept - 1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    factor = kept.mul_(scale)
    return input.mul_(factor).add_(shift) if in_place else input * factor + shift


@operation
@looks_at_values
def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Multiply the elements that are not positive by slopes, which may be random.

    Args:
        input: the elements, floating point.
        lower: the smallest slope.
        upper: the largest slope.
        training: whether every slope is drawn between the two; otherwise each is their mean.
        generator: the source of the random slopes.

    Example:
        >>> facula.rrelu(facula.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    return _rrelu("rrelu", input, lower, upper, training, generator)


@operation
@looks_at_values
def rrelu_(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """``rrelu`` in place.

    Args:
        input: the elements, floating point.
        lower: the smallest slope.
        upper: the largest slope.
        training: whether every slope is drawn between the two; otherwise each is their mean.
        generator: the source of the random slopes.

    Example:
        >>> facula.rrelu_(facula.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    return _rrelu("rrelu_", input, lower, upper, training, generator, in_place=True)


def _rrelu(
    name: str,
    input: Tensor,
    lower: float,
    upper: float,
    training: bool,
    generator: Generator | None,
    in_place: bool = False,
) -> Tensor:
    if not input.is_floating_point():
        raise NotImplementedError(f"{name}: expected a floating-point input, got {input.dtype}.")
    if not lower <= upper:
        raise RuntimeError(f"{name}: expected lower <= upper, got {lower} and {upper}.")
    if not training:
        slope = (lower + upper) / 2
        result = (_core._leaky_relu_ if in_place else _core._leaky_relu)(input, slope)
        return named("RreluWithNoiseBackward0", result)
    if input.is_meta:
        return input.mul_(1.0) if in_place else input * 1.0
    elements = input.detach()
    if input.is_cuda:
        draws = _core.empty_like(elements)
        slopes = draws.uniform_(lower, upper, generator=generator).masked_fill_(~(elements <= 0), 1)
    else:
        slopes = _core._rrelu_slopes(elements, lower, upper, generator)
    result = input.mul_(slopes) if in_place else input * slopes
    return named("RreluWithNoiseBackward0", result)

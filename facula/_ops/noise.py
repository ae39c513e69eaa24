"""Activations and dropouts that are products with random numbers."""

from __future__ import annotations

import math

from facula import _core
from facula._core import Generator, Tensor

__all__ = [
    "alpha_dropout",
    "alpha_dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "rrelu",
    "rrelu_",
]

# The limit of selu for large negative numbers, with its sign turned.
_ALPHA = 1.7580993408473766


def _is_idle(name: str, input: Tensor, p: float, train: bool) -> bool:
    if not 0 <= p <= 1:
        raise RuntimeError(f"{name}: expected p from 0 to 1, got {p}.")
    return not train or p == 0 or input.numel() == 0


def _kept(input: Tensor, p: float) -> Tensor:
    """Ones, and zeros with probability p."""
    return _core.empty_like(input, requires_grad=False).bernoulli_(1 - p)


def _kept_features(name: str, input: Tensor, p: float) -> Tensor:
    """The same, one for each channel (dimension 1) of each sample."""
    if input.dim() < 2:
        raise RuntimeError(
            f"{name}: expected an input of at least 2 dimensions, got {tuple(input.shape)}."
        )
    sizes = (*input.shape[:2], *(1,) * (input.dim() - 2))
    return input.new_empty(sizes).bernoulli_(1 - p)


def _alpha_parts(kept: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """Factor and summand that put -alpha for what is dropped and restore mean and variance."""
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (kept - 1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    return kept.mul_(scale), shift


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zeroes whole channels with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Shape:
        input ``(N, C, *)``; result the same.

    Example:
        >>> facula.feature_dropout(facula.ones(1, 2, 2), 0.0, True)
        tensor([[[1., 1.],
                 [1., 1.]]])
    """
    if _is_idle("feature_dropout", input, p, train):
        return input
    if p == 1:
        return input * input.new_zeros(())
    return input * _kept_features("feature_dropout", input, p).div_(1 - p)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_dropout`` in place."""
    if _is_idle("feature_dropout_", input, p, train):
        return input
    if p == 1:
        return input.mul_(0)
    return input.mul_(_kept_features("feature_dropout_", input, p).div_(1 - p))


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout for ``selu``: keeps mean 0 and variance 1.

    Example:
        >>> facula.alpha_dropout(facula.tensor([1.0, 2.0]), 0.0, True)
        tensor([1., 2.])
    """
    if _is_idle("alpha_dropout", input, p, train):
        return input
    if p == 1:
        return input * input.new_zeros(())
    factor, shift = _alpha_parts(_kept(input, p), p)
    return input * factor + shift


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` in place."""
    if _is_idle("alpha_dropout_", input, p, train):
        return input
    if p == 1:
        return input.mul_(0)
    factor, shift = _alpha_parts(_kept(input, p), p)
    return input.mul_(factor).add_(shift)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` of whole channels.

    Shape:
        input ``(N, C, *)``; result the same.

    Example:
        >>> facula.feature_alpha_dropout(facula.ones(1, 2, 1), 0.0, True)
        tensor([[[1.],
                 [1.]]])
    """
    if _is_idle("feature_alpha_dropout", input, p, train):
        return input
    if p == 1:
        return input * input.new_zeros(())
    factor, shift = _alpha_parts(_kept_features("feature_alpha_dropout", input, p), p)
    return input * factor + shift


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_alpha_dropout`` in place."""
    if _is_idle("feature_alpha_dropout_", input, p, train):
        return input
    if p == 1:
        return input.mul_(0)
    factor, shift = _alpha_parts(_kept_features("feature_alpha_dropout_", input, p), p)
    return input.mul_(factor).add_(shift)


def _check_slopes(name: str, input: Tensor, lower: float, upper: float) -> None:
    if not input.is_floating_point():
        raise NotImplementedError(f"{name}: expected a floating-point input, got {input.dtype}.")
    if not lower <= upper:
        raise RuntimeError(f"{name}: expected lower <= upper, got {lower} and {upper}.")


def _random_slopes(
    input: Tensor, lower: float, upper: float, generator: Generator | None
) -> Tensor:
    """1 for positive elements; for the others, in their order, a number each."""
    is_below = input.detach() <= 0
    draws = _core.empty(int(is_below.sum()), dtype=_core.float64)
    draws.uniform_(lower, upper, generator=generator)
    return _core.ones_like(input, requires_grad=False).masked_scatter_(
        is_below, draws.to(input.device, input.dtype)
    )


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Each element, times a slope where it is not positive.

    Args:
        input: floating point.
        lower: the least slope.
        upper: the largest slope.
        training: whether each slope is drawn between the two; else it is their mean.
        generator: where the slopes come from.

    Example:
        >>> facula.rrelu(facula.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    _check_slopes("rrelu", input, lower, upper)
    if not training:
        return _core._leaky_relu(input, (lower + upper) / 2)
    return input * _random_slopes(input, lower, upper, generator)


def rrelu_(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """``rrelu`` in place."""
    _check_slopes("rrelu_", input, lower, upper)
    if not training:
        return _core._leaky_relu_(input, (lower + upper) / 2)
    return input.mul_(_random_slopes(input, lower, upper, generator))

"""Dropout in all its forms."""

from __future__ import annotations

import facula
from facula import _core
from facula._core import Tensor
from facula._warnings import warn_user

__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
]


def _check_probability(name: str, p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"{name}: expected a probability p from 0 to 1, got {p}.")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Args:
        input: a tensor of floating-point dtype.
        p: the probability with which an element becomes 0.
        training: whether dropout is applied; otherwise the result is ``input`` itself.
        inplace: whether the result is written into ``input``.

    Example:
        >>> facula.nn.functional.dropout(facula.ones(2), p=0.5, training=False)
        tensor([1., 1.])
    """
    _check_probability("dropout", p)
    return _core.dropout_(input, p, training) if inplace else _core.dropout(input, p, training)


def _of_features(
    input: Tensor, p: float, training: bool, inplace: bool, is_batched: bool = True
) -> Tensor:
    """Zeroes whole channels, which are dimension 1 of a batch and dimension 0 of a sample."""
    function = facula.feature_dropout_ if inplace else facula.feature_dropout
    if is_batched:
        return function(input, p, training)
    # In place of the tensor's own shape, too: the result has to be the input itself.
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = function(batch, p, training)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes whole channels with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Args:
        input: the elements, floating point.
        p: the probability to drop a channel.
        training: whether to drop anything; else the result is the input.
        inplace: whether the results replace the elements of the input.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``; result of the same shape.

    Example:
        >>> facula.nn.functional.dropout1d(facula.ones(1, 2), p=1.0)
        tensor([[0., 0.]])
    """
    _check_probability("dropout1d", p)
    n_dims = input.dim()
    if n_dims not in (2, 3):
        raise RuntimeError(
            f"dropout1d: expected an input (N, C, L) or (C, L), got {tuple(input.shape)}."
        )
    return _of_features(input, p, training, inplace, n_dims == 3)


def _warn_of_shape(name: str, n_dims: int, usual: tuple[int, ...], shapes: str) -> None:
    if n_dims not in usual:
        warn_user(
            f"{name}: expected an input {shapes}, got one of {n_dims} dimensions, which a later "
            "version will refuse. Use dropout instead.",
        )


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes whole channels with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Args:
        input: the elements, floating point.
        p: the probability to drop a channel.
        training: whether to drop anything; else the result is the input.
        inplace: whether the results replace the elements of the input.

    Shape:
        input ``(N, C, H, W)`` or ``(N, C, L)``; result of the same shape.

    Example:
        >>> facula.nn.functional.dropout2d(facula.ones(1, 1, 1, 2), p=1.0)
        tensor([[[[0., 0.]]]])
    """
    _check_probability("dropout2d", p)
    _warn_of_shape("dropout2d", input.dim(), (3, 4), "(N, C, H, W)")
    if input.dim() == 3:
        warn_user(
            "dropout2d: an input of 3 dimensions is taken for (N, C, L), which will change to "
            "(C, H, W) in the future. Use dropout1d instead.",
        )
    return _of_features(input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes whole channels with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Args:
        input: the elements, floating point.
        p: the probability to drop a channel.
        training: whether to drop anything; else the result is the input.
        inplace: whether the results replace the elements of the input.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; result of the same shape.

    Example:
        >>> facula.nn.functional.dropout3d(facula.ones(1, 1, 1, 1, 2), p=1.0)
        tensor([[[[[0., 0.]]]]])
    """
    _check_probability("dropout3d", p)
    _warn_of_shape("dropout3d", input.dim(), (4, 5), "(N, C, D, H, W) or (C, D, H, W)")
    return _of_features(input, p, training, inplace, input.dim() == 5)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout for ``selu``: keeps mean 0 and variance 1.

    Args:
        input: the elements, floating point.
        p: the probability to drop an element.
        training: whether to drop anything; else the result is the input.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.alpha_dropout(facula.ones(2))
        tensor([1., 1.])
    """
    _check_probability("alpha_dropout", p)
    function = facula.alpha_dropout_ if inplace else facula.alpha_dropout
    return function(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """``alpha_dropout`` of whole channels.

    Args:
        input: the elements, floating point.
        p: the probability to drop a channel.
        training: whether to drop anything; else the result is the input.
        inplace: whether the results replace the elements of the input.

    Shape:
        input ``(N, C, *)``; result of the same shape.

    Example:
        >>> facula.nn.functional.feature_alpha_dropout(facula.ones(1, 2))
        tensor([[1., 1.]])
    """
    _check_probability("feature_alpha_dropout", p)
    function = facula.feature_alpha_dropout_ if inplace else facula.feature_alpha_dropout
    return function(input, p, training)

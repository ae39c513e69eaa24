"""Dropout as layers; all of them do nothing in evaluation."""

from __future__ import annotations

from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(
                f"{type(self).__name__}: expected a probability p from 0 to 1, got {p}."
            )
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes elements with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Args:
        p: the probability to drop an element.
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> from facula import nn
        >>> nn.Dropout(p=0.5).eval()(facula.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zeroes whole channels with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Args:
        p: the probability to drop a channel.
        inplace: whether the results replace the elements of the input.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``; result of the same shape.

    Example:
        >>> from facula import nn
        >>> nn.Dropout1d(p=1.0)(facula.ones(1, 2))
        tensor([[0., 0.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zeroes whole channels with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Args:
        p: the probability to drop a channel.
        inplace: whether the results replace the elements of the input.

    Shape:
        input ``(N, C, H, W)`` or ``(N, C, L)``; result of the same shape.

    Example:
        >>> from facula import nn
        >>> nn.Dropout2d(p=1.0)(facula.ones(1, 1, 1, 2))
        tensor([[[[0., 0.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zeroes whole channels with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Args:
        p: the probability to drop a channel.
        inplace: whether the results replace the elements of the input.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; result of the same shape.

    Example:
        >>> from facula import nn
        >>> nn.Dropout3d(p=1.0)(facula.ones(1, 1, 1, 1, 2))
        tensor([[[[[0., 0.]]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout for ``SELU``: keeps mean 0 and variance 1.

    Args:
        p: the probability to drop an element.
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> from facula import nn
        >>> nn.AlphaDropout().eval()(facula.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """``AlphaDropout`` of whole channels.

    Args:
        p: the probability to drop a channel.
        inplace: whether the results replace the elements of the input.

    Shape:
        input ``(N, C, *)``; result of the same shape.

    Example:
        >>> from facula import nn
        >>> nn.FeatureAlphaDropout().eval()(facula.ones(1, 2))
        tensor([[1., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)

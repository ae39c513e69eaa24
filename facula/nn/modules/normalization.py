"""Normalisation within samples."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.nn import functional as F
from facula.nn import init
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Divides each channel by a power of the mean square of its neighbours.

    Args:
        size: the number of neighbouring channels that count.
        alpha: the factor of the neighbours' mean square.
        beta: the exponent of what is divided by.
        k: a number that is added to the mean square.

    Shape:
        input ``(N, C, *)`` of three dimensions or more; result of the same shape.

    Example:
        >>> facula.nn.LocalResponseNorm(1, alpha=1.0, beta=0.5, k=3.0)(facula.ones(1, 1, 2))
        tensor([[[0.5000, 0.5000]]])
    """

    __constants__ = ("size", "alpha", "beta", "k")

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """A :class:`LocalResponseNorm` over an odd number of channels with the own one in the middle.

    As in PyTorch, the first channel also counts as a neighbour of all channels farther away.

    Args:
        size: the number of neighbouring channels that count.
        alpha: the factor of the neighbours' mean square.
        beta: the exponent of what is divided by.
        k: a number that is added to the mean square.

    Shape:
        input ``(N, C, H, W)``; result of the same shape.

    Example:
        >>> facula.nn.CrossMapLRN2d(1, alpha=1.0, beta=0.5, k=3.0)(facula.ones(1, 1, 1, 2))
        tensor([[[[0.5000, 0.5000]]]])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(
                f"CrossMapLRN2d: expected an input (N, C, H, W), got {tuple(input.shape)}."
            )
        reach = (self.size - 1) // 2
        squares = input * input
        sums = squares
        if reach > 0:
            padded = F.pad(squares, [0, 0, 0, 0, reach, reach])
            sums = padded.unfold(1, 2 * reach + 1, 1).sum(-1)
        sums = facula.cat([sums[:, : reach + 1], sums[:, reach + 1 :] + squares[:, :1]], 1)
        return input * (sums * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


def _shape_of(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(normalized_shape, numbers.Integral):
        return (int(normalized_shape),)
    return tuple(normalized_shape)  # type: ignore[arg-type]


class _Affine(Module):
    """The weight and bias by which a layer scales and shifts what it has normalised."""

    weight: Parameter | None
    bias: Parameter | None

    def _register_affine(
        self, shape: Any, has_weight: bool, has_bias: bool, device: Any, dtype: Any
    ) -> None:
        # What a layer does not have is registered as None, as in PyTorch: it can be asked for.
        for name, is_there in (("weight", has_weight), ("bias", has_weight and has_bias)):
            value = facula.empty(shape, device=device, dtype=dtype) if is_there else None
            self.register_parameter(name, None if value is None else Parameter(value))

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Brings the last dimensions to mean 0 and variance 1, then scales and shifts them.

    Args:
        normalized_shape: the sizes of the last dimensions, which have one mean; an int for one
            dimension.
        eps: a small number that is added to the variance, against division by zero.
        elementwise_affine: whether the layer has a weight for each element.
        bias: whether a layer that has a weight has a bias, too.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        input ``(*, *normalized_shape)``; result of the same shape.

    Example:
        >>> facula.nn.LayerNorm(2, eps=0.0, elementwise_affine=False)(facula.tensor([1.0, 3.0]))
        tensor([-1.,  1.])
    """

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")
    normalized_shape: tuple[int, ...]

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._register_affine(self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Brings groups of channels of each sample to mean 0 and variance 1.

    Args:
        num_groups: the number of groups that the channels are divided into.
        num_channels: the number of channels.
        eps: a small number that is added to the variance, against division by zero.
        affine: whether the layer has a weight for each channel.
        device: where the parameters are created.
        dtype: the dtype of the parameters.
        bias: whether a layer that has a weight has a bias, too.

    Shape:
        input ``(N, C, *)``; result of the same shape.

    Example:
        >>> facula.nn.GroupNorm(1, 2, eps=0.0, affine=False)(facula.tensor([[1.0, 3.0]]))
        tensor([[-1.,  1.]])
    """

    __constants__ = ("num_groups", "num_channels", "eps", "affine")

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"GroupNorm: expected num_groups to divide num_channels={num_channels}, got "
                f"{num_groups}."
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._register_affine(num_channels, affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides the last dimensions by the root of their mean square, then scales them.

    Args:
        normalized_shape: the sizes of the last dimensions, which are divided by one number; an int
            for one dimension.
        eps: a small number that is added to the mean square; by default ``finfo(float32).eps``, or
            that of float64 for float64.
        elementwise_affine: whether the layer has a weight for each element.
        device: where the weight is created.
        dtype: the dtype of the weight.

    Shape:
        input ``(*, *normalized_shape)``; result of the same shape.

    Example:
        >>> m = facula.nn.RMSNorm(4, elementwise_affine=False)
        >>> m(facula.tensor([3.0, 4.0, 0.0, 0.0]))
        tensor([1.2000, 1.6000, 0.0000, 0.0000])
    """

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")
    normalized_shape: tuple[int, ...]
    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = None
        if elementwise_affine:
            weight = Parameter(facula.empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weights to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )

"""Layers that are linear in their inputs."""

from __future__ import annotations

import math
from typing import Any

import facula
from facula._core import Tensor
from facula.nn import functional as F
from facula.nn import init
from facula.nn.modules.lazy import LazyModuleMixin
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter, UninitializedParameter

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Passes its input on; arguments of any kind are accepted and ignored.

    Args:
        args: anything, as the layer that it stands for would take.
        kwargs: anything, too.

    Example:
        >>> facula.nn.Identity(54, unused=True)(facula.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``input @ weight.T + bias``.

    Args:
        in_features: the size of the input's last dimension.
        out_features: the size of the result's last dimension.
        bias: whether the layer has a bias.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        input ``(*, in_features)``; result ``(*, out_features)``. ``weight`` is
        ``(out_features, in_features)``.

    Example:
        >>> m = facula.nn.Linear(20, 30)
        >>> m(facula.ones(128, 20)).shape
        torch.Size([128, 30])
    """

    __constants__ = ("in_features", "out_features")
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        kind = {"device": device, "dtype": dtype}
        self.weight = Parameter(facula.empty((out_features, in_features), **kind))
        self.bias = Parameter(facula.empty(out_features, **kind)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias from ``[-bound, bound)``, where ``bound`` is 1/√in_features."""
        # With a = √5 the gain is 1/√3, and the bound of the uniform numbers 1/√fan_in.
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """The linear layer of attention's projection, under the name that it has in PyTorch's repr."""


class Bilinear(Module):
    """``input1 @ weight[k] @ input2 + bias[k]`` for every feature ``k`` of the result.

    Args:
        in1_features: the size of the first input's last dimension.
        in2_features: the size of the second input's last dimension.
        out_features: the size of the result's last dimension.
        bias: whether the layer has a bias.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        input1 ``(*, in1_features)``, input2 ``(*, in2_features)``; result ``(*, out_features)``.
        ``weight`` is ``(out_features, in1_features, in2_features)``.

    Example:
        >>> m = facula.nn.Bilinear(20, 30, 40)
        >>> m(facula.ones(128, 20), facula.ones(128, 30)).shape
        torch.Size([128, 40])
    """

    __constants__ = ("in1_features", "in2_features", "out_features")
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features == 0:
            raise ValueError(f"Bilinear: expected in1_features of at least 1, got {in1_features}.")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        kind = {"device": device, "dtype": dtype}
        self.weight = Parameter(facula.empty((out_features, in1_features, in2_features), **kind))
        self.bias = Parameter(facula.empty(out_features, **kind)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias from ``[-bound, bound)``, where ``bound`` is 1/√in1_features."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A :class:`Linear` that takes ``in_features`` from its first input.

    Args:
        out_features: the size of the result's last dimension.
        bias: whether the layer has a bias.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Example:
        >>> m = facula.nn.LazyLinear(3)
        >>> m(facula.ones(2, 5)).shape
        torch.Size([2, 3])
        >>> m.in_features
        5
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, bias=False)  # of no parameters, whose values would be drawn now
        kind = {"device": device, "dtype": dtype}
        self.out_features = out_features
        self.weight = UninitializedParameter(**kind)
        if bias:
            self.bias = UninitializedParameter(**kind)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if isinstance(self.weight, UninitializedParameter):
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if isinstance(self.bias, UninitializedParameter):
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:  # a state_dict has given the shapes
            self.in_features = self.weight.shape[-1]

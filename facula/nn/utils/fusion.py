"""Batch normalisation merged into the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import facula
from facula._core import Tensor
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

_M = TypeVar("_M", bound=Module)


def _check_eval(name: str, *modules: Module) -> None:
    if any(module.training for module in modules):
        raise AssertionError(f"{name}: only modules in evaluation mode can be fused. Call eval().")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that also does what the batch norm after it does.

    Args:
        conv: the convolution, in evaluation mode.
        bn: the batch norm, in evaluation mode.
        transpose: whether ``conv`` is a transposed convolution.

    Example:
        >>> from facula import nn
        >>> conv, bn = nn.Conv1d(1, 2, 3).eval(), nn.BatchNorm1d(2).eval()
        >>> x = facula.ones(1, 1, 5)
        >>> facula.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
        True
    """
    _check_eval("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight,
        conv.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that also does what the batch norm after it does.

    Args:
        conv_w: the weight of the convolution.
        conv_b: the bias of the convolution.
        bn_rm: the running mean of the batch norm.
        bn_rv: the running variance of the batch norm.
        bn_eps: the epsilon of the batch norm.
        bn_w: the weight of the batch norm.
        bn_b: the bias of the batch norm.
        transpose: whether the convolution is a transposed one, in whose weight the second dimension
            counts the channels of the result.

    Example:
        >>> from facula.nn.utils import fuse_conv_bn_weights
        >>> one = facula.ones(1)
        >>> w, b = fuse_conv_bn_weights(facula.ones(1, 1, 2), None, one, one * 4, 0.0, one, one)
        >>> w.data, b.data
        (tensor([[[0.5000, 0.5000]]]), tensor([0.5000]))
    """
    conv_b = facula.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = facula.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = facula.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = bn_w * facula.rsqrt(bn_rv + bn_eps)
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    bias = ((conv_b - bn_rm) * scale + bn_b).to(conv_b.dtype)
    return (
        Parameter(weight.detach(), conv_w.requires_grad),
        Parameter(bias.detach(), conv_b.requires_grad),
    )


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that also does what the batch norm after it does.

    Args:
        linear: the linear layer, in evaluation mode.
        bn: the batch norm after it, in evaluation mode.

    Example:
        >>> from facula import nn
        >>> linear, bn = nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval()
        >>> x = facula.ones(4, 3)
        >>> facula.allclose(nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-6)
        True
    """
    _check_eval("fuse_linear_bn_eval", linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            f"fuse_linear_bn_eval: expected a batch norm of {linear.out_features} features or of 1 "
            f"after a linear layer of out_features={linear.out_features}, got {bn.num_features}."
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that also does what the batch norm after it does.

    Args:
        linear_w: the weight of the linear layer.
        linear_b: its bias, or None.
        bn_rm: the running mean of the batch norm.
        bn_rv: its running variance.
        bn_eps: the small number that it adds to the variance.
        bn_w: its weight.
        bn_b: its bias.

    Example:
        >>> from facula.nn.utils import fuse_linear_bn_weights
        >>> one = facula.ones(1)
        >>> w, b = fuse_linear_bn_weights(facula.ones(1, 2), None, one, one * 4, 0.0, one, one)
        >>> w.data, b.data
        (tensor([[0.5000, 0.5000]]), tensor([0.5000]))
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)

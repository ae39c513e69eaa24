"""Operations of PyTorch's core that the package has by other arguments, as indexing or as methods.

``torch.ops.aten`` finds them here by PyTorch's names, which are those of the functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.nn import functional

__all__ = [
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
    "_convolution",
    "_grouped_mm",
    "_local_scalar_dense",
    "_log_softmax",
    "_log_softmax_backward_data",
    "_pin_memory",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_shape_as_tensor",
    "_softmax",
    "_softmax_backward_data",
    "_sparse_addmm",
    "_to_copy",
    "_unsafe_view",
    "alias",
    "binary_cross_entropy",
    "elu",
    "huber_loss",
    "index",
    "mse_loss",
    "multi_margin_loss",
    "nll_loss_forward",
    "slice",
    "smooth_l1_loss",
    "soft_margin_loss",
    "sym_size",
    "threshold_backward",
    "unfold",
]

_cut = slice  # the built-in, which the operation of that name hides


def alias(self: Tensor) -> Tensor:
    """A view of all of a tensor."""
    return self.view(self.shape)


def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Elements by tensors of indices, one for each dimension; None takes a whole dimension."""
    return self[tuple(_cut(None) if part is None else part for part in indices)]


def slice(
    self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The view ``self[start:end:step]`` along a dimension."""
    dim = dim if dim >= 0 else dim + self.dim()
    cuts = [_cut(None)] * dim + [_cut(start, end, step)]
    return self[tuple(cuts)]


def _to_copy(
    self: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """What ``to`` does, always as a copy."""
    options = {} if memory_format is None else {"memory_format": memory_format}
    copy = self.to(
        device=device or self.device,
        dtype=dtype or self.dtype,
        non_blocking=non_blocking,
        copy=True,
        **options,
    )
    return copy.pin_memory() if pin_memory else copy


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in page-locked memory."""
    return self.pin_memory()


def _sparse_addmm(
    self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """``beta * self + alpha * (mat1 @ mat2)`` with a sparse matrix ``mat1``."""
    return facula.sparse.addmm(self, mat1, mat2, beta=beta, alpha=alpha)


def _unsafe_view(self: Tensor, size: Sequence[int]) -> Tensor:
    """The elements in another shape."""
    return self.view(size)


def _local_scalar_dense(self: Tensor) -> Any:
    """The only element, as a number."""
    return self.item()


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The sizes of the dimensions, on the CPU."""
    return facula.tensor(self.shape, dtype=facula.int64, device="cpu")


def _grouped_mm(
    self: Tensor,
    mat2: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: facula.dtype | None = None,
) -> Tensor:
    """``nn.functional.grouped_mm`` before it had a public name."""
    return functional.grouped_mm(self, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


def sym_size(self: Tensor, dim: int) -> int:
    """The length of a dimension."""
    return self.shape[dim]


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``softmax``, of half precision in float32 where that is asked for."""
    return facula.softmax(self, dim, dtype=facula.float32 if half_to_float else None)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``log_softmax``, of half precision in float32 where that is asked for."""
    return facula.log_softmax(self, dim, dtype=facula.float32 if half_to_float else None)


def elu(self: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    """``elu`` with two more factors, of which SELU has the first."""
    if scale == 1 and input_scale == 1:
        return functional.elu(self, alpha)
    below = facula.expm1(self * input_scale) * alpha
    return facula.where(self > 0, self, below) * scale


def threshold_backward(grad_output: Tensor, self: Tensor, threshold: float) -> Tensor:
    """The gradient of what ``relu`` or ``threshold`` was taken of."""
    return grad_output.masked_fill(self <= threshold, 0)


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: facula.dtype
) -> Tensor:
    """The gradient of what ``softmax`` was taken of, from its result and the gradient of that."""
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: facula.dtype
) -> Tensor:
    """The same of ``log_softmax``."""
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _convolution(input: Tensor, weight: Tensor, bias: Tensor | None, *args: Any) -> Tensor:
    """``convolution`` with PyTorch's switches of cuDNN at the end, which are ignored."""
    return facula.convolution(input, weight, bias, *args[:6])


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """The method of tensors; ``nn.functional.unfold`` is ``im2col`` there."""
    return self.unfold(dimension, size, step)


def _adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """The kernel of ``adaptive_avg_pool2d``."""
    return functional.adaptive_avg_pool2d(self, tuple(output_size))


def _adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """The kernel of ``adaptive_avg_pool3d``."""
    return functional.adaptive_avg_pool3d(self, tuple(output_size))


def _scaled_dot_product_flash_attention_for_cpu(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention, and the logarithm of what the weights of each query were divided by."""
    out = functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale
    )
    factor = query.size(-1) ** -0.5 if scale is None else scale
    scores = query.detach() @ key.detach().transpose(-2, -1) * factor
    if is_causal:
        scores = scores.masked_fill(facula.ones_like(scores, dtype=facula.bool).triu(1), -math.inf)
    if attn_mask is not None:
        is_mask = attn_mask.dtype == facula.bool
        scores = scores.masked_fill(~attn_mask, -math.inf) if is_mask else scores + attn_mask
    return out, scores.logsumexp(-1)


# ---- losses, which nn.functional gives a reduction by its name

REDUCTIONS = ("none", "mean", "sum")


def mse_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """The squares of differences."""
    return functional.mse_loss(self, target, reduction=REDUCTIONS[reduction])


def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Tensor:
    """Differences, their squares where they are small."""
    return functional.smooth_l1_loss(self, target, reduction=REDUCTIONS[reduction], beta=beta)


def huber_loss(self: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Tensor:
    """Squares of differences, and the differences where they are large."""
    return functional.huber_loss(self, target, reduction=REDUCTIONS[reduction], delta=delta)


def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """The logistic loss of two classes, 1 and -1."""
    return functional.soft_margin_loss(self, target, reduction=REDUCTIONS[reduction])


def multi_margin_loss(
    self: Tensor,
    target: Tensor,
    p: float = 1,
    margin: float = 1,
    weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """How far other classes come within a margin of the right one."""
    kind = REDUCTIONS[reduction]
    return functional.multi_margin_loss(self, target, int(p), margin, weight, reduction=kind)


def binary_cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    """Cross entropy between probabilities and targets of two classes."""
    return functional.binary_cross_entropy(self, target, weight, reduction=REDUCTIONS[reduction])


def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """The negative log likelihood, and the sum of the weights that a mean is divided by."""
    kind = REDUCTIONS[reduction]
    loss = functional.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=kind)
    if kind == "none":
        return loss, self.new_zeros(())
    is_counted = target != ignore_index
    if weight is None:
        return loss, is_counted.sum().to(self.dtype)
    return loss, weight[target.where(is_counted, 0)].where(is_counted, 0).sum()

"""Operations of PyTorch's core that the package has by other arguments, as indexing or as methods.

``torch.ops.aten`` finds them here by PyTorch's names, which are those of the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor

__all__ = [
    "_convolution",
    "_local_scalar_dense",
    "_log_softmax",
    "_log_softmax_backward_data",
    "_pin_memory",
    "_softmax",
    "_softmax_backward_data",
    "_sparse_addmm",
    "_to_copy",
    "_unsafe_view",
    "alias",
    "index",
    "slice",
    "sym_size",
    "threshold_backward",
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


def sym_size(self: Tensor, dim: int) -> int:
    """The length of a dimension."""
    return self.shape[dim]


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``softmax``, of half precision in float32 where that is asked for."""
    return facula.softmax(self, dim, dtype=facula.float32 if half_to_float else None)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``log_softmax``, of half precision in float32 where that is asked for."""
    return facula.log_softmax(self, dim, dtype=facula.float32 if half_to_float else None)


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

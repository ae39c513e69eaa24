"""What the core calls where the graph or an optimiser meets a sparse tensor."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula.sparse import _convert
from facula.sparse._derive import from_parts, to_dense
from facula.sparse._tensor import COO, CSC, CSR, SparseTensor, is_sparse

__all__ = ["to_dense"]


def add(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two gradients: sparse if both are."""
    return b + a if is_sparse(a) and not is_sparse(b) else a + b


def add_(sum: Tensor, x: Tensor) -> Tensor:
    """The gradient added in place."""
    return sum.add_(x)


def to_dtype(x: Tensor, dtype: Any) -> Tensor:
    """The gradient in the dtype of its tensor."""
    return x.to(dtype)


def real(x: SparseTensor) -> Tensor:
    """The real part of a gradient whose tensor is real."""
    return facula.real(x)


def clone(x: Tensor) -> Tensor:
    """A gradient that nobody else holds."""
    return x.clone()


def detach(x: Tensor) -> Tensor:
    """The gradient without its history."""
    return x.detach()


def zero_(x: Tensor) -> Tensor:
    """The gradient as it is before the next step."""
    return x.zero_()


def values(x: SparseTensor) -> Tensor:
    """All the numbers of a gradient, to be looked at."""
    return x._data


def empty(layout: Any, size: Any, dtype: Any, device: Any) -> SparseTensor:
    """What ``zeros`` and ``empty`` make for a sparse layout."""
    is_coo = layout is COO
    if not is_coo and (layout not in (CSR, CSC) or len(size) < 2):
        raise NotImplementedError(
            f"layout {layout} is not implemented for the shape {tuple(size)}. Use sparse_coo, or "
            "sparse_csr for matrices."
        )
    return _convert.empty(layout, tuple(size), len(size) if is_coo else 2, dtype, device)


def rows(indices: Tensor, values: Tensor, n_rows: int, padding_idx: int) -> SparseTensor:
    """The gradient of a table of ``n_rows``, of which row ``padding_idx`` is left out."""
    if padding_idx >= 0:
        kept = (indices != padding_idx).nonzero().reshape(-1)
        indices, values = indices.index_select(0, kept), values.index_select(0, kept)
    return from_parts(COO, (indices.unsqueeze(0),), values, (n_rows, values.size(-1)))

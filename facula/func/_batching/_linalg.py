"""Factorisations and what is solved with them: matrices take dimensions in front anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._core import Tensor
from facula._transform import map_tensors
from facula.func._batching._batch import Batch, rule

_Function = Callable[..., Any]

# Of one matrix: any dimensions in front are a batch.
_OF_ONE = """
    _cholesky_inverse _geqrf _linalg_cholesky_ex _linalg_det _linalg_eig _linalg_eigh _linalg_inv_ex
    _linalg_ldl_factor_ex _linalg_lu _linalg_lu_factor_ex _linalg_matrix_exp _linalg_pinv _linalg_qr
    _linalg_slogdet _linalg_svd
"""
# Of several matrices, or matrices and vectors that go with them.
_OF_SEVERAL = """
    _cholesky_solve _householder_product _linalg_ldl_solve _linalg_lstsq _linalg_lu_solve
    _linalg_solve_triangular _lu_unpack _ormqr _triangular_solve
"""


# Of an example of each tensor, the dimensions that are no batch, where not two.
_VECTORS = {
    "_householder_product": {1: 1},
    "_linalg_ldl_solve": {1: 1},
    "_linalg_lu_solve": {1: 1},
    "_linalg_pinv": {1: 0, 2: 0},
    "_lu_unpack": {1: 1},
    "_ormqr": {1: 1},
}


@rule(*_OF_ONE.split(), *_OF_SEVERAL.split())
def together(batch: Batch, func: _Function, *args: Any) -> Any:
    tensors = {i: a for i, a in enumerate(args) if isinstance(a, Tensor)}
    vectors = _VECTORS.get(func.__name__, {})
    n_batch = max(int(x.dim()) - vectors.get(i, 2) for i, x in tensors.items())

    def all_of(i: int, x: Any) -> Any:
        if i not in tensors:
            return x
        # An example that is a batch itself meets the batches of others from behind.
        n_missing = n_batch - (int(x.dim()) - vectors.get(i, 2))
        return batch.all_of(x).reshape(batch.size, *(1,) * n_missing, *x.shape)

    def wrapped(result: Tensor) -> Tensor:
        # What was not asked for is a tensor without elements, and no batch of them.
        is_batch = result.dim() > 0 and int(result.shape[0]) == batch.size
        return batch.wrap(result) if is_batch else result

    return map_tensors(wrapped, func(*(all_of(i, x) for i, x in enumerate(args))))


@rule("_linalg_solve_ex")
def solve_ex(batch: Batch, func: _Function, a: Tensor, b: Tensor, *args: Any) -> Any:
    is_vector = b.dim() == 1 or (a.dim() - 1 == b.dim() and a.shape[:-1] == b.shape)
    if not is_vector or not args[0]:  # which is left=
        return together(batch, func, a, b, *args)
    column = batch.wrap(batch.all_of(b).unsqueeze(-1))
    x, *rest = together(batch, func, a, column, *args)
    return (batch.wrap(batch.lower(x).squeeze(-1)), *rest)

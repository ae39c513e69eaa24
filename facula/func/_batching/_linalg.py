"""Factorisations and what is solved with them: matrices take dimensions in front anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._core import Tensor
from facula._transform import map_tensors
from facula.func._batching._batch import Batch, loop_quietly, rule

# Of one matrix: any dimensions in front are a batch.
_OF_ONE = """
    _cholesky_inverse _geqrf _linalg_cholesky_ex _linalg_det _linalg_eig _linalg_eigh _linalg_inv_ex
    _linalg_ldl_factor_ex _linalg_lu _linalg_lu_factor_ex _linalg_matrix_exp _linalg_pinv _linalg_qr
    _linalg_slogdet _linalg_svd
"""
# Of several matrices, or matrices and vectors that go with them.
_OF_SEVERAL = """
    _cholesky_solve _householder_product _linalg_ldl_solve _linalg_lstsq _linalg_lu_solve
    _linalg_solve_ex _linalg_solve_triangular _lu_unpack _ormqr _triangular_solve
"""


@rule(*_OF_ONE.split(), *_OF_SEVERAL.split())
def together(batch: Batch, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    # Of several, an example that is a batch itself would not know which dimension of another goes
    # with its own.
    if len(tensors) > 1 and any(x.dim() > 2 for x in tensors):
        return loop_quietly(batch, func, *args, **kwargs)

    def all_of(value: Any) -> Any:
        return batch.all_of(value) if isinstance(value, Tensor) else value

    def wrapped(result: Tensor) -> Tensor:
        # What was not asked for is a tensor without elements, and no batch of them.
        is_batch = result.dim() > 0 and int(result.shape[0]) == batch.size
        return batch.wrap(result) if is_batch else result

    named = {name: all_of(value) for name, value in kwargs.items()}
    return map_tensors(wrapped, func(*map(all_of, args), **named))

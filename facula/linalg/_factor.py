"""Factorisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops import linear_algebra
from facula._ops._mark import operation
from facula._ops._out import into_each, into_like

__all__ = [
    "cholesky",
    "cholesky_ex",
    "householder_product",
    "ldl_factor",
    "ldl_factor_ex",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "qr",
]


@operation(module="facula.linalg")
def cholesky(input: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor ``L`` of positive-definite matrices ``L L^H``.

    Raises ``LinAlgError`` where a matrix is not positive-definite.

    Args:
        input: the matrices, symmetric or Hermitian; one triangle is read.
        upper: whether to return the upper triangle ``L^H``, and to read the upper one.
        out: where to put the result.

    Shape:
        input and result ``(*, n, n)``.

    Example:
        >>> facula.linalg.cholesky(facula.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    factor = _core._linalg_cholesky_ex(input, upper, True, False)[0]
    return into_like("linalg.cholesky", out, factor)


@operation(module="facula.linalg")
def cholesky_ex(
    input: Tensor,
    *,
    upper: bool = False,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """The Cholesky factor, and for each matrix whether it is positive-definite.

    Args:
        input: the matrices, symmetric or Hermitian; one triangle is read.
        upper: whether to return the upper triangle, and to read the upper one.
        check_errors: whether to raise ``LinAlgError`` where a matrix is not positive-definite.
        out: a pair of tensors where to put the results.

    Shape:
        input and ``L`` ``(*, n, n)``; ``info`` ``(*)``: 0, or the order of the first leading minor
        that is not positive.

    Example:
        >>> facula.linalg.cholesky_ex(facula.tensor([[1.0, 2.0], [2.0, 1.0]])).info
        tensor(2, dtype=torch.int32)
    """
    results = _core._linalg_cholesky_ex(input, upper, check_errors, False)
    return into_each("linalg.cholesky_ex", out, results)


@operation(module="facula.linalg")
def lu(A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None) -> Any:
    """Matrices as the product of a permutation, a lower and an upper triangle: ``A = P L U``.

    Args:
        A: the matrices.
        pivot: whether rows are swapped; it must be True.
        out: three tensors where to put the results.

    Shape:
        A ``(*, m, n)``; ``P`` ``(*, m, m)``, ``L`` ``(*, m, k)``, ``U`` ``(*, k, n)`` with
        ``k = min(m, n)``.

    Example:
        >>> P, L, U = facula.linalg.lu(facula.tensor([[1.0, 2.0], [2.0, 2.0]]))
        >>> L
        tensor([[1.0000, 0.0000],
                [0.5000, 1.0000]])
    """
    return into_each("linalg.lu", out, _core._linalg_lu(A, pivot))


@operation(module="facula.linalg")
def lu_factor(A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None) -> Any:
    """The factors of ``A = P L U`` in one matrix, and the rows that were swapped.

    Args:
        A: the matrices.
        pivot: whether rows are swapped; it must be True.
        out: a pair of tensors where to put the results.

    Shape:
        A and ``LU`` ``(*, m, n)``, ``pivots`` ``(*, min(m, n))``, counted from 1.

    Example:
        >>> facula.linalg.lu_factor(facula.tensor([[1.0, 2.0], [2.0, 2.0]])).pivots
        tensor([2, 2], dtype=torch.int32)
    """
    return into_each("linalg.lu_factor", out, _core._linalg_lu_factor_ex(A, pivot, True)[:2])


@operation(module="facula.linalg")
def lu_factor_ex(
    A: Tensor,
    *,
    pivot: bool = True,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """``lu_factor``, and for each matrix whether its factors can be solved with.

    Args:
        A: the matrices.
        pivot: whether rows are swapped; it must be True.
        check_errors: whether to raise ``LinAlgError`` where a matrix is singular.
        out: three tensors where to put the results.

    Shape:
        A and ``LU`` ``(*, m, n)``, ``pivots`` ``(*, min(m, n))``; ``info`` ``(*)``: 0, or which
        element of the diagonal of ``U``, counted from 1, is zero.

    Example:
        >>> facula.linalg.lu_factor_ex(facula.ones(2, 2)).info
        tensor(2, dtype=torch.int32)
    """
    results = _core._linalg_lu_factor_ex(A, pivot, check_errors)
    return into_each("linalg.lu_factor_ex", out, results)


@operation(module="facula.linalg")
def ldl_factor(
    input: Tensor, *, hermitian: bool = False, out: Sequence[Tensor] | None = None
) -> Any:
    """The factors of ``A = L D L^T`` in one matrix, for symmetric matrices that may be indefinite.

    There is no derivative.

    Args:
        input: the matrices, of which the lower triangle is read.
        hermitian: whether complex matrices are Hermitian, ``A = L D L^H``, rather than symmetric.
        out: a pair of tensors where to put the results.

    Shape:
        input and ``LD`` ``(*, n, n)``, ``pivots`` ``(*, n)``.

    Example:
        >>> facula.linalg.ldl_factor(facula.tensor([[2.0, 1.0], [1.0, 1.0]])).LD
        tensor([[2.0000, 0.0000],
                [0.5000, 0.5000]])
    """
    results = _core._linalg_ldl_factor_ex(input, hermitian, True)[:2]
    return into_each("linalg.ldl_factor", out, results)


@operation(module="facula.linalg")
def ldl_factor_ex(
    input: Tensor,
    *,
    hermitian: bool = False,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """``ldl_factor``, and for each matrix whether its factors can be solved with.

    Args:
        input: the matrices, of which the lower triangle is read.
        hermitian: whether complex matrices are Hermitian rather than symmetric.
        check_errors: whether to raise ``LinAlgError`` where ``D`` is singular.
        out: three tensors where to put the results.

    Shape:
        input and ``LD`` ``(*, n, n)``, ``pivots`` ``(*, n)``, ``info`` ``(*)``.

    Example:
        >>> facula.linalg.ldl_factor_ex(facula.zeros(2, 2)).info
        tensor(1, dtype=torch.int32)
    """
    results = _core._linalg_ldl_factor_ex(input, hermitian, check_errors)
    return into_each("linalg.ldl_factor_ex", out, results)


@operation(module="facula.linalg")
def qr(A: Tensor, mode: str = "reduced", *, out: Sequence[Tensor] | None = None) -> Any:
    """Matrices as the product of a unitary ``Q`` and an upper triangle ``R``.

    Args:
        A: the matrices.
        mode: ``"reduced"``: ``Q`` has as many columns as are needed; ``"complete"``: it is square;
            ``"r"``: it is not computed, and empty.
        out: a pair of tensors where to put the results.

    Shape:
        A ``(*, m, n)``; ``Q`` ``(*, m, k)``, ``R`` ``(*, k, n)`` with ``k = min(m, n)``, or
        ``k = m`` if complete.

    Example:
        >>> Q, R = facula.linalg.qr(facula.ones(3, 2))
        >>> Q.shape, R.shape
        (torch.Size([3, 2]), torch.Size([2, 2]))
    """
    return into_each("linalg.qr", out, _core._linalg_qr(A, mode))


@operation(module="facula.linalg")
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of Householder's reflectors, as ``geqrf`` returns them.

    Args:
        input: the reflectors, below the diagonal.
        tau: the factor of each reflector.
        out: where to put the result.

    Shape:
        input and result ``(*, m, n)``, tau ``(*, k)`` with ``k <= n <= m``.

    Example:
        >>> a, tau = facula.geqrf(facula.tensor([[0.0], [3.0]]))
        >>> facula.linalg.householder_product(a, tau).abs()
        tensor([[0.],
                [1.]])
    """
    product = linear_algebra.householder_product(input, tau)
    return into_like("linalg.householder_product", out, product)

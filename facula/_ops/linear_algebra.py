"""Factorisations of matrices under PyTorch's older names; ``facula.linalg`` has all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from facula import _core, return_types
from facula._core import Tensor
from facula._ops._mark import operation
from facula._ops._out import into, into_each, into_like


@operation(method=True)
def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor of symmetric or Hermitian positive-definite matrices.

    ``facula.linalg.cholesky`` is the newer name.

    Args:
        input: the matrices, of which one triangle is read.
        upper: whether to return the factor that is an upper triangle.
        out: where to put the result.

    Shape:
        input and result ``(*, n, n)``.

    Example:
        >>> facula.cholesky(facula.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    return into("cholesky", out, _core._linalg_cholesky_ex(input, upper, True, True)[0])


@operation(method=True)
def cholesky_solve(
    input: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Solve ``A X = B`` with the Cholesky factor of ``A``.

    Args:
        input: the right sides ``B``.
        input2: the factor of ``A``, as ``cholesky`` returns it.
        upper: whether the factor is an upper triangle.
        out: where to put the result.

    Shape:
        input and result ``(*, n, k)``, input2 ``(*, n, n)``.

    Example:
        >>> factor = facula.tensor([[2.0, 0.0], [1.0, 2.0]])
        >>> facula.cholesky_solve(facula.tensor([[8.0], [8.0]]), factor)
        tensor([[1.5000],
                [1.0000]])
    """
    return into_like("cholesky_solve", out, _core._cholesky_solve(input, input2, upper))


@operation(method=True)
def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of matrices, by their Cholesky factors.

    Args:
        input: the factors, as ``cholesky`` returns them.
        upper: whether the factors are upper triangles.
        out: where to put the result.

    Shape:
        input and result ``(*, n, n)``.

    Example:
        >>> facula.cholesky_inverse(facula.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor([[0.2500, 0.0000],
                [0.0000, 1.0000]])
    """
    return into_like("cholesky_inverse", out, _core._cholesky_inverse(input, upper))


@operation(method=True)
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices; ``facula.linalg.inv`` is the newer name.

    Args:
        input: the matrices.
        out: where to put the result.

    Shape:
        input and result ``(*, n, n)``.

    Example:
        >>> facula.inverse(facula.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return into_like("inverse", out, _core._linalg_inv_ex(input, True)[0])


@operation(method=True)
def det(input: Tensor) -> Tensor:
    """The determinant of square matrices.

    Args:
        input: the matrices.

    Shape:
        input ``(*, n, n)``; result ``(*)``.

    Example:
        >>> facula.det(facula.tensor([[2.0, 1.0], [0.0, 3.0]]))
        tensor(6.)
    """
    return _core._linalg_det(input)


@operation(method=True)
def slogdet(input: Tensor, *, out: Sequence[Tensor] | None = None) -> Any:
    """The sign of the determinant, and the logarithm of its size.

    Args:
        input: square matrices.
        out: a pair of tensors where to put the results.

    Shape:
        input ``(*, n, n)``; results ``(*)``.

    Example:
        >>> facula.slogdet(facula.tensor([[-2.0, 0.0], [0.0, 0.5]])).sign
        tensor(-1.)
    """
    return into_each("slogdet", out, _core._linalg_slogdet(input))


@operation(method=True)
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where a real determinant is negative.

    Args:
        input: square matrices.

    Shape:
        input ``(*, n, n)``; result ``(*)``.

    Example:
        >>> facula.logdet(facula.eye(3))
        tensor(0.)
    """
    sign, logs = _core._linalg_slogdet(input)
    result: Tensor = (
        logs + sign.log() if input.is_complex() else _core.where(sign == -1.0, math.nan, logs)
    )
    return result


@operation(method=True)
def qr(input: Tensor, some: bool = True, *, out: Sequence[Tensor] | None = None) -> Any:
    """Matrices as a product of a unitary ``Q`` and an upper triangle ``R``.

    ``facula.linalg.qr`` is the newer name.

    Args:
        input: the matrices.
        some: whether ``Q`` has only as many columns as are needed.
        out: a pair of tensors where to put the results.

    Shape:
        input ``(*, m, n)``; ``Q`` ``(*, m, k)`` and ``R`` ``(*, k, n)`` with ``k = min(m, n)``, or
        ``k = m`` without ``some``.

    Example:
        >>> q, r = facula.qr(facula.ones(3, 2))
        >>> q.shape, r.shape
        (torch.Size([3, 2]), torch.Size([2, 2]))
    """
    return into_each("qr", out, _core._linalg_qr(input, "reduced" if some else "complete"))


@operation(method=True)
def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> Any:
    """The factor ``R`` and, below its diagonal, the reflectors whose product is ``Q``.

    Args:
        input: the matrices.
        out: a pair of tensors where to put the results.

    Shape:
        input and ``a`` ``(*, m, n)``, ``tau`` ``(*, min(m, n))``.

    Example:
        >>> a, tau = facula.geqrf(facula.ones(3, 2))
        >>> a.shape, tau.shape
        (torch.Size([3, 2]), torch.Size([2]))
    """
    return into_each("geqrf", out, _core._geqrf(input))


@operation(method=True)
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of Householder's reflectors.

    Another name of ``facula.linalg.householder_product``.

    Args:
        input: the reflectors, below the diagonal.
        input2: the factor of each reflector.
        out: where to put the result.

    Shape:
        input and result ``(*, m, n)``, input2 ``(*, k)``.

    Example:
        >>> a, tau = facula.geqrf(facula.tensor([[0.0], [3.0]]))
        >>> facula.orgqr(a, tau).abs()
        tensor([[0.],
                [1.]])
    """
    return into_like("orgqr", out, householder_product(input, input2))


def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The product itself; where a gradient is wanted, of operations that have one."""
    is_recorded = _core.is_grad_enabled() and (input.requires_grad or tau.requires_grad)
    if not is_recorded and not _core._transforms():
        return _core._householder_product(input, tau)
    _core._householder_product(input.detach(), tau.detach())  # checks the arguments
    identity = _core.eye(*input.shape[-2:], dtype=input.dtype, device=input.device)
    return _reflected(identity.expand(input.shape), input, tau, True, False)


def _reflected(x: Tensor, a: Tensor, tau: Tensor, left: bool, transpose: bool) -> Tensor:
    """``op(Q) x``, or ``x op(Q)``, one reflector ``I - tau v v^H`` after the other."""
    # Transposed, as ``x^T conj(op(Q))^H``, so that the result lies by columns as LAPACK's does.
    x, left, transpose = x.mT.contiguous(), not left, not transpose
    identity = _core.eye(*a.shape[-2:], dtype=a.dtype, device=a.device)
    vectors = (a.tril(-1) + identity).conj()
    factors = tau if transpose else tau.conj()
    order = range(tau.size(-1))
    for i in order if left == transpose else reversed(order):
        v, factor = vectors[..., i : i + 1], factors[..., i, None, None]
        x = x - (factor * v) @ (v.mH @ x) if left else x - (x @ v) @ (factor * v.mH)
    return x.mT


@operation(method=True)
def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Multiply matrices with a product ``Q`` of Householder's reflectors.

    Args:
        input: the reflectors, as ``geqrf`` returns them.
        input2: the factor of each reflector, ``tau``.
        input3: the matrices to multiply.
        left: whether ``Q`` stands on the left of them.
        transpose: whether to multiply with the conjugate transpose of ``Q``.
        out: where to put the result.

    Shape:
        input ``(*, mn, k)``, where ``mn`` is ``m`` on the left and ``n`` on the right; input2
        ``(*, k)``; input3 and result ``(*, m, n)``.

    Example:
        >>> a, tau = facula.geqrf(facula.eye(2))
        >>> facula.ormqr(a, tau, facula.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    plain = [t.detach() for t in (input, input2, input3)]
    result = _core._ormqr(plain[0], plain[1], plain[2], left, transpose)  # checks the arguments
    is_recorded = any(t.requires_grad for t in (input, input2, input3))
    if (_core.is_grad_enabled() and is_recorded) or _core._transforms():
        result = _reflected(input3, input, input2, left, transpose)
    return into_like("ormqr", out, result)


@operation(method=True)
def svd(
    input: Tensor,
    some: bool = True,
    compute_uv: bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """Singular values and vectors: ``input = U diag(S) V^H``.

    ``facula.linalg.svd`` is the newer name, and returns ``V^H``.

    Args:
        input: the matrices.
        some: whether to return only the vectors that belong to singular values.
        compute_uv: whether to compute the vectors; otherwise they are zeros.
        out: three tensors where to put the results.

    Shape:
        input ``(*, m, n)``; ``U`` ``(*, m, k)``, ``S`` ``(*, k)``, ``V`` ``(*, n, k)`` with
        ``k = min(m, n)``.

    Example:
        >>> facula.svd(facula.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
    """
    if compute_uv:
        u, s, vh = _core._linalg_svd(input, not some, True)
        return into_each("svd", out, (u, s, vh.mH))
    s = _core._linalg_svd(input, False, False)[1]
    batch, (m, n) = input.shape[:-2], input.shape[-2:]
    u, v = (input.new_zeros(*batch, size, size) for size in (m, n))
    return into_each("svd", out, (u, s, v))


@operation(method=True)
def lu(
    A: Tensor, pivot: bool = True, get_infos: Any = False, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...]:
    """The factors of ``A = P L U`` in one matrix, and the rows that were swapped.

    ``facula.linalg.lu_factor`` is the newer name.

    Args:
        A: the matrices.
        pivot: whether rows are swapped; it must be True.
        get_infos: whether to return, as a third result, a number for each matrix: 0, or which
            element of the diagonal is zero. Otherwise such a matrix is no error either.
        out: tensors where to put the results.

    Shape:
        A and the factors ``(*, m, n)``, pivots ``(*, min(m, n))``.

    Example:
        >>> factors, pivots = facula.lu(facula.tensor([[1.0, 2.0], [2.0, 4.0]]))
        >>> factors
        tensor([[2.0000, 4.0000],
                [0.5000, 0.0000]])
    """
    results = _core._linalg_lu_factor_ex(A, pivot, False)
    results = results if get_infos else results[:2]
    if out is not None:
        if len(out) != len(results):
            raise TypeError(f"lu: expected {len(results)} tensors as out, got {len(out)}.")
        results = tuple(into("lu", o, r) for o, r in zip(out, results, strict=True))
    # Named as those of linalg.lu_factor_ex, where there are as many.
    return return_types.linalg_lu_factor_ex(results) if get_infos else results


@operation
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """The matrices ``P``, ``L`` and ``U`` of what ``lu_factor`` returns.

    Args:
        LU_data: the factors in one matrix.
        LU_pivots: the rows that were swapped, counted from 1.
        unpack_data: whether to return ``L`` and ``U``; otherwise they are empty.
        unpack_pivots: whether to return ``P``; otherwise it is empty.
        out: three tensors where to put the results.

    Shape:
        LU_data ``(*, m, n)``; ``P`` ``(*, m, m)``, ``L`` ``(*, m, k)``, ``U`` ``(*, k, n)`` with
        ``k = min(m, n)``.

    Example:
        >>> data = facula.tensor([[2.0, 4.0], [0.5, 1.0]])
        >>> facula.lu_unpack(data, facula.tensor([2, 2], dtype=facula.int32)).L
        tensor([[1.0000, 0.0000],
                [0.5000, 1.0000]])
    """
    return into_each(
        "lu_unpack", out, _core._lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)
    )


@operation(method=True)
def lu_solve(
    input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Solve ``A X = B`` with what ``lu_factor`` returns for ``A``.

    Args:
        input: the right sides ``B``.
        LU_data: the factors of ``A`` in one matrix.
        LU_pivots: the rows that were swapped, counted from 1.
        out: where to put the result.

    Shape:
        input and result ``(*, n, k)``, LU_data ``(*, n, n)``, LU_pivots ``(*, n)``.

    Example:
        >>> factors = facula.linalg.lu_factor(facula.tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> facula.lu_solve(facula.ones(2, 1), *factors)
        tensor([[0.5000],
                [0.2500]])
    """
    result = _core._linalg_lu_solve(LU_data, LU_pivots, input, True, False)
    return into_like("lu_solve", out, result)


@operation(method=True)
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse of matrices; ``facula.linalg.pinv`` is the newer name.

    Args:
        input: the matrices.
        rcond: singular values up to this share of the largest count as zero.

    Shape:
        input ``(*, m, n)``; result ``(*, n, m)``.

    Example:
        >>> facula.pinverse(facula.tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000, 0.0000],
                [0.0000, 0.2500, 0.0000]])
    """
    zero = _core.zeros((), dtype=_core.float64, device="cpu")
    return _core._linalg_pinv(input, zero, zero + rcond, False)


@operation(method=True)
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices: ``I + A + A A / 2 + A A A / 6 + ...``.

    Args:
        input: the matrices.

    Shape:
        input and result ``(*, n, n)``.

    Example:
        >>> facula.matrix_exp(facula.tensor([[0.0, 1.0], [0.0, 0.0]]))
        tensor([[1., 1.],
                [0., 1.]])
    """
    return _core._linalg_matrix_exp(input)


@operation(method=True)
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """Solve ``A X = B`` for triangles ``A``, and return also a copy of them.

    ``facula.linalg.solve_triangular`` is the newer name.

    Args:
        input: the right sides ``B``.
        A: the matrices, of which one triangle is read.
        upper: whether the upper triangle is read.
        transpose: whether to solve with the transpose of ``A``.
        unitriangular: whether the diagonal counts as ones, whatever it holds.
        out: a pair of tensors where to put the results.

    Shape:
        input and solution ``(*, m, k)``, A ``(*, m, m)``.

    Example:
        >>> facula.triangular_solve(facula.ones(2, 1), facula.eye(2) * 2).solution
        tensor([[0.5000],
                [0.5000]])
    """
    results = _core._triangular_solve(input, A, upper, transpose, unitriangular)
    return into_each("triangular_solve", out, results)


@operation
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Singular values and vectors of a matrix that is about of low rank, by random projection.

    Halko, Martinsson, Tropp (2009): the largest singular values of a large matrix for a fraction of
    the work of ``facula.linalg.svd``.

    Args:
        A: the matrices.
        q: how many singular values to find: a few more than are wanted.
        niter: how often the random space is multiplied with ``A A^H`` to make it fit better.
        M: the mean to subtract from ``A``, broadcast to it.

    Shape:
        A ``(*, m, n)``; results ``(*, m, q)``, ``(*, q)`` and ``(*, n, q)``.

    Example:
        >>> u, s, v = facula.svd_lowrank(facula.ones(6, 4), q=2)
        >>> u.shape, s.shape, v.shape
        (torch.Size([6, 2]), torch.Size([2]), torch.Size([4, 2]))
    """
    m, n = matrix_sizes("svd_lowrank", A)
    centred = A if M is None else A - M.broadcast_to(A.shape)
    tall = centred.mH if m < n else centred
    basis = _approximate_range(tall, 6 if q is None else q, 2 if niter is None else niter)
    u, s, vh = _core._linalg_svd(basis.mH @ tall, False, True)
    u, v = basis @ u, vh.mH
    return (v, s, u) if m < n else (u, s, v)


def matrix_sizes(name: str, a: Tensor) -> tuple[int, int]:
    """Rows and columns; an error of the operation where there are none."""
    if a.dim() < 2:
        raise ValueError(
            f"{name}: expected matrices (at least 2 dimensions), got {tuple(a.shape)}."
        )
    return a.size(-2), a.size(-1)


def _approximate_range(a: Tensor, q: int, niter: int) -> Tensor:
    """An orthogonal basis of what ``a`` makes of ``q`` random vectors."""
    random = _core.randn(a.size(-1), q, dtype=a.dtype, device=a.device)
    basis: Tensor = _core._linalg_qr(a @ random, "reduced")[0]
    for _ in range(niter):
        basis = _core._linalg_qr(a.mH @ basis, "reduced")[0]
        basis = _core._linalg_qr(a @ basis, "reduced")[0]
    return basis


@operation
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of the rows of a matrix that is about of low rank.

    Args:
        A: the matrices, a row for each sample.
        q: how many components to find, at most ``min(m, n)``; by default 6, or fewer if there are.
        center: whether to subtract the mean of the rows first.
        niter: how often the random space of ``svd_lowrank`` is made to fit better.

    Shape:
        A ``(*, m, n)``; results ``(*, m, q)``, ``(*, q)`` and ``(*, n, q)``.

    Example:
        >>> u, s, v = facula.pca_lowrank(facula.ones(6, 4), q=2)
        >>> s
        tensor([0., 0.])
    """
    m, n = matrix_sizes("pca_lowrank", A)
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"pca_lowrank: expected q from 0 to {min(m, n)}, the smaller size of A, got {q}."
        )
    if niter < 0:
        raise ValueError(f"pca_lowrank: expected niter >= 0, got {niter}.")
    if not A.is_floating_point() and not A.is_complex():
        raise RuntimeError(f"pca_lowrank: expected a floating-point A, got {A.dtype}.")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)

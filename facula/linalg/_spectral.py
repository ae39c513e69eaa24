"""Eigenvalues, singular values, determinants, and what they tell of a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._limits import finfo
from facula._ops._mark import operation
from facula._ops._out import into, into_each, into_like
from facula.linalg._norms import matrix_norm
from facula.linalg._solve import as_tolerance

__all__ = [
    "cond",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "matrix_rank",
    "slogdet",
    "svd",
    "svdvals",
]


@operation(module="facula.linalg")
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices.

    Args:
        A: the matrices.
        out: where to put the result.

    Shape:
        A ``(*, n, n)``; result ``(*)``.

    Example:
        >>> facula.linalg.det(facula.tensor([[2.0, 1.0], [0.0, 3.0]]))
        tensor(6.)
    """
    return into_like("linalg.det", out, _core._linalg_det(A))


@operation(module="facula.linalg")
def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> Any:
    """The sign of the determinant, and the logarithm of its size, which does not overflow.

    Args:
        A: square matrices.
        out: a pair of tensors where to put the results.

    Shape:
        A ``(*, n, n)``; ``sign`` and ``logabsdet`` ``(*)``.

    Example:
        >>> facula.linalg.slogdet(facula.tensor([[-2.0, 0.0], [0.0, 0.5]])).sign
        tensor(-1.)
    """
    return into_each("linalg.slogdet", out, _core._linalg_slogdet(A))


@operation(module="facula.linalg")
def eig(input: Tensor, *, out: Sequence[Tensor] | None = None) -> Any:
    """Eigenvalues and eigenvectors of square matrices, which are complex.

    Args:
        input: the matrices.
        out: a pair of tensors where to put the results.

    Shape:
        input and ``eigenvectors`` ``(*, n, n)``, a vector in each column; ``eigenvalues``
        ``(*, n)``.

    Example:
        >>> facula.linalg.eig(facula.tensor([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
        tensor([0.+1.j, 0.-1.j])
    """
    return into_each("linalg.eig", out, _core._linalg_eig(input, True))


@operation(module="facula.linalg")
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues of square matrices, which are complex.

    Args:
        input: the matrices.
        out: where to put the result.

    Shape:
        input ``(*, n, n)``; result ``(*, n)``.

    Example:
        >>> facula.linalg.eigvals(facula.tensor([[0.0, -1.0], [1.0, 0.0]]))
        tensor([0.+1.j, 0.-1.j])
    """
    return into_like("linalg.eigvals", out, _core._linalg_eig(input, False)[0])


@operation(module="facula.linalg")
def eigh(input: Tensor, UPLO: str = "L", *, out: Sequence[Tensor] | None = None) -> Any:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Args:
        input: the matrices, of which one triangle is read.
        UPLO: which triangle: ``"L"`` for the lower, ``"U"`` for the upper one.
        out: a pair of tensors where to put the results.

    Shape:
        input and ``eigenvectors`` ``(*, n, n)``, a vector in each column; ``eigenvalues``
        ``(*, n)``, real and in ascending order.

    Example:
        >>> facula.linalg.eigh(facula.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
        tensor([1., 2.])
    """
    return into_each("linalg.eigh", out, _core._linalg_eigh(input, UPLO, True))


@operation(module="facula.linalg")
def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues of symmetric or Hermitian matrices, in ascending order.

    Args:
        input: the matrices, of which one triangle is read.
        UPLO: which triangle: ``"L"`` for the lower, ``"U"`` for the upper one.
        out: where to put the result.

    Shape:
        input ``(*, n, n)``; result ``(*, n)``.

    Example:
        >>> facula.linalg.eigvalsh(facula.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor([1., 2.])
    """
    return into_like("linalg.eigvalsh", out, _core._linalg_eigh(input, UPLO, False)[0])


def _check_driver(name: str, driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(f"{name}: driver is for matrices on CUDA, got {driver!r} on the CPU.")


@operation(module="facula.linalg")
def svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """Singular values and vectors: ``A = U diag(S) Vh``.

    Args:
        A: the matrices.
        full_matrices: whether ``U`` and ``Vh`` are square; otherwise they have only the vectors
            that belong to singular values.
        driver: for matrices on CUDA; None on the CPU.
        out: three tensors where to put the results.

    Shape:
        A ``(*, m, n)``; ``U`` ``(*, m, m)``, ``S`` ``(*, k)`` in descending order, ``Vh``
        ``(*, n, n)``; reduced ``(*, m, k)`` and ``(*, k, n)`` with ``k = min(m, n)``.

    Example:
        >>> facula.linalg.svd(facula.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
    """
    _check_driver("linalg.svd", driver)
    return into_each("linalg.svd", out, _core._linalg_svd(A, full_matrices, True))


@operation(module="facula.linalg")
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """Singular values, in descending order.

    Args:
        A: the matrices.
        driver: for matrices on CUDA; None on the CPU.
        out: where to put the result.

    Shape:
        A ``(*, m, n)``; result ``(*, min(m, n))``.

    Example:
        >>> facula.linalg.svdvals(facula.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor([4., 3.])
    """
    _check_driver("linalg.svdvals", driver)
    return into_like("linalg.svdvals", out, _core._linalg_svd(A, False, False)[1])


@operation(module="facula.linalg")
def cond(input: Tensor, p: float | str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number of matrices: how much a solution may change, at most.

    Args:
        input: the matrices; they may be rectangular for ``p`` of None, 2 and -2.
        p: the norm by which it is measured, as in ``matrix_norm``; None stands for 2.
        out: where to put the result.

    Shape:
        input ``(*, m, n)``; result ``(*)``.

    Example:
        >>> facula.linalg.cond(facula.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(1.3333)
    """
    name = "linalg.cond"
    if input.dim() < 2:
        raise RuntimeError(
            f"{name}: expected matrices (at least 2 dimensions), got {tuple(input.shape)}."
        )
    if p is None or p in (2, -2):
        if input.numel() == 0:
            return into(name, out, input.abs().new_zeros(input.shape[:-2]))
        values = _core._linalg_svd(input, False, False)[1]
        largest, smallest = values[..., 0], values[..., -1]
        return into(name, out, smallest / largest if p == -2 else largest / smallest)
    if input.size(-1) != input.size(-2):
        raise RuntimeError(
            f"{name}: expected square matrices for p={p!r}, got {tuple(input.shape)}."
        )
    if input.numel() == 0:
        return into(name, out, input.abs().new_zeros(input.shape[:-2]))
    inverse, info = _core._linalg_inv_ex(input, False)
    # A singular matrix has no inverse, and an infinite condition number.
    is_singular = info > 0
    inverse = inverse.masked_fill(is_singular[..., None, None], 0)
    result = matrix_norm(input, p) * matrix_norm(inverse, p)
    return into(name, out, result.masked_fill(is_singular, math.inf))


@operation(module="facula.linalg")
def matrix_rank(
    input: Tensor,
    tol: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """How many singular values of a matrix are not about zero.

    Args:
        input: the matrices.
        tol: an older name of ``atol``; the relative tolerance is then zero.
        hermitian: whether the matrices are symmetric or Hermitian, which is faster.
        atol: singular values up to this number count as zero.
        rtol: singular values up to this share of the largest count as zero; by default, unless
            ``atol`` is given, the precision of the dtype times ``max(m, n)``.
        out: where to put the result.

    Shape:
        input ``(*, m, n)``; result ``(*)``, int64. Tolerances are numbers, or tensors that
        broadcast to ``(*)``.

    Example:
        >>> facula.linalg.matrix_rank(facula.ones(3, 3))
        tensor(1)
    """
    name = "linalg.matrix_rank"
    if input.dim() < 2:
        raise RuntimeError(
            f"{name}: expected matrices (at least 2 dimensions), got {tuple(input.shape)}."
        )
    if tol is not None:
        atol, rtol = tol, 0.0
    absolute, relative = (as_tolerance(name, t) for t in (atol, rtol))
    if input.numel() == 0:
        return into(name, out, input.new_zeros(input.shape[:-2], dtype=_core.int64))
    detached = input.detach()
    if hermitian:
        values = _core._linalg_eigh(detached, "L", False)[0].abs()
    else:
        values = _core._linalg_svd(detached, False, False)[1]
    if relative is None:
        eps = finfo(input.dtype).eps * max(input.shape[-2:])
        none = values.new_zeros((), dtype=_core.bool)
        is_given = none if absolute is None else absolute > 0
        relative = _core.where(is_given, 0.0, eps)
    tolerance = relative * values.amax(-1)
    if absolute is not None:
        tolerance = _core.maximum(absolute, tolerance)
    return into(name, out, (values > tolerance.unsqueeze(-1)).sum(-1))

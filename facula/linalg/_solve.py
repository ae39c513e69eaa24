"""Solutions of linear equations, and inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula._limits import finfo
from facula._ops._mark import operation
from facula._ops._out import into, into_each, into_like

__all__ = [
    "inv",
    "inv_ex",
    "ldl_solve",
    "lstsq",
    "lu_solve",
    "pinv",
    "solve",
    "solve_ex",
    "solve_triangular",
    "tensorinv",
    "tensorsolve",
]


@operation(module="facula.linalg")
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """Solve ``A X = B``, or ``X A = B``, for square matrices ``A``.

    Raises ``LinAlgError`` where a matrix is singular.

    Args:
        A: the matrices.
        B: the right sides: matrices, or vectors if its shape is that of ``A`` without the last
            dimension, or it has one dimension.
        left: whether ``A`` stands on the left of ``X``.
        out: where to put the result.

    Shape:
        A ``(*, n, n)``; B and result ``(*, n, k)`` or ``(*, n)``. Batches are broadcast.

    Example:
        >>> A = facula.tensor([[2.0, 1.0], [1.0, 3.0]])
        >>> facula.linalg.solve(A, facula.tensor([3.0, 4.0]))
        tensor([1., 1.])
    """
    return into_like("linalg.solve", out, _core._linalg_solve_ex(A, B, left, True)[0])


@operation(module="facula.linalg")
def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """``solve``, and for each matrix whether it is singular.

    Args:
        A: the matrices.
        B: the right sides, matrices or vectors.
        left: whether ``A`` stands on the left of ``X``.
        check_errors: whether to raise ``LinAlgError`` where a matrix is singular.
        out: a pair of tensors where to put the results.

    Shape:
        A ``(*, n, n)``; B and ``result`` ``(*, n, k)`` or ``(*, n)``; ``info`` ``(*)``.

    Example:
        >>> facula.linalg.solve_ex(facula.zeros(2, 2), facula.ones(2)).info
        tensor(1, dtype=torch.int32)
    """
    results = _core._linalg_solve_ex(A, B, left, check_errors)
    return into_each("linalg.solve_ex", out, results)


@operation(module="facula.linalg")
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices.

    Raises ``LinAlgError`` where a matrix is singular. ``solve`` is faster and more exact than a
    product with the inverse.

    Args:
        A: the matrices.
        out: where to put the result.

    Shape:
        A and result ``(*, n, n)``.

    Example:
        >>> facula.linalg.inv(facula.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return into_like("linalg.inv", out, _core._linalg_inv_ex(A, True)[0])


@operation(module="facula.linalg")
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Sequence[Tensor] | None = None) -> Any:
    """``inv``, and for each matrix whether it is singular.

    Args:
        A: the matrices.
        check_errors: whether to raise ``LinAlgError`` where a matrix is singular.
        out: a pair of tensors where to put the results.

    Shape:
        A and ``inverse`` ``(*, n, n)``; ``info`` ``(*)``.

    Example:
        >>> facula.linalg.inv_ex(facula.zeros(2, 2)).info
        tensor(1, dtype=torch.int32)
    """
    return into_each("linalg.inv_ex", out, _core._linalg_inv_ex(A, check_errors))


@operation(module="facula.linalg")
def solve_triangular(
    input: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Solve ``A X = B``, or ``X A = B``, for triangles ``A``.

    Args:
        input: the matrices ``A``, of which one triangle is read.
        B: the right sides.
        upper: whether the upper triangle is read.
        left: whether ``A`` stands on the left of ``X``.
        unitriangular: whether the diagonal counts as ones, whatever it holds.
        out: where to put the result.

    Shape:
        input ``(*, n, n)``; B and result ``(*, n, k)``, or ``(*, k, n)`` if not ``left``.

    Example:
        >>> A = facula.tensor([[2.0, 1.0], [0.0, 1.0]])
        >>> facula.linalg.solve_triangular(A, facula.tensor([[3.0], [1.0]]), upper=True)
        tensor([[1.],
                [1.]])
    """
    result = _core._linalg_solve_triangular(input, B, upper, left, unitriangular)
    return into_like("linalg.solve_triangular", out, result)


@operation(module="facula.linalg")
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Solve ``A X = B``, or ``X A = B``, with what ``lu_factor`` returns for ``A``.

    Args:
        LU: the factors of ``A`` in one matrix.
        pivots: the rows that were swapped, counted from 1.
        B: the right sides.
        left: whether ``A`` stands on the left of ``X``.
        adjoint: whether to solve with the conjugate transpose of ``A``.
        out: where to put the result.

    Shape:
        LU ``(*, n, n)``, pivots ``(*, n)``; B and result ``(*, n, k)``, or ``(*, k, n)`` if not
        ``left``.

    Example:
        >>> LU, pivots = facula.linalg.lu_factor(facula.tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> facula.linalg.lu_solve(LU, pivots, facula.ones(2, 1))
        tensor([[0.5000],
                [0.2500]])
    """
    result = _core._linalg_lu_solve(LU, pivots, B, left, adjoint)
    return into_like("linalg.lu_solve", out, result)


@operation(module="facula.linalg")
def ldl_solve(
    LD: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    hermitian: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Solve ``A X = B`` with what ``ldl_factor`` returns for ``A``.

    There is no derivative.

    Args:
        LD: the factors of ``A`` in one matrix.
        pivots: the pivots, as ``ldl_factor`` returns them.
        B: the right sides.
        hermitian: whether complex matrices ``A`` are Hermitian rather than symmetric.
        out: where to put the result.

    Shape:
        LD ``(*, n, n)``, pivots ``(*, n)``; B and result ``(*, n, k)``.

    Example:
        >>> LD, pivots = facula.linalg.ldl_factor(facula.tensor([[2.0, 0.0], [0.0, -4.0]]))
        >>> facula.linalg.ldl_solve(LD, pivots, facula.ones(2, 1))
        tensor([[ 0.5000],
                [-0.2500]])
    """
    return into_like("linalg.ldl_solve", out, _core._linalg_ldl_solve(LD, pivots, B, hermitian))


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@operation(module="facula.linalg")
def lstsq(
    input: Tensor,
    b: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """The ``X`` for which ``A X`` is nearest to ``B``, in the sense of least squares.

    Args:
        input: the matrices ``A``.
        b: the right sides ``B``: matrices, or vectors if its shape is that of ``A`` without the
            last dimension.
        rcond: singular values, or pivots, up to this share of the largest count as zero; by default
            the precision of the dtype times ``max(m, n)``.
        driver: LAPACK's routine: ``"gelsy"`` by default; ``"gels"`` for matrices of full rank,
            ``"gelsd"`` or ``"gelss"`` through singular values.
        out: four tensors where to put the results.

    Shape:
        input ``(*, m, n)``, b ``(*, m, k)``; ``solution`` ``(*, n, k)``; ``residuals`` ``(*, k)``
        if ``m > n``, the rank is full and the driver is not ``"gelsy"``, else empty; ``rank``
        ``(*)``, empty for ``"gels"``; ``singular_values`` ``(*, min(m, n))``, empty for ``"gels"``
        and ``"gelsy"``.

    Example:
        >>> A = facula.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> facula.linalg.lstsq(A, facula.tensor([[1.0], [3.0], [5.0]])).solution
        tensor([[1.0000],
                [2.0000]])
    """
    name = "linalg.lstsq"
    for argument, tensor, least in (("input", input, 2), ("b", b, 1)):
        if tensor.dim() < least:
            raise RuntimeError(
                f"{name}: expected {argument} with at least {least} dimensions, got "
                f"{tuple(tensor.shape)}."
            )
    if input.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: expected input and b of the same dtype, got {input.dtype} and {b.dtype}."
        )
    if input.dtype not in (_core.float32, _core.float64, _core.complex64, _core.complex128):
        raise RuntimeError(f"{name}: expected matrices of floating point, got {input.dtype}.")
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError(f"{name}: expected a driver of {', '.join(_DRIVERS)}, got {driver!r}.")
    is_vector = b.dim() == 1 or (input.dim() - 1 == b.dim() and input.shape[:-1] == b.shape)
    columns = b.unsqueeze(-1) if is_vector else b
    m, n = input.shape[-2:]
    if columns.size(-2) != m:
        raise RuntimeError(
            f"{name}: expected b with {m} rows as input has, got {tuple(b.shape)} and "
            f"{tuple(input.shape)}."
        )
    batch = facula.broadcast_shapes(input.shape[:-2], columns.shape[:-2])
    if rcond is None:
        rcond = finfo(input.dtype).eps * max(m, n)
    solution, residuals, rank, values = _core._linalg_lstsq(
        input.expand(*batch, m, n),
        columns.expand(*batch, m, columns.size(-1)),
        rcond,
        driver or "gelsy",
    )
    if is_vector:
        solution = solution.squeeze(-1)
        residuals = residuals.squeeze(-1) if residuals.numel() else residuals
    return into_each(name, out, (solution, residuals, rank, values))


@operation(module="facula.linalg")
def pinv(
    input: Tensor,
    rcond: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The pseudoinverse (Moore and Penrose) of matrices, by their singular values.

    Args:
        input: the matrices.
        rcond: an older name of ``rtol``.
        hermitian: whether the matrices are symmetric or Hermitian, which is faster.
        atol: singular values up to this number count as zero.
        rtol: singular values up to this share of the largest count as zero; by default, unless
            ``atol`` is given, the precision of the dtype times ``max(m, n)``.
        out: where to put the result.

    Shape:
        input ``(*, m, n)``; result ``(*, n, m)``. Tolerances are numbers, or tensors that broadcast
        to ``(*)``.

    Example:
        >>> facula.linalg.pinv(facula.tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000, 0.0000],
                [0.0000, 0.2500, 0.0000]])
    """
    name = "linalg.pinv"
    absolute = as_tolerance(name, atol)
    relative = as_tolerance(name, rcond if rtol is None else rtol)
    return into(name, out, _core._linalg_pinv(input, absolute, relative, hermitian))


def as_tolerance(name: str, tolerance: float | Tensor | None) -> Tensor | None:
    if not isinstance(tolerance, Tensor):
        if tolerance is None:
            return None
        return _core.tensor(tolerance, dtype=_core.float64, device="cpu")
    if tolerance.is_complex():
        raise RuntimeError(f"{name}: expected a real tolerance, got {tolerance.dtype}.")
    return tolerance


@operation(module="facula.linalg")
def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse for ``tensordot``: ``tensordot(tensorinv(A), A, ind)`` is the identity.

    Args:
        input: a tensor, of which the product of the first ``ind`` sizes is that of the others.
        ind: how many of the first dimensions belong together.
        out: where to put the result.

    Shape:
        The result has the sizes from ``ind`` on, then those before.

    Example:
        >>> facula.linalg.tensorinv(facula.eye(6).reshape(2, 3, 6)).shape
        torch.Size([6, 2, 3])
    """
    if not 0 < ind <= input.dim():
        raise RuntimeError(
            f"linalg.tensorinv: expected ind from 1 to the {input.dim()} dimensions of input, got "
            f"{ind}."
        )
    rows, columns = input.shape[:ind], input.shape[ind:]
    size = math.prod(rows)
    if size != math.prod(columns):
        raise RuntimeError(
            f"linalg.tensorinv: expected the products of the sizes before and after ind={ind} to "
            f"be equal, got {tuple(input.shape)}."
        )
    inverse = _core._linalg_inv_ex(input.reshape(size, size), True)[0]
    return into("linalg.tensorinv", out, inverse.reshape(columns + rows))


@operation(module="facula.linalg")
def tensorsolve(
    input: Tensor, other: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The ``X`` for which ``tensordot(A, X, X.dim())`` is ``B``.

    Args:
        input: the tensor ``A``.
        other: the tensor ``B``.
        dims: dimensions of ``A`` to move to its end first.
        out: where to put the result.

    Shape:
        The result has the sizes of ``A`` behind as many as ``B`` has dimensions.

    Example:
        >>> A = facula.eye(6).reshape(2, 3, 6)
        >>> facula.linalg.tensorsolve(A, facula.ones(2, 3))
        tensor([1., 1., 1., 1., 1., 1.])
    """
    if dims is not None:
        input = input.movedim(tuple(dims), tuple(range(input.dim() - len(dims), input.dim())))
    shape = input.shape[other.dim() :]
    size = math.prod(shape)
    if math.prod(input.shape[: other.dim()]) != size:
        raise RuntimeError(
            "linalg.tensorsolve: expected A whose first sizes, as many as B has, have the product "
            f"of the others, got {tuple(input.shape)} and {tuple(other.shape)}."
        )
    solution = _core._linalg_solve_ex(input.reshape(-1, size), other.reshape(-1), True, True)[0]
    return into("linalg.tensorsolve", out, solution.reshape(shape))

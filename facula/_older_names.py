"""Functions that PyTorch had before 1.0 and has no longer, found as ``facula.gesv`` and methods.

Each gives the note that names today's function. They are not listed among the public names.
"""

from __future__ import annotations

from typing import Any

import facula
from facula import _core, linalg
from facula._core import Tensor
from facula._notes import note
from facula.storage import STORAGE_NAMES


def _older(name: str, today: str) -> None:
    note(f"torch.{name} is an older form of {today}.")


def gesv(input: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    """Solve ``A X = input``; gives X and the LU factors of A.

    Args:
        input: the right sides, the columns of a matrix.
        A: the square matrix.

    Example:
        >>> X, LU = facula.gesv(facula.tensor([[2.0], [4.0]]), facula.eye(2) * 2)
        >>> X
        tensor([[1.],
                [2.]])
    """
    _older("gesv(B, A)", "torch.linalg.solve(A, B)")
    return linalg.solve(A, input), linalg.lu_factor(A)[0]


def potrf(input: Tensor, upper: bool = True) -> Tensor:
    """The Cholesky factor, the upper one by default.

    Args:
        input: a symmetric positive-definite matrix.
        upper: whether the factor U with ``U^T U = input`` is wanted, not L with ``L L^T = input``.

    Example:
        >>> facula.potrf(facula.eye(2) * 4)
        tensor([[2., 0.],
                [0., 2.]])
    """
    _older("potrf(A)", "torch.linalg.cholesky(A, upper=True)")
    return linalg.cholesky(input, upper=upper)


def potrs(input: Tensor, u: Tensor, upper: bool = True) -> Tensor:
    """Solve ``A X = input`` with the Cholesky factor of A.

    Args:
        input: the right sides, the columns of a matrix, or one vector.
        u: the factor, of :func:`potrf`.
        upper: whether it is the upper one.

    Example:
        >>> facula.potrs(facula.ones(2, 1) * 8, facula.eye(2) * 2)
        tensor([[2.],
                [2.]])
    """
    _older("potrs(B, U)", "torch.cholesky_solve(B, U, upper=True)")
    if input.dim() == 1:
        return facula.cholesky_solve(input.unsqueeze(1), u, upper).squeeze(1)
    return facula.cholesky_solve(input, u, upper)


def potri(input: Tensor, upper: bool = True) -> Tensor:
    """The inverse of A, from its Cholesky factor.

    Args:
        input: the factor, of :func:`potrf`.
        upper: whether it is the upper one.

    Example:
        >>> facula.potri(facula.eye(2) * 2)
        tensor([[0.2500, 0.0000],
                [0.0000, 0.2500]])
    """
    _older("potri(U)", "torch.cholesky_inverse(U, upper=True)")
    return facula.cholesky_inverse(input, upper)


def pstrf(input: Tensor, upper: bool = True, tol: float = -1.0) -> tuple[Tensor, Tensor]:
    """The Cholesky factor of a matrix whose rows and columns are sorted by what is left of them.

    Gives the factor and the order: ``U^T U`` is ``input[order][:, order]``.

    Args:
        input: a symmetric positive semi-definite matrix.
        upper: whether the upper factor is wanted.
        tol: the smallest pivot that counts; a negative one stands for the dtype's precision.

    Example:
        >>> u, order = facula.pstrf(facula.tensor([[1.0, 0.0], [0.0, 4.0]]))
        >>> u.tolist(), order.tolist()
        ([[2.0, 0.0], [0.0, 1.0]], [1, 0])
    """
    _older("pstrf(A)", "torch.linalg.cholesky of the matrix sorted by its diagonal")
    n = input.size(0)
    left = input.detach().clone()
    factor, order = left.new_zeros(n, n), list(range(n))
    if tol < 0:
        tol = n * facula.finfo(input.dtype).eps * max(float(left.diagonal().max()), 0.0)
    for k in range(n):
        best = k + int(left.diagonal()[k:].argmax())
        swapped = list(range(n))
        swapped[k], swapped[best] = best, k
        order[k], order[best] = order[best], order[k]
        left, factor = left[swapped][:, swapped], factor[:, swapped]
        if left[k, k] <= tol:
            break
        row = left[k] / left[k, k].sqrt()
        row[:k] = 0
        factor[k] = row
        left = left - facula.outer(row, row)
    return factor if upper else factor.t(), facula.tensor(order, dtype=facula.int32)


def symeig(input: Tensor, eigenvectors: bool = False, upper: bool = True) -> Any:
    """Eigenvalues, in ascending order, and eigenvectors of a symmetric matrix.

    Args:
        input: the matrix.
        eigenvectors: whether the eigenvectors are wanted; else the second result is empty.
        upper: whether the upper half of the matrix is read.

    Example:
        >>> values, vectors = facula.symeig(facula.eye(2) * 3)
        >>> values
        tensor([3., 3.])
    """
    _older("symeig(A)", "torch.linalg.eigh(A)")
    half = "U" if upper else "L"
    if eigenvectors:
        return linalg.eigh(input, UPLO=half)
    return linalg.eigvalsh(input, UPLO=half), input.new_empty(0)


def eig(input: Tensor, eigenvectors: bool = False) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of any real square matrix, without complex dtypes.

    A row of the first result has the real and the imaginary part of a value. In the second, the
    vector of a real value is a column; of a conjugate pair of values, the two columns are the real
    and the imaginary part of the first one's vector.

    Args:
        input: the matrix.
        eigenvectors: whether the eigenvectors are wanted; else the second result is empty.

    Example:
        >>> facula.eig(facula.tensor([[0.0, -1.0], [1.0, 0.0]]))[0].abs()
        tensor([[0., 1.],
                [0., 1.]])
    """
    _older("eig(A)", "torch.linalg.eig(A)")
    values, vectors = linalg.eig(input)
    parts = _core.view_as_real(values).clone()
    if not eigenvectors:
        return parts, input.new_empty(0)
    columns, is_second = [], False
    for j, imaginary in enumerate(parts[:, 1].tolist()):
        columns.append(vectors[:, j - 1].imag if is_second else vectors[:, j].real)
        is_second = imaginary != 0 and not is_second
    return parts, facula.stack(columns, 1)


def trtrs(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """Solve ``A X = input`` for a triangular A; gives X and A.

    Args:
        input: the right sides, the columns of a matrix.
        A: the matrix, of which one triangle is read.
        upper: whether it is the upper one.
        transpose: whether A is transposed first.
        unitriangular: whether ones are read on the diagonal.

    Example:
        >>> facula.trtrs(facula.ones(2, 1), facula.eye(2) * 2)[0]
        tensor([[0.5000],
                [0.5000]])
    """
    _older("trtrs(B, A)", "torch.linalg.solve_triangular(A, B, upper=True)")
    return facula.triangular_solve(input, A, upper, transpose, unitriangular)


def btrifact(input: Tensor, info: Tensor | None = None, pivot: bool = True) -> tuple[Tensor, ...]:
    """The LU factors of every matrix of a batch, and the rows that were swapped.

    Args:
        input: the matrices.
        info: where to put zero for each matrix that has factors.
        pivot: whether rows may be swapped.

    Example:
        >>> factors, pivots = facula.btrifact(facula.eye(2).unsqueeze(0))
        >>> pivots.tolist()
        [[1, 2]]
    """
    _older("btrifact(A)", "torch.linalg.lu_factor(A)")
    factors, pivots, failed = linalg.lu_factor_ex(input, pivot=pivot)
    if info is not None:
        info.resize_(failed.shape).copy_(failed)
    return factors, pivots


def btrifact_with_info(input: Tensor, pivot: bool = True) -> tuple[Tensor, ...]:
    """As :func:`btrifact`, with a third result that is zero for each matrix that has factors.

    Args:
        input: the matrices.
        pivot: whether rows may be swapped.

    Example:
        >>> facula.btrifact_with_info(facula.eye(2).unsqueeze(0))[2].tolist()
        [0]
    """
    _older("btrifact_with_info(A)", "torch.linalg.lu_factor_ex(A)")
    return tuple(linalg.lu_factor_ex(input, pivot=pivot))


def btrisolve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solve ``A x = input`` for every matrix of a batch, from the factors of :func:`btrifact`.

    Args:
        input: the right sides, one vector for each matrix, or a matrix for each.
        LU_data: the factors.
        LU_pivots: the rows that were swapped.

    Example:
        >>> facula.btrisolve(facula.ones(1, 2), *facula.btrifact(facula.eye(2).unsqueeze(0)))
        tensor([[1., 1.]])
    """
    _older("btrisolve(b, LU, pivots)", "torch.linalg.lu_solve(LU, pivots, b)")
    if input.dim() == LU_data.dim() - 1:
        return facula.lu_solve(input.unsqueeze(-1), LU_data, LU_pivots).squeeze(-1)
    return facula.lu_solve(input, LU_data, LU_pivots)


def btriunpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """The factors of :func:`btrifact` as three matrices each: P, L and U.

    Args:
        LU_data: the factors.
        LU_pivots: the rows that were swapped.
        unpack_data: whether L and U are wanted.
        unpack_pivots: whether P is wanted.

    Example:
        >>> P, L, U = facula.btriunpack(*facula.btrifact(facula.eye(2).unsqueeze(0)))
        >>> U.shape
        torch.Size([1, 2, 2])
    """
    _older("btriunpack(LU, pivots)", "torch.lu_unpack(LU, pivots)")
    return facula.lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)


def gels(input: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    """The least-squares solution of ``A X = input``, and the QR factors of A.

    Args:
        input: the right sides, the columns of a matrix. Of the result the first ``A.size(1)`` rows
            are the solution; if there are more, they tell of the residuals.
        A: the matrix.

    Example:
        >>> facula.gels(facula.ones(2, 1), facula.ones(2, 1))[0][:1].round()
        tensor([[1.]])
    """
    _older("gels(B, A)", "torch.linalg.lstsq(A, B)")
    solution = linalg.lstsq(A, input).solution
    n_rows, n_columns = A.shape
    if n_rows > n_columns:
        # As LAPACK leaves it: below the solution, what the orthogonal factor makes of the rest.
        rest = (linalg.qr(A, mode="complete").Q.t() @ input)[n_columns:]
        solution = facula.cat([solution, rest])
    return solution, facula.geqrf(A)[0]


def cmax(input: Tensor, other: Any) -> Tensor:
    """The larger of two elements, or of an element and a number, at each place.

    Args:
        input: a tensor.
        other: another one, or a number.

    Example:
        >>> facula.cmax(facula.tensor([1.0, 5.0]), 3)
        tensor([3., 5.])
    """
    _older("cmax(x, y)", "torch.maximum(x, y), or x.clamp(min=y)")
    return facula.maximum(input, other) if isinstance(other, Tensor) else input.clamp(min=other)


def cmin(input: Tensor, other: Any) -> Tensor:
    """The smaller of two elements, or of an element and a number, at each place.

    Args:
        input: a tensor.
        other: another one, or a number.

    Example:
        >>> facula.cmin(facula.tensor([1.0, 5.0]), 3)
        tensor([1., 3.])
    """
    _older("cmin(x, y)", "torch.minimum(x, y), or x.clamp(max=y)")
    return facula.minimum(input, other) if isinstance(other, Tensor) else input.clamp(max=other)


def nll_loss2d(*args: Any, **kwargs: Any) -> Tensor:
    """``nn.functional.nll_loss`` of images, found in ``nn.functional``.

    Args:
        args: those of ``nll_loss``.
        kwargs: those of ``nll_loss`` by name.

    Example:
        >>> target = facula.zeros(1, 2, 2, dtype=facula.int64)
        >>> facula.nn.functional.nll_loss2d(facula.ones(1, 3, 2, 2), target)
        tensor(-1.)
    """
    _older("nn.functional.nll_loss2d", "nn.functional.nll_loss")
    return facula.nn.functional.nll_loss(*args, **kwargs)


def masked_copy_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The older name of ``masked_scatter_``.

    Args:
        mask: where the tensor is written to.
        source: the values, one after the other.

    Example:
        >>> facula.zeros(2).masked_copy_(facula.tensor([True, False]), facula.ones(1))
        tensor([1., 0.])
    """
    _older("Tensor.masked_copy_", "masked_scatter_")
    return self.masked_scatter_(mask.bool(), source)


FUNCTIONS = {
    function.__name__: function
    for function in (
        gesv,
        potrf,
        potrs,
        potri,
        pstrf,
        symeig,
        eig,
        trtrs,
        btrifact,
        btrifact_with_info,
        btrisolve,
        btriunpack,
        gels,
        cmax,
        cmin,
    )
}
METHODS = {**FUNCTIONS, "masked_copy_": masked_copy_}


def __getattr__(name: str) -> Any:
    if name == "Storage":  # what a tensor of the default dtype has
        return getattr(facula, STORAGE_NAMES[str(facula.get_default_dtype())])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

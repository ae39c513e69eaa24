"""``lobpcg``: a few eigenvalues of a large matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._limits import finfo
from facula._ops._mark import operation
from facula._ops.linear_algebra import matrix_sizes


@operation
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """A few eigenvalues and vectors of a large symmetric matrix, by products with it alone.

    Knyazev (2001): the locally optimal block preconditioned conjugate gradient method. Gradients of
    the first order reach ``A``, where ``B`` is None.

    Args:
        A: the matrices, symmetric or Hermitian.
        k: how many eigenvalues to find; by default as many as ``X`` has columns, or 1.
        B: positive-definite matrices, for the problem ``A x = e B x``; None for the identity.
        X: vectors to begin with, in columns; by default random ones.
        n: how many vectors to begin with, if ``X`` is None; by default ``k``.
        iK: what residuals are multiplied with: about the inverse of ``A``.
        niter: the most iterations, by default 1000; -1 for as many as it takes.
        tol: the relative size of a residual that is small enough; by default the root of the
            precision of the dtype.
        largest: whether to find the largest eigenvalues (the default) rather than the smallest.
        method: ``"ortho"`` or ``"basic"``; both are one here: the basis is always orthogonal.
        tracker: called at every iteration with an object that has the vectors ``X``, the values
            ``E``, the residuals ``R``, and ``ivars`` with ``istep`` and ``converged_count``.
        ortho_iparams: accepted for PyTorch's sake.
        ortho_fparams: accepted for PyTorch's sake.
        ortho_bparams: accepted for PyTorch's sake.

    Shape:
        A ``(*, m, m)`` with ``m >= 3 k``; results ``(*, k)`` and ``(*, m, k)``.

    Example:
        >>> values, vectors = facula.lobpcg(facula.diag(facula.arange(1.0, 8.0)), k=2)
        >>> values
        tensor([7.0000, 6.0000])
    """
    m, m_too = matrix_sizes("lobpcg", A)
    if m != m_too:
        raise RuntimeError(f"lobpcg: expected square matrices, got {tuple(A.shape)}.")
    k = (1 if X is None else X.size(-1)) if k is None else k
    n_columns = (k if n is None else n) if X is None else X.size(-1)
    if m < 3 * n_columns or not 0 < k <= n_columns:
        raise ValueError(
            f"lobpcg: expected at least three times as many rows as vectors to begin with, and as "
            f"many of these as eigenvalues, got {m} rows, {n_columns} vectors and k={k}. Use "
            "linalg.eigh."
        )
    tolerance = finfo(A.dtype).eps ** 0.5 if tol is None else tol
    batch, n_problems = A.shape[:-2], math.prod(A.shape[:-2])

    def each(x: Tensor) -> list[Tensor]:
        same = x.detach().expand(*batch, *x.shape[-2:])
        return list(same.reshape(n_problems, *x.shape[-2:]).unbind())

    nothing: list[Any] = [None] * n_problems
    start = X
    if start is None:
        start = _core.randn((*batch, m, n_columns), dtype=A.dtype, device=A.device)
    found = [
        _search(
            *problem, k, 1000 if niter is None else niter, tolerance, largest is not False, tracker
        )
        for problem in zip(
            each(A),
            nothing if B is None else each(B),
            nothing if iK is None else each(iK),
            each(start),
            strict=True,
        )
    ]
    values = _core.stack([e for e, _ in found]).reshape(*batch, k)
    vectors = _core.stack([x for _, x in found]).reshape(*batch, m, k)
    if not (_core.is_grad_enabled() and A.requires_grad):
        return values, vectors
    if B is not None:
        raise RuntimeError("lobpcg: the derivative is defined for B=None only.")
    # A step of Newton's method changes next to nothing here, but it has the derivative.
    product = A @ vectors
    residuals = (product - vectors * values.unsqueeze(-2)).mT.unsqueeze(-1)
    one = _core.eye(m, dtype=A.dtype, device=A.device)
    shifted = A.detach().unsqueeze(-3) - values[..., None, None] * one
    zero = _core.zeros((), dtype=_core.float64, device="cpu")
    step = _core._linalg_pinv(shifted, zero, zero + tolerance, True) @ residuals
    return (vectors.conj() * product).sum(-2).real, vectors - step.squeeze(-1).mT


def _search(
    a: Tensor,
    b: Tensor | None,
    preconditioner: Tensor | None,
    x: Tensor,
    k: int,
    n_iterations: int,
    tolerance: float,
    is_largest: bool,
    tracker: Callable[[Any], Any] | None,
) -> tuple[Tensor, Tensor]:
    """The eigenvalues and vectors of one matrix, from the vectors ``x`` on."""

    def times_b(y: Tensor) -> Tensor:
        return y if b is None else b @ y

    n = x.size(-1)
    space, iteration = x, 0
    scale_a, scale_b = a.norm(), 1.0 if b is None else b.norm()
    while True:
        values, vectors = _rayleigh_ritz(a, times_b, space, is_largest)
        before, x, values = x, vectors[:, :n], values[:n]
        residuals = a @ x - times_b(x) * values
        sizes = residuals.norm(dim=0) / (x.norm(dim=0) * (scale_a + values.abs() * scale_b))
        n_converged = int((sizes[:k] < tolerance).sum())
        if tracker is not None:
            state = {"istep": iteration, "converged_count": n_converged}
            tracker(SimpleNamespace(X=x, E=values, R=residuals, ivars=state))
        if n_converged == k or iteration == n_iterations:
            return values[:k], x[:, :k]
        iteration += 1
        ahead = residuals if preconditioner is None else preconditioner @ residuals
        # The way that x came, without x itself: with it the space is that of conjugate gradients.
        way = before - x @ (x.mH @ times_b(before))
        space = _core.cat([x, ahead, way], 1) if iteration > 1 else _core.cat([x, ahead], 1)


def _rayleigh_ritz(
    a: Tensor, times_b: Callable[[Tensor], Tensor], space: Tensor, is_largest: bool
) -> tuple[Tensor, Tensor]:
    """Eigenvalues and vectors of the problem within a space, best first."""
    basis: Tensor = _core._linalg_qr(space, "reduced")[0]
    lower = _core._linalg_cholesky_ex(basis.mH @ times_b(basis), False, True, False)[0]
    basis = _core._linalg_solve_triangular(lower.mH, basis, True, False, False)
    values, vectors = _core._linalg_eigh(basis.mH @ (a @ basis), "L", True)
    if is_largest:
        values, vectors = values.flip(0), vectors.flip(1)
    return values, basis @ vectors

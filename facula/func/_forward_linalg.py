"""Tangents of factorisations, from the factors and the tangent of the matrix.

The derivatives of vectors that are taken back to the matrix refuse a loss that depends on their
phase, which nothing fixes. A tangent depends on it as the vectors themselves do, and is told.
"""

from __future__ import annotations

from facula import _core
from facula._core import Tensor


def of_cholesky(factor: Tensor, tangent: Tensor, upper: bool) -> Tensor:
    """The tangent of the factor, triangular as it is."""
    lower = factor.mH if upper else factor
    inner = _core._linalg_solve_triangular(lower, tangent, False, True, False)
    inner = _core._linalg_solve_triangular(lower.mH, inner, True, False, False)
    # Half of the diagonal belongs to the other factor.
    found = lower @ (inner.tril() - inner.tril().triu() / 2)
    return found.mH if upper else found


def of_eigh(values: Tensor, vectors: Tensor, tangent: Tensor) -> tuple[Tensor, Tensor]:
    """The tangents of eigenvalues and eigenvectors, which are orthogonal."""
    inner = vectors.mH @ tangent @ vectors
    of_values = inner.diagonal(0, -2, -1)
    of_values = of_values.real if inner.is_complex() else of_values
    return of_values, vectors @ _divided(inner, values)


def of_eig(values: Tensor, vectors: Tensor, tangent: Tensor) -> tuple[Tensor, Tensor]:
    """The tangents of eigenvalues and eigenvectors of length 1."""
    inner = _core._linalg_solve_ex(vectors, tangent.to(vectors.dtype) @ vectors, True, True)[0]
    of_vectors = vectors @ _divided(inner, values)
    # What is along a vector would change its length.
    along = (vectors.conj() * of_vectors).sum(-2, keepdim=True).real
    return inner.diagonal(0, -2, -1), of_vectors - vectors * along


def _divided(inner: Tensor, values: Tensor) -> Tensor:
    """The parts of vectors along others, by the distances of their values; none along their own."""
    distances = values.unsqueeze(-2) - values.unsqueeze(-1)
    is_own = _core.eye(int(values.shape[-1]), dtype=_core.bool, device=values.device)
    return (inner / distances.masked_fill(is_own, 1)).masked_fill(is_own, 0)


def of_svd(u: Tensor, values: Tensor, vh: Tensor, tangent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The tangents of U, S and Vh, of which U and V have as many columns as S has values."""
    inner = u.mH @ tangent @ vh.mH
    diagonal = inner.diagonal(0, -2, -1)
    of_values = diagonal.real if inner.is_complex() else diagonal
    s = values.unsqueeze(-2)
    is_own = _core.eye(int(values.shape[-1]), dtype=_core.bool, device=values.device)
    squares = (s * s - (s * s).mT).masked_fill(is_own, 1)
    by_s, s_by = inner * s, s.mT * inner
    turned_u = ((by_s + by_s.mH) / squares).masked_fill(is_own, 0)
    turned_v = ((s_by + s_by.mH) / squares).masked_fill(is_own, 0)
    if inner.is_complex():
        phase = _core.complex(_core.zeros_like(values), diagonal.imag / (2 * values))
        phases = phase.unsqueeze(-1) * is_own
        turned_u, turned_v = turned_u + phases, turned_v - phases
    of_u, of_v = u @ turned_u, vh.mH @ turned_v
    if u.shape[-2] > u.shape[-1]:
        outside = (tangent @ vh.mH) / s
        of_u = of_u + outside - u @ (u.mH @ outside)
    if vh.shape[-1] > vh.shape[-2]:
        outside = (tangent.mH @ u) / s
        of_v = of_v + outside - vh.mH @ (vh @ outside)
    return of_u, of_values, of_v.mH

"""Maps from all matrices to orthogonal ones, and what linear algebra they need."""

from __future__ import annotations

from collections.abc import Callable

import facula
from facula import linalg
from facula._core import Tensor
from facula.autograd.grad_mode import no_grad
from facula.nn.modules.module import Module

MAPS = ("matrix_exp", "cayley", "householder")


def _on_cpu(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """Factorisations are there on the CPU only; gradients find their way back."""
    return function(*(x.cpu() for x in inputs)).to(inputs[0].device)


def matrix_exp(a: Tensor) -> Tensor:
    """The matrix exponential, orthogonal for a skew-symmetric ``a``."""
    return _on_cpu(linalg.matrix_exp, a)


def cayley(a: Tensor) -> Tensor:
    """``(1 - a/2)⁻¹ (1 + a/2)``, orthogonal for a skew-symmetric ``a``."""
    identity = facula.eye(a.size(-1), dtype=a.dtype, device=a.device)
    return _on_cpu(linalg.solve, identity - 0.5 * a, identity + 0.5 * a)


def nearest(a: Tensor) -> Tensor:
    """The orthogonal factor of ``a`` in a QR decomposition with a positive diagonal of R."""
    q, r = linalg.qr(a.cpu())
    signed: Tensor = q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return signed.to(a.device)


def _is_orthogonal(q: Tensor) -> bool:
    n, k = q.shape[-2:]
    identity = facula.eye(k, dtype=q.dtype, device=q.device)
    return facula.allclose(q.mH @ q, identity, atol=10 * n * facula.finfo(q.dtype).eps)


class _Orthogonal(Module):
    """Maps a matrix to an orthogonal one.

    With ``use_trivialization`` the map begins at ``base``, an orthogonal matrix, and the parameter
    is the way from there: Lezcano-Casado, *Trivializations for gradient-based optimization on
    manifolds*, 2019.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError(
                "orthogonal: expected a real tensor for orthogonal_map='householder', got "
                f"{weight.dtype}. Choose 'matrix_exp' or 'cayley' for complex ones."
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        is_wide = X.size(-2) < X.size(-1)
        X = X.mT if is_wide else X
        n, k = X.shape[-2:]
        if self.orthogonal_map == "householder":
            below = X.tril(-1)
            tau = 2.0 / (1.0 + (below * below).sum(-2))
            # Only the signs of the diagonal matter.
            signs = X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
            q = _on_cpu(linalg.householder_product, below, tau) * signs
        else:
            lower = X.tril()
            if n != k:
                lower = facula.cat([lower, lower.new_zeros(*lower.shape[:-1], n - k)], -1)
            skew = lower - lower.mH
            q = (matrix_exp(skew) if self.orthogonal_map == "matrix_exp" else cayley(skew))[..., :k]
        if "base" in self._buffers:
            q = self.base @ q
        return q.mT if is_wide else q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"orthogonal: expected a tensor of shape {tuple(self.shape)} to assign, got "
                f"{tuple(Q.shape)}."
            )
        is_wide = Q.size(-2) < Q.size(-1)
        q = Q.mT if is_wide else Q
        n, k = q.shape[-2:]
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    f"orthogonal: orthogonal_map={self.orthogonal_map!r} has no inverse to assign "
                    "through. Register the parametrization with use_trivialization=True, or with "
                    "the map 'householder'."
                )
            a, tau = (t.to(q.device) for t in facula.geqrf(q.detach().cpu()))
            diagonal = a.diagonal(dim1=-2, dim2=-1)
            # A tau of 0 is no reflection, where forward has one with v = 0: another sign.
            diagonal.copy_(facula.where(tau == 0, -diagonal.sign(), diagonal.sign()))
            reflections: Tensor = a.mT if is_wide else a
            return reflections
        if n == k:
            q = q.clone() if _is_orthogonal(q) else nearest(q)
        else:
            more = facula.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            q = nearest(facula.cat([q, more], -1))
        self.base = q
        # The point that every map takes to the identity: for householder its signs are -1.
        start = facula.zeros_like(Q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start

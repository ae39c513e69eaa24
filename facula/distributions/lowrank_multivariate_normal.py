"""The multivariate normal distribution with a covariance of low rank and a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions._matrices import batch_mahalanobis, batch_mv, log_determinant
from facula.distributions.distribution import Distribution
from facula.distributions.utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _capacitance_tril(factor: Tensor, diagonal: Tensor) -> Tensor:
    """The Cholesky factor of ``I + W^T D^-1 W``, the small matrix that all formulas need."""
    small = factor.mT @ (factor / diagonal.unsqueeze(-1))
    eye = facula.eye(small.shape[-1], dtype=small.dtype, device=small.device)
    return facula.linalg.cholesky(small + eye)


def _log_det(diagonal: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The log determinant of ``W W^T + D``, by the matrix determinant lemma."""
    return 2 * log_determinant(capacitance_tril) + diagonal.log().sum(-1)


def _mahalanobis(
    factor: Tensor, diagonal: Tensor, vector: Tensor, capacitance_tril: Tensor
) -> Tensor:
    """``x^T (W W^T + D)^-1 x``, by Woodbury's identity."""
    projected = batch_mv(factor.mT / diagonal.unsqueeze(-2), vector)
    return (vector.pow(2) / diagonal).sum(-1) - batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """Vectors of normal numbers with a covariance of low rank, plus a diagonal.

    The covariance matrix is ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    Args:
        loc: the mean, of n elements.
        cov_factor: the factor of the part of low rank, n times m; m much smaller than n.
        cov_diag: the diagonal part.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> normal = LowRankMultivariateNormal(
        ...     facula.zeros(2), facula.tensor([[1.0], [0.0]]), facula.ones(2)
        ... )
        >>> normal.variance
        tensor([2., 1.])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _parameters = (
        "loc",
        "cov_factor",
        "cov_diag",
        "covariance_matrix",
        "scale_tril",
        "precision_matrix",
    )

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        event_shape = loc.shape[-1:]
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = Size(
                facula.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand((*batch_shape, -1))
        self.cov_factor = cov_factor.expand((*batch_shape, -1, -1))
        self.cov_diag = cov_diag.expand((*batch_shape, -1))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    def _matrix_shape(self) -> Size:
        return Size((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        # D^1/2 (I + D^-1/2 W W^T D^-1/2) D^1/2: the middle one is well conditioned.
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        eye = facula.eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)
        middle = facula.linalg.cholesky(scaled @ scaled.mT + eye)
        return (root * middle).expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        factor = self._unbroadcasted_cov_factor
        covariance = factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed()
        return covariance.expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        # Woodbury: D^-1 - D^-1 W C^-1 W^T D^-1.
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        solved = facula.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        precision = diagonal.reciprocal().diag_embed() - solved.mT @ solved
        return precision.expand(self._matrix_shape())

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        factor_shape = Size((*shape[:-1], self.cov_factor.shape[-1]))
        eps_factor = _standard_normal(factor_shape, self.loc.dtype, self.loc.device)
        eps_diag = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return (
            self.loc
            + batch_mv(self._unbroadcasted_cov_factor, eps_factor)
            + self._unbroadcasted_cov_diag.sqrt() * eps_diag
        )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        log_det = _log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self) -> Tensor:
        log_det = _log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape)

"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions._matrices import ByMatrix, log_determinant

# By these names, which are PyTorch's, packages take them from here.
from facula.distributions._matrices import batch_mahalanobis as _batch_mahalanobis
from facula.distributions._matrices import batch_mv as _batch_mv
from facula.distributions._matrices import (
    precision_to_scale_tril as _precision_to_scale_tril,  # noqa: F401
)
from facula.distributions.distribution import Distribution
from facula.distributions.utils import _standard_normal

__all__ = ["MultivariateNormal"]


class MultivariateNormal(ByMatrix):
    """Vectors of normal numbers that may be correlated.

    Exactly one of the three matrices is given; ``scale_tril`` saves a decomposition.

    Args:
        loc: the mean.
        covariance_matrix: the covariance matrix, positive definite.
        precision_matrix: the inverse of the covariance matrix.
        scale_tril: the lower Cholesky factor of the covariance matrix.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> normal = MultivariateNormal(facula.zeros(2), scale_tril=facula.eye(2))
        >>> normal.log_prob(facula.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _parameters = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._given_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch_shape = Size(facula.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        self.loc = loc.expand((*batch_shape, -1))
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        Distribution.__init__(self, batch_shape, self.loc.shape[-1:], validate_args)
        self._set_factor(name, matrix)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        eps = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        half_log_det = log_determinant(self._unbroadcasted_scale_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det

    def entropy(self) -> Tensor:
        half_log_det = log_determinant(self._unbroadcasted_scale_tril)
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det
        return entropy.expand(self._batch_shape)

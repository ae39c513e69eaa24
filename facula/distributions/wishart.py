"""Wishart's distribution of covariance matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import facula
from facula._core import Size, Tensor
from facula._warnings import warn_user
from facula.distributions import constraints
from facula.distributions._matrices import ByMatrix, log_determinant
from facula.distributions.chi2 import Chi2
from facula.distributions.distribution import Distribution
from facula.distributions.exp_family import ExponentialFamily

__all__ = ["Wishart"]


class Wishart(ByMatrix, ExponentialFamily):
    """The sum of ``x x^T`` for ``df`` normal vectors ``x`` of one covariance.

    Exactly one of the three matrices is given; ``scale_tril`` saves a decomposition.

    Args:
        df: the degrees of freedom, above the number of rows less 1.
        covariance_matrix: the covariance matrix of the vectors, positive definite.
        precision_matrix: the inverse of the covariance matrix.
        scale_tril: the lower Cholesky factor of the covariance matrix.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Wishart(facula.tensor(3.0), scale_tril=facula.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("df", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._given_matrix(covariance_matrix, precision_matrix, scale_tril)
        if isinstance(df, Number):
            df = facula.tensor(df, dtype=matrix.dtype, device=matrix.device)
        assert isinstance(df, Tensor)
        n = matrix.shape[-1]
        batch_shape = Size(facula.broadcast_shapes(matrix.shape[:-2], df.shape))
        self.df = df.expand(batch_shape)
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        if (self.df <= n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        Distribution.__init__(self, batch_shape, (n, n), validate_args)
        if (self.df < n).any():
            warn_user(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
            )
        self._set_factor(name, matrix)
        # The squared diagonal of the factor of a sample is chi-squared (Bartlett's decomposition).
        rows = facula.arange(n, dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - rows.expand((*batch_shape, -1)))

    @property
    def arg_constraints(self) -> Mapping[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._dist_chi2 = self._dist_chi2.expand((*batch_shape, self._event_shape[-1]))
        return new

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, facula.nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (covariance.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Sequence[int] = ()) -> Tensor:
        n = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed()
        row, column = facula.tril_indices(n, n, offset=-1, device=noise.device)
        noise[..., row, column] = facula.randn(
            (*sample_shape, *self._batch_shape, n * (n - 1) // 2),
            dtype=noise.dtype,
            device=noise.device,
        )
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(
        self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None
    ) -> Tensor:
        """Draw samples that can be differentiated with regard to the parameters.

        Args:
            sample_shape: how many, as a shape.
            max_try_correction: how often samples that rounding made singular are drawn again;
                10 times by default.
        """
        sample = self._bartlett_sampling(sample_shape)
        # PyTorch's first check is the wrong way round: every regular sample is drawn once more. The
        # same happens here, to give the same numbers for a seed.
        is_rejected = self._any_of_batch(self.support.check(sample))
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not is_rejected.any():
                break
            again = self._bartlett_sampling(is_rejected[is_rejected].shape)
            sample[is_rejected] = again
            was_rejected, is_rejected = is_rejected, is_rejected.clone()  # the graph has the first
            is_rejected[was_rejected] = self._any_of_batch(~self.support.check(again))
        if not self.support.check(sample).all():
            warn_user("Singular sample detected.")
        return sample

    def _any_of_batch(self, mask: Tensor) -> Tensor:
        return mask.flatten(-len(self._batch_shape)).any(-1) if self._batch_shape else mask

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        log_det: Tensor = facula.linalg.slogdet(value).logabsdet
        trace = facula.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -self.df * (n * math.log(2) / 2 + log_determinant(factor))
            - facula.mvlgamma(self.df / 2, n)
            + (self.df - n - 1) / 2 * log_det
            - trace / 2
        )

    def entropy(self) -> Tensor:
        n = self._event_shape[-1]
        return (
            (n + 1) * (n * math.log(2) / 2 + log_determinant(self._unbroadcasted_scale_tril))
            + facula.mvlgamma(self.df / 2, n)
            - (self.df - n - 1) / 2 * _mvdigamma(self.df / 2, n)
            + self.df * n / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        n = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - n - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        n = self._event_shape[-1]
        half_df = y + (n + 1) / 2
        log_det: Tensor = facula.linalg.slogdet(-2 * x).logabsdet
        return half_df * (-log_det + n * math.log(2)) + facula.mvlgamma(half_df, n)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of ``mvlgamma``."""
    steps = facula.arange(p, dtype=x.dtype, device=x.device) / 2
    return facula.digamma(x.unsqueeze(-1) - steps).sum(-1)

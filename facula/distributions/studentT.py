"""Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.chi2 import Chi2
from facula.distributions.distribution import Distribution
from facula.distributions.utils import _standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal number divided by the root of a chi-squared one: heavier tails than ``Normal``.

    Args:
        df: the degrees of freedom.
        loc: the median, and the mean if ``df`` is above 1.
        scale: the scale.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> StudentT(facula.tensor([4.0])).variance
        tensor([2.])
    """

    arg_constraints: ClassVar = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _parameters = ("df", "loc", "scale", "_chi2")
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self._set_parameters(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, facula.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self.scale**2 * self.df / (self.df - 2)
        return variance.masked_fill(self.df <= 2, facula.inf).masked_fill(self.df <= 1, facula.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.df.dtype, self.df.device)
        chi2 = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * facula.rsqrt(chi2 / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        log_norm = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + facula.lgamma(0.5 * self.df)
            - facula.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * facula.log1p(y**2.0 / self.df) - log_norm

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = facula.lgamma(half) + math.lgamma(0.5) - facula.lgamma(more)
        return (
            self.scale.log()
            + more * (facula.digamma(more) - facula.digamma(half))
            + 0.5 * self.df.log()
            + log_beta
        )

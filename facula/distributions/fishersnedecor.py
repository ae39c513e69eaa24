"""Fisher and Snedecor's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution
from facula.distributions.gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each divided by its degrees of freedom.

    Args:
        df1: the degrees of freedom of the numerator.
        df2: the degrees of freedom of the denominator.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> FisherSnedecor(facula.tensor([1.0]), facula.tensor([4.0])).mean
        tensor([2.])
    """

    arg_constraints: ClassVar = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = ("df1", "df2", "_gamma1", "_gamma2")
    df1: Tensor
    df2: Tensor

    def __init__(
        self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(validate_args, df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1, validate_args=validate_args)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 2, facula.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, facula.nan)

    @property
    def variance(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 4, facula.nan)
        return 2 * df2**2 * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2) ** 2 * (df2 - 4))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        tiny = facula.finfo(self.df2.dtype).tiny
        numerator = self._gamma1.rsample(sample_shape)
        denominator = self._gamma2.rsample(sample_shape).clamp(min=tiny)
        return (numerator / denominator).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        return (
            (half1 + half2).lgamma()
            - half1.lgamma()
            - half2.lgamma()
            + half1 * ratio.log()
            + (half1 - 1) * facula.log(value)
            - (half1 + half2) * facula.log1p(ratio * value)
        )

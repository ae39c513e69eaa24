"""The half-Cauchy distribution."""

from __future__ import annotations

import facula
from facula._core import Tensor
from facula.distributions._half import Half
from facula.distributions.cauchy import Cauchy
from facula.distributions.transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """``|x|`` for ``x`` of ``Cauchy(0, scale)``.

    Args:
        scale: the median.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> HalfCauchy(2.0).cdf(facula.tensor([2.0]))
        tensor([0.5000])
    """

    _parameters = ()
    base_dist: Cauchy

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale.new_full(self._extended_shape(), facula.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

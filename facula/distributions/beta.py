"""The beta distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.dirichlet import Dirichlet
from facula.distributions.distribution import Distribution
from facula.distributions.exp_family import ExponentialFamily
from facula.distributions.utils import broadcast_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """Numbers between 0 and 1, of density ``x**(concentration1-1) * (1-x)**(concentration0-1)``.

    Args:
        concentration1: the first concentration, often called alpha.
        concentration0: the second concentration, often called beta.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Beta(facula.tensor([1.0]), facula.tensor([3.0])).mean
        tensor([0.2500])
    """

    arg_constraints: ClassVar = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _parameters = ("_dirichlet",)

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        concentrations = facula.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(concentrations, validate_args=validate_args)
        Distribution.__init__(self, self._dirichlet._batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        """The first concentration, often called alpha."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The second concentration, often called beta."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total**2 * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(facula.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return facula.lgamma(x) + facula.lgamma(y) - facula.lgamma(x + y)

"""Von Mises' distribution on the circle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution
from facula.distributions.utils import lazy_property

__all__ = ["VonMises"]

# Abramowitz and Stegun, Handbook of Mathematical Functions, 9.8.1 to 9.8.4: the modified Bessel
# functions of order 0 and 1 as polynomials of (x / 3.75)^2 below 3.75, and of 3.75 / x above.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_LARGE = (
    (
        *(0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281),
        *(-0.02057706, 0.02635537, -0.01647633, 0.00392377),
    ),
    (
        *(0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555),
        *(0.02282967, -0.02895312, 0.01787654, -0.00420059),
    ),
)


class VonMises(Distribution):
    """Angles in ``[-pi, pi)``, spread about a mean direction: the circle's ``Normal``.

    Values of any period are taken.

    Args:
        loc: the mean direction, in radians.
        concentration: the inverse of the spread.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> VonMises(facula.tensor([1.0]), facula.tensor([1.0])).mean
        tensor([1.])
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _parameters = ("loc", "concentration")
    loc: Tensor
    concentration: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._set_parameters(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance, between 0 and 1."""
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()

    @lazy_property
    def _proposal_r(self) -> Tensor:
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # For small kappa a Taylor series: rho is the difference of two equal numbers.
        return facula.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples by rejection from a wrapped Cauchy distribution (Best and Fisher, 1979).

        Args:
            sample_shape: how many, as a shape.
        """
        shape = self._extended_shape(sample_shape)
        with facula.no_grad():
            kappa, r = self.concentration.double(), self._proposal_r
            x = facula.empty(shape, dtype=facula.float64, device=self.loc.device)
            is_done = facula.zeros(shape, dtype=facula.bool, device=self.loc.device)
            while not is_done.all():
                u = facula.rand((3, *shape), dtype=facula.float64, device=self.loc.device)
                z = facula.cos(math.pi * u[0])
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                is_accepted = (c * (2 - c) - u[1] > 0) | ((c / u[1]).log() + 1 - c >= 0)
                # PyTorch lets a later acceptance replace an earlier one, and so the same numbers.
                x = facula.where(is_accepted, (u[2] - 0.5).sign() * f.acos(), x)
                is_done = is_done | is_accepted
            x = (x + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return x.to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            self.concentration * facula.cos(value - self.loc)
            - math.log(2 * math.pi)
            - _log_bessel(self.concentration, 0)
        )


def _log_bessel(x: Tensor, order: int) -> Tensor:
    """The logarithm of the modified Bessel function of order 0 or 1, for positive x."""
    small = _polynomial((x / 3.75) ** 2, _SMALL[order])
    small = (small if order == 0 else x.abs() * small).log()
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return facula.where(x < 3.75, small, large)


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    result = x.new_full((), coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient + x * result
    return result

"""Gumbel's distribution."""

from __future__ import annotations

import math
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import AffineTransform, ExpTransform
from facula.distributions.uniform import Uniform
from facula.distributions.utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The distribution of maxima of many numbers, ``loc - scale * log(-log(u))``.

    Args:
        loc: the mode.
        scale: the scale.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Gumbel(0.0, 1.0).mean
        tensor(0.5772)
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parameters = ("loc", "scale")

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        finfo = facula.finfo(self.loc.dtype)
        base = Uniform(
            facula.full_like(self.loc, finfo.tiny),
            facula.full_like(self.loc, 1 - finfo.eps),
            validate_args=validate_args,
        )
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-facula.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev**2

    def log_prob(self, value: Tensor) -> Tensor:
        # Directly: the transforms would lose what is far in the tails.
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)

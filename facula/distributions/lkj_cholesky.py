"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.beta import Beta
from facula.distributions.distribution import Distribution
from facula.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of random correlation matrices (Lewandowski, Kurowicka and Joe, 2009).

    The density of a matrix is proportional to ``det(matrix)**(concentration - 1)``.

    Args:
        dim: the number of rows of a matrix.
        concentration: 1 for the uniform distribution; more prefers weak correlations.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> factor = LKJCholesky(3, 0.5).sample()
        >>> (factor @ factor.mT).diagonal()
        tensor([1.0000, 1.0000, 1.0000])
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parameters = ("concentration",)

    def __init__(
        self,
        dim: int,
        concentration: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)
        # Row i of the factor has a part of this squared length in the first i columns (the onion
        # method of section 3.2).
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = facula.arange(
            dim - 1, dtype=self.concentration.dtype, device=self.concentration.device
        )
        offset = facula.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with facula.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = facula.randn(
                self._extended_shape(sample_shape), dtype=squared.dtype, device=squared.device
            ).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0  # where nothing was divided by nothing
            w = squared.sqrt() * direction
            tiny = facula.finfo(w.dtype).tiny
            return w + (1 - (w**2).sum(-1)).clamp(min=tiny).sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        # The Jacobian of the product of factor and transpose is in the exponents (page 1999).
        order = facula.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        log_density = (order * diagonal.log()).sum(-1)
        alpha = self.concentration + 0.5 * n
        return log_density - (
            0.5 * n * math.log(math.pi) + facula.mvlgamma(alpha - 0.5, n) - facula.lgamma(alpha) * n
        )

"""The one-hot categorical distribution made continuous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions.categorical import Categorical
from facula.distributions.distribution import Distribution
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import ExpTransform
from facula.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithm of ``RelaxedOneHotCategorical``.

    Args:
        temperature: how soft the result is; near 0 its exponential is nearly one-hot.
        probs: the weight of each category along the last dimension.
        logits: the log weights; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> log = ExpRelaxedCategorical(facula.tensor(1.0), probs=facula.ones(3)).rsample()
        >>> log.logsumexp(-1).abs() < 1e-5
        tensor(True)
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    # The exponentials sum to 1, which is not checked: rounding is worse than the tolerance.
    support = constraints.real_vector
    has_rsample = True
    _parameters = ("_categorical",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args
        )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    @property
    def param_shape(self) -> Size:
        """The shape of ``probs`` and ``logits``."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The log probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(facula.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        log_scale = (
            facula.full_like(self.temperature, float(n)).lgamma() + (n - 1) * self.temperature.log()
        )
        score = logits - value * self.temperature
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors that sum to 1 and are nearly ``OneHotCategorical``'s, and differentiable.

    Also called the Gumbel-softmax or concrete distribution.

    Args:
        temperature: how soft the vectors are; near 0 they are nearly one-hot.
        probs: the weight of each category along the last dimension.
        logits: the log weights; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> relaxed = RelaxedOneHotCategorical(facula.tensor(0.1), facula.tensor([0.0, 1.0]))
        >>> relaxed.rsample().round()
        tensor([0., 1.])
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _parameters = ()
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """How soft the vectors are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs

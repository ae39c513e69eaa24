"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.categorical import Categorical
from facula.distributions.constraints import MixtureSameFamilyConstraint
from facula.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture whose components are the last batch dimension of one distribution.

    Args:
        mixture_distribution: the weights of the components.
        component_distribution: the components, along the last batch dimension.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> from facula.distributions import Normal
        >>> means = facula.tensor([-1.0, 1.0])
        >>> mixture = MixtureSameFamily(Categorical(facula.ones(2)), Normal(means, 1.0))
        >>> mixture.mean, mixture.variance
        (tensor(0.), tensor(2.))
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        batch_shape = component_distribution.batch_shape[:-1]
        for mine, theirs in zip(
            reversed(mixture_distribution.batch_shape), reversed(batch_shape), strict=False
        ):
            if mine != theirs and mine != 1 != theirs:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is "
                    "not compatible with `component_distribution.batch_shape`("
                    f"{component_distribution.batch_shape})"
                )
        n_weights = mixture_distribution.logits.shape[-1]
        n_components = component_distribution.batch_shape[-1]
        if n_weights != n_components:
            raise ValueError(
                f"`mixture_distribution component` ({n_weights}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({n_components})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = n_components
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(
            (*batch_shape, self._num_component)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The weights of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _mixed(self, values: Tensor) -> Tensor:
        """The weighted sum of a value of each component."""
        probs = self.mixture_distribution.probs
        probs = probs.reshape((*probs.shape, *(1,) * self._event_ndims))
        return (probs * values).sum(dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._mixed(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        means = self.component_distribution.mean
        spread = (means - self.mean.unsqueeze(-1 - self._event_ndims)).pow(2.0)
        return self._mixed(self.component_distribution.variance) + self._mixed(spread)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x: Tensor) -> Tensor:
        """The probability of what is not larger than the value.

        Args:
            x: where; its shape can be broadcast with ``batch_shape``.
        """
        cdfs = self.component_distribution.cdf(self._pad(x))
        return (cdfs * self.mixture_distribution.probs).sum(dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        """The logarithm of the density or probability.

        Args:
            x: where; its shape can be broadcast with ``batch_shape + event_shape``.
        """
        if self._validate_args:
            self._validate_sample(x)
        log_probs = self.component_distribution.log_prob(self._pad(x))
        log_weights = facula.log_softmax(self.mixture_distribution.logits, dim=-1)
        return facula.logsumexp(log_probs + log_weights, dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with facula.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            dim = chosen.dim()
            index = chosen.reshape((*chosen.shape, *(1,) * (self._event_ndims + 1)))
            index = index.expand((*chosen.shape, 1, *self._event_shape))
            return samples.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )

"""Distributions of transformed random variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution
from facula.distributions.independent import Independent
from facula.distributions.transforms import ComposeTransform, Transform
from facula.distributions.utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``transform(x)`` for ``x`` of another one.

    Args:
        base_distribution: the distribution of ``x``.
        transforms: a transform, or several that follow each other.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> from facula.distributions import AffineTransform, SigmoidTransform, Uniform
        >>> logistic = TransformedDistribution(
        ...     Uniform(0.0, 1.0), [SigmoidTransform().inv, AffineTransform(loc=2.0, scale=1.0)]
        ... )
        >>> logistic.cdf(facula.tensor([2.0]))
        tensor([0.5000])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    _parameters: ClassVar[tuple[str, ...]] = ()
    base_dist: Any

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(
            isinstance(transform, Transform) for transform in self.transforms
        ):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        transform = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < transform.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{transform.domain.event_dim}, but got {shape}."
            )
        # Parameters of the transforms may broadcast the batch, and their events may take batch
        # dimensions of the base.
        shape = transform.forward_shape(shape)
        base_shape = transform.inverse_shape(shape)
        n_event_dims = len(base_distribution.event_shape)
        if base_shape != base_distribution.batch_shape + base_distribution.event_shape:
            cut = len(base_shape) - n_event_dims
            base_distribution = base_distribution.expand(base_shape[:cut])
        n_taken = transform.domain.event_dim - n_event_dims
        if n_taken > 0:
            base_distribution = Independent(base_distribution, n_taken)
        self.base_dist = base_distribution
        event_dim = max(
            transform.codomain.event_dim,
            len(base_distribution.event_shape)
            + transform.codomain.event_dim
            - transform.domain.event_dim,
        )
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded_parameters(batch_shape, _instance)
        new.transforms = self.transforms
        shape = Size(batch_shape) + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        cut = len(shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[:cut])
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    @property
    def has_rsample(self) -> bool:
        return bool(self.base_dist.has_rsample)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with facula.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        log_det: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            log_det = log_det + _sum_rightmost(
                transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim
            )
            y = x
        n_taken = event_dim - len(self.base_dist.event_shape)
        log_prob: Tensor = _sum_rightmost(self.base_dist.log_prob(y), n_taken) - log_det
        return log_prob

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """``1 - value`` where the transforms turn the order round."""
        sign = ComposeTransform(self.transforms).sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

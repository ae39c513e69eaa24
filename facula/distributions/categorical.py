"""The categorical distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions._probs import ProbsOrLogits, one_of
from facula.distributions.distribution import Distribution

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits):
    """The index of a category, ``0 .. K - 1``.

    Args:
        probs: the weight of each category along the last dimension; scaled to sum to 1.
        logits: the log weights; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Categorical(facula.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False
    _parameters = ("probs", "logits")

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = one_of(probs, logits)
        name = "logits" if probs is None else "probs"
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        self.__dict__[name] = (
            given - given.logsumexp(dim=-1, keepdim=True)
            if probs is None
            else given / given.sum(-1, keepdim=True)
        )
        self._num_events = given.shape[-1]
        Distribution.__init__(self, given.shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._num_events = self._num_events
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return self._param.new_full(self._extended_shape(), facula.nan)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        samples = facula.multinomial(rows, Size(sample_shape).numel(), True).T
        return samples.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, log_pmf = facula.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # Log probabilities of -inf would give NaN.
        logits = self.logits.clamp(min=facula.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = facula.arange(self._num_events, dtype=facula.long, device=self._param.device)
        values = values.view((-1, *(1,) * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

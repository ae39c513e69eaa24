"""Distributions that are given by probabilities or by logits."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from facula._core import Size, Tensor
from facula.distributions.distribution import Distribution
from facula.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)

_Parameter = TypeVar("_Parameter", bound=Tensor | float)


class ProbsOrLogits(Distribution):
    """What the distributions have in common whose parameter is ``probs`` or ``logits``.

    The other of the two is computed when it is first asked for.
    """

    _is_binary: ClassVar[bool] = True  # whether each probability is of an event of its own

    def _set_given(
        self, probs: Tensor | float | None, logits: Tensor | float | None, **others: Tensor | float
    ) -> None:
        """Keep what was given as attributes of one shape."""
        given = one_of(probs, logits)
        others["logits" if probs is None else "probs"] = given
        self.__dict__.update(zip(others, broadcast_all(*others.values()), strict=True))

    @lazy_property
    def logits(self) -> Tensor:
        """The log odds, or the log probabilities."""
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of ``probs`` and ``logits``."""
        return self._param.shape


def one_of(probs: _Parameter | None, logits: _Parameter | None) -> _Parameter:
    """The one that is given; exactly one must be."""
    given = logits if probs is None else probs
    if given is None or (probs is not None and logits is not None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return given

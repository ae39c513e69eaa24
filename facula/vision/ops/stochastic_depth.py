"""Stochastic depth: residual branches that are left out at random while training."""

from __future__ import annotations

import facula
from facula import nn
from facula._core import Tensor

__all__ = ["StochasticDepth", "stochastic_depth"]


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Zeroes samples with probability ``p`` and scales the others by ``1 / (1 - p)``.

    Described in `Deep Networks with Stochastic Depth <https://arxiv.org/abs/1603.09382>`_.

    Args:
        input: the result of a residual branch.
        p: the probability to be zeroed, from 0 to 1.
        mode: ``"row"`` draws once per sample, ``"batch"`` once for all of them.
        training: whether anything is dropped; otherwise the input is returned as it is.

    Shape:
        input ``(N, ...)``; result the same.

    Example:
        >>> from facula.vision.ops import stochastic_depth
        >>> stochastic_depth(facula.ones(2, 2), p=1.0, mode="batch")
        tensor([[0., 0.],
                [0., 0.]])
    """
    if not 0 <= p <= 1:
        raise ValueError(f"stochastic_depth: expected a probability p from 0 to 1, got {p}.")
    if mode not in ("batch", "row"):
        raise ValueError(f"stochastic_depth: expected mode 'batch' or 'row', got {mode!r}.")
    if not training or p == 0:
        return input
    n_draws = input.shape[0] if mode == "row" else 1
    keep = 1.0 - p
    scale = facula.empty(
        [n_draws] + [1] * (input.dim() - 1), dtype=input.dtype, device=input.device
    ).bernoulli_(keep)
    return input * (scale.div_(keep) if keep > 0 else scale)


class StochasticDepth(nn.Module):
    """:func:`stochastic_depth` as a layer.

    Shape:
        input ``(N, ...)``; result the same.

    Example:
        >>> from facula.vision.ops import StochasticDepth
        >>> StochasticDepth(0.5, "row").eval()(facula.ones(2))
        tensor([1., 1.])
    """

    p: float
    mode: str

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"

"""RMSprop."""

from __future__ import annotations

from typing import Any

import facula
from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import anything, at_least_zero
from facula.optim._declared import RuleOptimizer, flags, options
from facula.optim.optimizer import ParamsT

__all__ = ["RMSprop"]


class RMSprop(RuleOptimizer):
    """Steps scaled by a running average of squared gradients.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        alpha: how much of the average stays at each step.
        eps: small number that is added to the divisor.
        weight_decay: factor of the L2 penalty, which is added to the gradient.
        momentum: how much of the last update goes into the next one.
        centered: divides by the deviation of the gradient instead.
        foreach: accepted as in PyTorch; there is one implementation.
        capturable: accepted as in PyTorch, for parameters on CUDA only.
        differentiable: records the step itself, so that gradients flow through it.
        maximize: steps along the gradient, to larger values, and not against it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.RMSprop([x], lr=0.05)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    _rule = staticmethod(_core._rmsprop_step)
    _states = ("square_avg",)
    _options = options(
        lr=at_least_zero,
        momentum=at_least_zero,
        alpha=at_least_zero,
        eps=at_least_zero,
        centered=anything,
        weight_decay=at_least_zero,
        **flags("capturable", "foreach", "maximize", "differentiable"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._set_up(params, locals())

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        names = ["momentum_buffer"] if group["momentum"] > 0 else []
        names += ["grad_avg"] if group["centered"] else []
        state = super()._new_state(p, group)
        return {**state, **{name: facula.zeros_like(p) for name in names}}


rmsprop = by_lists(
    RMSprop,
    {
        "square_avgs": "square_avg",
        "grad_avgs": "grad_avg",
        "momentum_buffer_list": "momentum_buffer",
        "state_steps": "step",
    },
    "foreach maximize differentiable capturable has_complex",
    "lr alpha eps weight_decay momentum centered",
)

"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import anything, at_least_zero
from facula.optim._declared import RuleOptimizer, flags, options, scalar
from facula.optim.optimizer import ParamsT

__all__ = ["ASGD"]


class ASGD(RuleOptimizer):
    """Gradient descent that also keeps the average of its parameters, in state ``"ax"``.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        lambd: how fast the parameters decay, times the learning rate.
        alpha: power by which the learning rate falls.
        t0: the step from which on parameters are averaged.
        weight_decay: factor of the L2 penalty, which is added to the gradient.
        foreach: accepted as in PyTorch; there is one implementation.
        capturable: accepted as in PyTorch, for parameters on CUDA only.
        differentiable: records the step itself, so that gradients flow through it.
        maximize: steps along the gradient, to larger values, and not against it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.ASGD([x], lr=0.25)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.5000, -1.0000], requires_grad=True)
    """

    _rule = staticmethod(_core._asgd_step)
    _numbers = ("step", "eta", "mu")
    _states = ("ax",)
    _options = options(
        lr=at_least_zero,
        lambd=anything,
        alpha=anything,
        t0=anything,
        weight_decay=at_least_zero,
        **flags("foreach", "maximize", "differentiable", "capturable"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        self._set_up(params, locals())

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        state = super()._new_state(p, group)
        return {**state, "eta": scalar(float(group["lr"])), "mu": scalar(1.0)}


asgd = by_lists(
    ASGD,
    {"axs": "ax", "mus": "mu", "etas": "eta", "state_steps": "step"},
    "foreach maximize differentiable capturable has_complex",
    "lambd lr t0 alpha weight_decay",
)

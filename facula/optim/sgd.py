"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import facula
from facula import Tensor, _core
from facula.optim._rule import RuleOptimizer, check_at_least_zero, check_implementation
from facula.optim.optimizer import ParamsT

__all__ = ["SGD"]


class SGD(RuleOptimizer):
    """Gradient descent, with momentum on request.

    Args:
        params: tensors, named tensors, or groups of them as dicts.
        lr: learning rate, a number or a tensor of one element.
        momentum: how much of the last update goes into the next one.
        dampening: how much of the gradient is kept from the momentum.
        weight_decay: L2 penalty.
        nesterov: looks ahead along the momentum; needs ``momentum`` and no ``dampening``.
        maximize: goes uphill instead.
        foreach, fused: accepted; there is one implementation.
        differentiable: the step itself is recorded, for gradients through it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.SGD([x], lr=0.25)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.tolist()
        [0.5, -1.0]
    """

    _rule = staticmethod(_core._sgd_step)
    _numbers = ()

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_at_least_zero(self, lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("SGD: nesterov needs a momentum above 0 and a dampening of 0.")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_implementation(self, foreach, fused, differentiable)

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        return {"momentum_buffer": facula.zeros_like(p)}

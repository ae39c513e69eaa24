"""Adadelta."""

from __future__ import annotations

from typing import Any

import facula
from facula import Tensor, _core
from facula.optim._rule import RuleOptimizer, check_at_least_zero, scalar
from facula.optim.optimizer import ParamsT

__all__ = ["Adadelta"]


class Adadelta(RuleOptimizer):
    """Steps scaled by the ratio of running averages: of the updates and of the gradients.

    Args:
        params: tensors, named tensors, or groups of them as dicts.
        lr: factor of the update, a number or a tensor of one element.
        rho: how much of the averages stays at each step.
        eps: added to both averages.
        weight_decay: L2 penalty.
        foreach: accepted; there is one implementation.
        capturable: accepted for parameters on CUDA.
        differentiable: the step itself is recorded, for gradients through it.
        maximize: goes uphill instead.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.Adadelta([x], lr=100.0)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.6838, -1.6838], requires_grad=True)
    """

    _rule = staticmethod(_core._adadelta_step)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_at_least_zero(self, lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0 <= rho <= 1:
            raise ValueError(f"Adadelta: rho must be between 0 and 1, got {rho}.")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        return {
            "step": scalar(0.0),
            "square_avg": facula.zeros_like(p),
            "acc_delta": facula.zeros_like(p),
        }

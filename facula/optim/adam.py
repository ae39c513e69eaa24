"""Adam."""

from __future__ import annotations

from typing import Any

import facula
from facula import Tensor, _core
from facula.optim._rule import (
    RuleOptimizer,
    check_at_least_zero,
    check_betas,
    check_implementation,
    scalar,
)
from facula.optim.optimizer import ParamsT

__all__ = ["Adam"]


class Adam(RuleOptimizer):
    """Adam: steps scaled by running averages of the gradient and of its square.

    Args:
        params: tensors, named tensors, or groups of them as dicts.
        lr: learning rate, a number or a tensor of one element.
        betas: how much of the two averages stays at each step.
        eps: added to the divisor.
        weight_decay: L2 penalty.
        amsgrad: divides by the largest average of squares so far.
        foreach, fused: accepted; there is one implementation.
        capturable: accepted for parameters on CUDA.
        maximize: goes uphill instead.
        differentiable: the step itself is recorded, for gradients through it.
        decoupled_weight_decay: shrinks the parameters instead of changing their gradients, as
            AdamW does.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.Adam([x], lr=0.5)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    _rule = staticmethod(_core._adam_step)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_at_least_zero(self, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(self, betas)
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError(f"{type(self).__name__}: betas must be two numbers or two tensors.")
        if any(isinstance(beta, Tensor) and beta.numel() != 1 for beta in betas):
            raise ValueError(f"{type(self).__name__}: tensors as betas must have one element.")
        if foreach and not capturable:
            for name, value in (("lr", lr), ("betas", betas[0])):
                if isinstance(value, Tensor):
                    raise ValueError(
                        f"{type(self).__name__}: {name} as a tensor needs foreach=False or "
                        f"capturable=True."
                    )
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_implementation(self, foreach, fused, differentiable)

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]
        return {"step": scalar(0.0), **{name: facula.zeros_like(p) for name in names}}

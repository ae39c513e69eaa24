"""Adam."""

from __future__ import annotations

from typing import Any

import facula
from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import anything, at_least_zero, decays
from facula.optim._declared import RuleOptimizer, flags, options
from facula.optim.optimizer import ParamsT

__all__ = ["Adam"]


class Adam(RuleOptimizer):
    """Adam: steps scaled by running averages of the gradient and of its square.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        betas: how much of the averages of the gradient and of its square stays at each step.
        eps: small number that is added to the divisor.
        weight_decay: factor of the L2 penalty, which is added to the gradient.
        amsgrad: divides by the largest average of squares so far, not by the latest.
        foreach: accepted as in PyTorch; there is one implementation.
        fused: accepted as in PyTorch; there is one implementation.
        capturable: accepted as in PyTorch, for parameters on CUDA only.
        maximize: steps along the gradient, to larger values, and not against it.
        differentiable: records the step itself, so that gradients flow through it.
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
    _states = ("exp_avg", "exp_avg_sq")
    _options = options(
        lr=at_least_zero,
        betas=decays,
        eps=at_least_zero,
        weight_decay=at_least_zero,
        **flags("amsgrad", "maximize", "foreach", "capturable", "differentiable", "fused"),
        decoupled_weight_decay=anything,
    )

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
        self._set_up(params, locals())

    def _check_options(self, given: dict[str, Any]) -> None:
        super()._check_options(given)
        betas = given["betas"]
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError(f"{type(self).__name__}: betas must be two numbers or two tensors.")
        if any(isinstance(beta, Tensor) and beta.numel() != 1 for beta in betas):
            raise ValueError(f"{type(self).__name__}: tensors as betas must have one element.")
        if given["foreach"] and not given["capturable"]:
            for name, value in (("lr", given["lr"]), ("betas", betas[0])):
                if isinstance(value, Tensor):
                    raise ValueError(
                        f"{type(self).__name__}: {name} as a tensor needs foreach=False or "
                        f"capturable=True."
                    )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        state = super()._new_state(p, group)
        return {**state, "max_exp_avg_sq": facula.zeros_like(p)} if group["amsgrad"] else state


adam = by_lists(
    Adam,
    {
        "exp_avgs": "exp_avg",
        "exp_avg_sqs": "exp_avg_sq",
        "max_exp_avg_sqs": "max_exp_avg_sq",
        "state_steps": "step",
    },
    "foreach capturable differentiable fused grad_scale found_inf has_complex "
    "decoupled_weight_decay",
    "amsgrad beta1 beta2 lr weight_decay eps maximize",
)

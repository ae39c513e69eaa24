"""Adam with the momentum of Nesterov."""

from __future__ import annotations

from typing import Any

from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import at_least_zero, decays
from facula.optim._declared import RuleOptimizer, flags, options, scalar
from facula.optim.optimizer import ParamsT

__all__ = ["NAdam"]


class NAdam(RuleOptimizer):
    """Adam that looks ahead along its momentum.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        betas: how much of the averages of the gradient and of its square stays at each step.
        eps: small number that is added to the divisor.
        weight_decay: factor of the L2 penalty, which is added to the gradient.
        momentum_decay: how fast the momentum grows to ``betas[0]``.
        decoupled_weight_decay: shrinks the parameters instead of changing their gradients.
        maximize: steps along the gradient, to larger values, and not against it.
        foreach: accepted as in PyTorch; there is one implementation.
        capturable: accepted as in PyTorch, for parameters on CUDA only.
        differentiable: records the step itself, so that gradients flow through it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.NAdam([x], lr=0.5)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.4718, -1.4718], requires_grad=True)
    """

    _rule = staticmethod(_core._nadam_step)
    _numbers = ("step", "mu_product")
    _states = ("exp_avg", "exp_avg_sq")
    _options = options(
        lr=at_least_zero,
        betas=decays,
        eps=at_least_zero,
        weight_decay=at_least_zero,
        momentum_decay=at_least_zero,
        **flags("decoupled_weight_decay", "maximize", "foreach", "capturable", "differentiable"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._set_up(params, locals())

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        return {**super()._new_state(p, group), "mu_product": scalar(1.0)}


nadam = by_lists(
    NAdam,
    {
        "exp_avgs": "exp_avg",
        "exp_avg_sqs": "exp_avg_sq",
        "mu_products": "mu_product",
        "state_steps": "step",
    },
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps",
)

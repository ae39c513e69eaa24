"""Rectified Adam."""

from __future__ import annotations

from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import at_least_zero, decays
from facula.optim._declared import RuleOptimizer, flags, options
from facula.optim.optimizer import ParamsT

__all__ = ["RAdam"]


class RAdam(RuleOptimizer):
    """Adam whose first steps, while the average of squares is still uncertain, are plain momentum.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        betas: how much of the averages of the gradient and of its square stays at each step.
        eps: small number that is added to the divisor.
        weight_decay: factor of the L2 penalty, which is added to the gradient.
        decoupled_weight_decay: shrinks the parameters instead of changing their gradients.
        maximize: steps along the gradient, to larger values, and not against it.
        foreach: accepted as in PyTorch; there is one implementation.
        capturable: accepted as in PyTorch, for parameters on CUDA only.
        differentiable: records the step itself, so that gradients flow through it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.RAdam([x], lr=0.25)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.5000, -1.0000], requires_grad=True)
    """

    _rule = staticmethod(_core._radam_step)
    _states = ("exp_avg", "exp_avg_sq")
    _options = options(
        lr=at_least_zero,
        betas=decays,
        eps=at_least_zero,
        weight_decay=at_least_zero,
        **flags("maximize", "foreach", "capturable", "decoupled_weight_decay", "differentiable"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._set_up(params, locals())


radam = by_lists(
    RAdam,
    {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "state_steps": "step"},
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
    "beta1 beta2 lr weight_decay eps",
)

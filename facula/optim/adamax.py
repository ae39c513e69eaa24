"""Adam with the largest gradient as its scale."""

from __future__ import annotations

from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import at_least_zero, decays
from facula.optim._declared import RuleOptimizer, flags, options
from facula.optim.optimizer import ParamsT

__all__ = ["Adamax"]


class Adamax(RuleOptimizer):
    """Adam that divides by the largest gradient, which it forgets slowly.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        betas: how much of the average and of the largest gradient stays at each step.
        eps: small number that is added to the absolute value of the gradient.
        weight_decay: factor of the L2 penalty, which is added to the gradient.
        maximize: steps along the gradient, to larger values, and not against it.
        foreach: accepted as in PyTorch; there is one implementation.
        capturable: accepted as in PyTorch, for parameters on CUDA only.
        differentiable: records the step itself, so that gradients flow through it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.Adamax([x], lr=0.5)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    _rule = staticmethod(_core._adamax_step)
    _states = ("exp_avg", "exp_inf")
    _options = options(
        lr=at_least_zero,
        betas=decays,
        eps=at_least_zero,
        weight_decay=at_least_zero,
        **flags("foreach", "maximize", "differentiable", "capturable"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        self._set_up(params, locals())


adamax = by_lists(
    Adamax,
    {"exp_avgs": "exp_avg", "exp_infs": "exp_inf", "state_steps": "step"},
    "foreach maximize differentiable capturable has_complex",
    "eps beta1 beta2 lr weight_decay",
)

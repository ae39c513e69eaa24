"""Adadelta."""

from __future__ import annotations

from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import at_least_zero, between_0_and_1
from facula.optim._declared import RuleOptimizer, flags, options
from facula.optim.optimizer import ParamsT

__all__ = ["Adadelta"]


class Adadelta(RuleOptimizer):
    """Steps scaled by the ratio of running averages: of the updates and of the gradients.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: factor of the update, a number or a tensor of one element.
        rho: how much of the averages stays at each step.
        eps: small number that is added to both averages.
        weight_decay: factor of the L2 penalty, which is added to the gradient.
        foreach: accepted as in PyTorch; there is one implementation.
        capturable: accepted as in PyTorch, for parameters on CUDA only.
        differentiable: records the step itself, so that gradients flow through it.
        maximize: steps along the gradient, to larger values, and not against it.

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
    _states = ("square_avg", "acc_delta")
    _options = options(
        lr=at_least_zero,
        rho=between_0_and_1,
        eps=at_least_zero,
        weight_decay=at_least_zero,
        **flags("maximize", "capturable", "foreach", "differentiable"),
    )

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
        self._set_up(params, locals())


adadelta = by_lists(
    Adadelta,
    {"square_avgs": "square_avg", "acc_deltas": "acc_delta", "state_steps": "step"},
    "capturable foreach differentiable has_complex",
    "lr rho eps weight_decay maximize",
)

"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from facula import Tensor
from facula.optim._by_lists import by_lists
from facula.optim.adam import Adam
from facula.optim.optimizer import ParamsT

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves, whatever their gradients.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        betas: how much of the averages of the gradient and of its square stays at each step.
        eps: small number that is added to the divisor.
        weight_decay: parameters shrink by ``lr * weight_decay`` at each step.
        amsgrad: divides by the largest average of squares so far, not by the latest.
        maximize: steps along the gradient, to larger values, and not against it.
        foreach: accepted as in PyTorch; there is one implementation.
        fused: accepted as in PyTorch; there is one implementation.
        capturable: accepted as in PyTorch, for parameters on CUDA only.
        differentiable: records the step itself, so that gradients flow through it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.AdamW([x], lr=0.5, weight_decay=0.2)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.4000, -1.3000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        self._set_up(params, {**locals(), "decoupled_weight_decay": True})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for (
            group
        ) in self.param_groups:  # False in the state of an Adam, missing in an older AdamW's
            group["decoupled_weight_decay"] = True


adamw = by_lists(
    AdamW,
    {
        "exp_avgs": "exp_avg",
        "exp_avg_sqs": "exp_avg_sq",
        "max_exp_avg_sqs": "max_exp_avg_sq",
        "state_steps": "step",
    },
    "foreach capturable differentiable fused grad_scale found_inf has_complex",
    "amsgrad beta1 beta2 lr weight_decay eps maximize",
    decoupled_weight_decay=True,
)

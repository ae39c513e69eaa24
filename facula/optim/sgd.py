"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import anything, at_least_zero
from facula.optim._declared import RuleOptimizer, flags, options
from facula.optim.optimizer import ParamsT

__all__ = ["SGD"]


class SGD(RuleOptimizer):
    """Gradient descent, with momentum on request.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        momentum: how much of the last update goes into the next one.
        dampening: how much of the gradient is kept from the momentum.
        weight_decay: factor of the L2 penalty, which is added to the gradient.
        nesterov: looks ahead along the momentum; needs ``momentum`` and no ``dampening``.
        maximize: steps along the gradient, to larger values, and not against it.
        foreach: accepted as in PyTorch; there is one implementation.
        fused: accepted as in PyTorch; there is one implementation.
        differentiable: records the step itself, so that gradients flow through it.

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
    _states = ("momentum_buffer",)
    _options = options(
        lr=at_least_zero,
        momentum=at_least_zero,
        dampening=anything,
        weight_decay=at_least_zero,
        **flags("nesterov", "maximize", "foreach", "differentiable", "fused"),
    )

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
        self._set_up(params, locals())

    def _sparse_update(self, p: Tensor, group: dict[str, Any]) -> Callable[[], None]:
        if group["weight_decay"] != 0:
            raise RuntimeError("SGD: weight_decay is not compatible with sparse gradients.")

        def update() -> None:
            grad: Any = p.grad
            grad = -grad if group["maximize"] else grad
            if group["momentum"] != 0:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = grad.clone()
                else:
                    buffer = buffer.mul_(group["momentum"]).add_(grad, alpha=1 - group["dampening"])
                state["momentum_buffer"] = buffer
                grad = grad.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
            p.add_(grad, alpha=-float(group["lr"]))

        return update

    def _check_options(self, given: dict[str, Any]) -> None:
        super()._check_options(given)
        if given["nesterov"] and (given["momentum"] <= 0 or given["dampening"] != 0):
            raise ValueError("SGD: nesterov needs a momentum above 0 and a dampening of 0.")


sgd = by_lists(
    SGD,
    {"momentum_buffer_list": "momentum_buffer"},
    "has_sparse_grad foreach fused grad_scale found_inf",
    "weight_decay momentum lr dampening nesterov maximize",
    gradients="d_p_list",
)

"""Adagrad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import facula
from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import at_least_zero
from facula.optim._declared import RuleOptimizer, flags, options, scalar
from facula.optim.optimizer import ParamsT

__all__ = ["Adagrad"]


class Adagrad(RuleOptimizer):
    """Steps scaled by the sum of all squared gradients so far.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        lr_decay: the learning rate of step ``t`` is ``lr / (1 + (t - 1) * lr_decay)``.
        weight_decay: factor of the L2 penalty, which is added to the gradient.
        initial_accumulator_value: what the sum of squares starts with.
        eps: small number that is added to the divisor.
        maximize: steps along the gradient, to larger values, and not against it.
        foreach: accepted as in PyTorch; there is one implementation.
        fused: accepted as in PyTorch; there is one implementation.
        differentiable: records the step itself, so that gradients flow through it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.Adagrad([x], lr=0.5)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    _rule = staticmethod(_core._adagrad_step)
    _options = options(
        lr=at_least_zero,
        lr_decay=at_least_zero,
        eps=at_least_zero,
        weight_decay=at_least_zero,
        initial_accumulator_value=at_least_zero,
        **flags("foreach", "maximize", "differentiable", "fused"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        self._set_up(params, locals())
        # Whoever writes to the state before the first step finds it, as in PyTorch.
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(self._new_state(p, group))

    def share_memory(self) -> None:
        """Move the states to memory that other processes share."""
        for state in self.state.values():
            for name in ("step", "sum"):
                state[name].share_memory_()

    def _sparse_update(self, p: Tensor, group: dict[str, Any]) -> Callable[[], None]:
        if group["weight_decay"] != 0:
            raise RuntimeError(
                "Adagrad: weight_decay option is not compatible with sparse gradients"
            )

        def update() -> None:
            state = self.state[p]
            if not state:
                state.update(self._new_state(p, group))
            state["step"] += 1
            lr = float(group["lr"]) / (1 + (float(state["step"]) - 1) * group["lr_decay"])
            grad: Any = p.grad
            grad = (-grad if group["maximize"] else grad).coalesce()
            state["sum"].add_(grad * grad)
            root = state["sum"].sparse_mask(grad).values().sqrt() + group["eps"]
            step = facula.sparse_coo_tensor(
                grad.indices(), grad.values() / root, grad.shape, is_coalesced=True
            )
            p.add_(step, alpha=-lr)

        return update

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        start = self.defaults["initial_accumulator_value"]
        # A complex parameter is a pair of real ones, each with a sum of its own.
        value = complex(start, start) if p.is_complex() else start
        return {"step": scalar(0.0), "sum": facula.full_like(p, value)}


adagrad = by_lists(
    Adagrad,
    {"state_sums": "sum", "state_steps": "step"},
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)

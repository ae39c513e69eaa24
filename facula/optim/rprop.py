"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

import facula
from facula import Tensor, _core
from facula.optim._by_lists import by_lists
from facula.optim._checks import anything, at_least_zero, must_be
from facula.optim._declared import RuleOptimizer, flags, options, scalar
from facula.optim.optimizer import ParamsT

__all__ = ["Rprop"]


class Rprop(RuleOptimizer):
    """Steps by the sign of the gradient, each parameter with a step size of its own.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: the first step size, a number or a tensor of one element.
        etas: factors of the step size, where the sign of the gradient changed and where it stayed.
        step_sizes: the smallest and the largest step size.
        foreach: accepted as in PyTorch; there is one implementation.
        capturable: accepted as in PyTorch, for parameters on CUDA only.
        differentiable: records the step itself, so that gradients flow through it.
        maximize: steps along the gradient, to larger values, and not against it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.Rprop([x], lr=0.5)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    _rule = staticmethod(_core._rprop_step)
    _options = options(
        lr=at_least_zero,
        etas=must_be(
            "a factor between 0 and 1 and one above 1", lambda etas: 0 < etas[0] < 1 < etas[1]
        ),
        step_sizes=anything,
        **flags("foreach", "maximize", "differentiable", "capturable"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._set_up(params, locals())

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        lr = float(group["lr"])
        # A complex parameter is a pair of real ones, each with a step size of its own.
        size = facula.full_like(p, complex(lr, lr) if p.is_complex() else lr)
        return {"step": scalar(0.0), "prev": facula.zeros_like(p), "step_size": size}


rprop = by_lists(
    Rprop,
    {"prevs": "prev", "step_sizes": "step_size", "state_steps": "step"},
    "foreach capturable maximize differentiable has_complex",
    "step_size_min step_size_max etaminus etaplus",
)

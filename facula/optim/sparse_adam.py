"""Adam for sparse gradients."""

from __future__ import annotations

import math
from typing import Any

import facula
from facula import Tensor
from facula.optim._checks import above_zero, decays
from facula.optim._declared import ComposedOptimizer, flags, options
from facula.optim.optimizer import ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(ComposedOptimizer):
    """Adam that looks at the rows which have a gradient, and leaves the others as they are.

    The averages of a row change only when the row has a gradient, so this is not quite Adam. It is
    for tables such as that of ``nn.Embedding(sparse=True)``, of which a step needs few rows.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        betas: how much of the averages of the gradient and of its square stays at each step.
        eps: small number that is added to the divisor.
        maximize: steps along the gradient, to larger values, and not against it.

    Example:
        >>> from facula import optim
        >>> table = facula.nn.Embedding(3, 2, sparse=True)
        >>> optimizer = optim.SparseAdam(table.parameters(), lr=0.5)
        >>> before = table.weight.detach().clone()
        >>> table(facula.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> (table.weight - before).detach()
        tensor([[ 0.0000,  0.0000],
                [-0.5000, -0.5000],
                [ 0.0000,  0.0000]])
    """

    _takes_sparse = True
    _options = options(
        lr=above_zero,
        betas=decays,
        eps=above_zero,
        **flags("maximize"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        self._set_up(params, locals())
        for group in self.param_groups:
            for p in group["params"]:
                if p.layout is not facula.strided:
                    raise ValueError(
                        f"SparseAdam requires dense parameter tensors, got one of layout "
                        f"{p.layout} and shape {tuple(p.shape)}."
                    )
                if p.is_complex():
                    raise ValueError("SparseAdam does not support complex parameters.")

    def _update(self, group: dict[str, Any], p: Tensor, grad: Tensor) -> None:
        state = self.state[p]
        if not state:
            state["step"] = 0
            state["exp_avg"] = facula.zeros_like(p)
            state["exp_avg_sq"] = facula.zeros_like(p)
        state["step"] += 1
        grad = (-grad if group["maximize"] else grad).coalesce()
        values = grad.values()
        if values.numel() == 0:
            return

        def at_places(data: Tensor) -> Tensor:
            return facula.sparse_coo_tensor(grad.indices(), data, grad.shape, is_coalesced=True)

        def moved(name: str, target: Tensor, beta: float) -> Tensor:
            """The average at the places of the gradient, after its step to the target."""
            before = state[name].sparse_mask(grad).values()
            step = (target - before) * (1 - beta)
            state[name].add_(at_places(step))
            after: Tensor = before + step
            return after

        beta1, beta2 = group["betas"]
        mean = moved("exp_avg", values, beta1)
        square = moved("exp_avg_sq", values * values, beta2)
        corrections = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        rate = float(group["lr"]) * math.sqrt(corrections[1]) / corrections[0]
        p.add_(at_places(mean / (square.sqrt() + group["eps"])), alpha=-rate)

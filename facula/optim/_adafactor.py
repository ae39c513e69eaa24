"""Adafactor."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import facula
from facula import Tensor
from facula.optim._checks import at_least_zero, must_be
from facula.optim._declared import ComposedOptimizer, flags, options, scalar
from facula.optim.optimizer import ParamsT

__all__ = ["Adafactor"]


class Adafactor(ComposedOptimizer):
    """Steps scaled by an average of squared gradients, kept as rows and columns for a matrix.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: the largest learning rate, a number or a tensor of one element.
        beta2_decay: new squares weigh the step's number to this power; at most 0.
        eps: two numbers: one is added to the squares (None for what the dtype can resolve), the
            other is the smallest scale of a parameter.
        d: the largest root mean square of an update; at least 1.
        weight_decay: parameters shrink by ``lr * weight_decay`` at each step.
        foreach: accepted as in PyTorch; there is one implementation.
        maximize: steps along the gradient, to larger values, and not against it.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.Adafactor([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.8419, -1.8419], requires_grad=True)
    """

    _numbers = ("step",)
    _added_later = MappingProxyType({"foreach": None})
    _options = options(
        lr=at_least_zero,
        beta2_decay=must_be("at most 0", lambda decay: decay <= 0),
        eps=must_be("at least 0", lambda eps: (eps[0] is None or eps[0] >= 0) and eps[1] >= 0),
        d=must_be("at least 1", lambda d: d >= 1),
        weight_decay=at_least_zero,
        **flags("foreach", "maximize"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        self._set_up(params, locals())

    def _update(self, group: dict[str, Any], p: Tensor, grad: Tensor) -> None:
        grad = -grad if group["maximize"] else grad
        state = self.state[p]
        if not state:
            state.update(_new_state(grad))
        state["step"] += 1
        step, lr = state["step"].item(), float(group["lr"])
        eps1, eps2 = group["eps"]
        eps1 = facula.finfo(p.dtype).eps if eps1 is None else eps1
        # Steps are relative to the size of the parameter, which must not be 0 for it to move.
        size = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        squares = _squares(state, grad, step ** group["beta2_decay"], eps1)
        # A vanishing average would make an element of the update infinite.
        update = squares.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        rms = update.norm(2).item() / update.numel() ** 0.5
        p.add_(update, alpha=-size / max(1.0, rms / group["d"]))


def _new_state(grad: Tensor) -> dict[str, Tensor]:
    if grad.dim() < 2:
        return {"step": scalar(0.0), "variance": facula.zeros_like(grad)}
    *outer, rows, columns = grad.shape
    return {
        "step": scalar(0.0),
        "row_var": grad.new_zeros((*outer, rows, 1)),
        "col_var": grad.new_zeros((*outer, 1, columns)),
    }


def _squares(state: dict[str, Tensor], grad: Tensor, weight: float, eps1: float) -> Tensor:
    """The running average of the squared gradient; of a matrix, from those of rows and columns."""
    if grad.dim() < 2:
        return state["variance"].lerp_(grad * grad, weight).clone()
    # Rows and columns take (n + m) numbers in place of n * m. Their product over the mean of the
    # rows is the matrix of rank one that has these sums, as the paper derives it.
    for name, dim in (("row_var", -1), ("col_var", -2)):
        mean = grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim))
        state[name].lerp_(mean, weight)
    rows, columns = state["row_var"], state["col_var"]
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))

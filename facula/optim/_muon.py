"""Muon: momentum, orthogonalised."""

from __future__ import annotations

import math
from typing import Any

import facula
from facula import Tensor
from facula.optim._checks import at_least_zero, must_be
from facula.optim._declared import ComposedOptimizer, flags, options
from facula.optim.optimizer import ParamsT

__all__ = ["Muon"]


class Muon(ComposedOptimizer):
    """Steps along the momentum of a matrix with all its singular values made about 1.

    For the matrices of hidden layers; the rest of a model is for another optimiser.

    Args:
        params: matrices, pairs of a name and a matrix, or dicts, each a group with its own options.
        lr: learning rate, before it is adjusted to the shape of a matrix.
        weight_decay: parameters shrink by ``lr * weight_decay`` at each step.
        momentum: how much of the average gradient stays at each step.
        nesterov: looks ahead along the momentum.
        ns_coefficients: three coefficients of the odd polynomial that is iterated.
        eps: the smallest norm that a matrix is divided by.
        ns_steps: how many times the polynomial is applied; below 100.
        adjust_lr_fn: how the rate depends on the shape: ``"original"`` (the default) or
            ``"match_rms_adamw"``.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([[3.0, 0.0], [0.0, 1.0]], requires_grad=True)
        >>> optimizer = optim.Muon([x], lr=0.1, weight_decay=0.0)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool((x[0, 0] - 3.0).abs() < 0.13), bool((x[1, 1] - 1.0).abs() > 0.05)
        (True, True)
    """

    _options = options(
        lr=at_least_zero,
        weight_decay=at_least_zero,
        momentum=at_least_zero,
        **flags("nesterov", "ns_coefficients", "eps", "ns_steps"),
        adjust_lr_fn=must_be(
            "'original' or 'match_rms_adamw'",
            lambda name: name in (None, "original", "match_rms_adamw"),
        ),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        self._set_up(params, locals())
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        f"Muon: parameters must have two dimensions, got one of shape "
                        f"{tuple(p.shape)}."
                    )

    def _gradients(self) -> list[tuple[dict[str, Any], Tensor, Tensor]]:
        found = super()._gradients()
        for group, _, _ in found:
            if group["ns_steps"] >= 100:
                raise ValueError(f"Muon: ns_steps must be below 100, got {group['ns_steps']}.")
            if len(group["ns_coefficients"]) != 3:
                raise ValueError("Muon: ns_coefficients must be three numbers.")
        return found

    def _update(self, group: dict[str, Any], p: Tensor, grad: Tensor) -> None:
        lr, momentum = float(group["lr"]), group["momentum"]
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = facula.zeros_like(grad)
        average = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = grad.lerp(average, momentum) if group["nesterov"] else average
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-lr * _scale(group["adjust_lr_fn"], *p.shape))


def _scale(adjust_lr_fn: str | None, n_rows: int, n_columns: int) -> float:
    if adjust_lr_fn == "match_rms_adamw":
        return 0.2 * math.sqrt(max(n_rows, n_columns))
    return math.sqrt(max(1, n_rows / n_columns))


def _orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], n_steps: int, eps: float
) -> Tensor:
    """The matrix with singular values near 1, by the iteration of Newton and Schulz.

    ``x <- a x + (b S + c S S) x`` with ``S = x x^T``. The coefficients are steep at zero, which
    takes few steps but does not settle: the values end between about 0.7 and 1.2. That is enough,
    and so is bfloat16.
    """
    a, b, c = coefficients
    is_tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.t() if is_tall else x  # the Gram matrix is of the shorter side
    # At most 1 in the Frobenius norm, hence in all singular values: from more it would diverge.
    x = x / x.norm().clamp(min=eps)
    for _ in range(n_steps):
        gram = x @ x.t()
        x = facula.addmm(x, facula.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.t() if is_tall else x

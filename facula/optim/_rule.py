"""Optimisers whose rule is in the core, and checks that all optimisers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import facula
from facula import Tensor
from facula.optim.optimizer import Optimizer

# Options that older checkpoints lack.
_ADDED_LATER: dict[str, Any] = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "decoupled_weight_decay": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "momentum": 0,
    "nesterov": False,
}


class RuleOptimizer(Optimizer):
    """An optimiser that steps by a rule of ``core/math/optim.h``.

    The flags ``foreach`` and ``fused`` choose nothing here: there is one way, and it takes all
    parameters at once. ``capturable`` is for steps captured in a graph, which a CPU does not have.
    """

    _rule: Callable[[Optimizer], None]
    _numbers: tuple[str, ...] = ("step",)  # states that are one number; once they were no tensors

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with facula.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if group.get("capturable") and not group.get("fused"):
                _check_capturable(self, group)
        self._rule(self)
        return loss

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        """The state of a parameter before its first step; called by the rule."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in _ADDED_LATER.items():
                if name in self.defaults:
                    group.setdefault(name, default)
            for p in group["params"]:
                own = self.state.get(p, {})
                for name in self._numbers:
                    if name in own and not isinstance(own[name], Tensor):
                        own[name] = scalar(float(own[name]))


def scalar(value: float) -> Tensor:
    """A state that is one number, in the precision that PyTorch keeps it in."""
    is_double = facula.get_default_dtype() == facula.float64
    return facula.tensor(value, dtype=facula.float64 if is_double else facula.float32)


def check_at_least_zero(optimizer: Optimizer, **options: Any) -> None:
    """Refuse options below zero or NaN, and learning rates of several elements."""
    for name, value in options.items():
        if isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError(
                f"{type(optimizer).__name__}: {name} must be a number or a tensor of one element, "
                f"got one of {value.numel()}."
            )
        if not value >= 0:
            raise ValueError(f"{type(optimizer).__name__}: {name} must be at least 0, got {value}.")


def _check_capturable(optimizer: Optimizer, group: dict[str, Any]) -> None:
    for p in group["params"]:
        if p.grad is not None and not p.is_cuda:
            raise AssertionError(
                f"{type(optimizer).__name__}: capturable=True is for parameters on CUDA, got one "
                f"on {p.device}. Leave it out."
            )


def checked_gradients(optimizer: Optimizer) -> list[tuple[dict[str, Any], Tensor, Tensor]]:
    """``(group, parameter, gradient)`` of all that have a gradient; each fits, and is real."""
    name = type(optimizer).__name__
    found = []
    for group in optimizer.param_groups:
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if p.is_complex():
                raise RuntimeError(f"{name}: complex parameters are not supported.")
            if grad.shape != p.shape or grad.dtype != p.dtype or grad.device != p.device:
                raise RuntimeError(
                    f"{name}: a parameter is {p.dtype} {tuple(p.shape)} on {p.device}, but its "
                    f"gradient is {grad.dtype} {tuple(grad.shape)} on {grad.device}."
                )
            found.append((group, p, grad))
    return found


def check_betas(optimizer: Optimizer, betas: tuple[Any, Any]) -> None:
    """Refuse decays that are not in [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0 <= beta < 1:
            raise ValueError(
                f"{type(optimizer).__name__}: betas must be at least 0 and below 1, got {beta} at "
                f"index {i}."
            )


def check_implementation(
    optimizer: Optimizer, foreach: bool | None, fused: bool | None, differentiable: bool
) -> None:
    """Refuse flags that contradict each other."""
    if fused and differentiable:
        raise RuntimeError(f"{type(optimizer).__name__}: fused and differentiable exclude another.")
    if fused and foreach:
        raise RuntimeError(f"{type(optimizer).__name__}: fused and foreach exclude each other.")

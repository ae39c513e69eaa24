"""Optimisers that declare their options and states, and step by a rule of the core or of their own.

A new one is a class with ``_options``, a constructor with the signature that users see, and the
name of its rule. Defaults, checks, first states and old checkpoints follow from the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import facula
from facula import Tensor
from facula.optim._checks import Check, anything, check
from facula.optim.optimizer import Optimizer, ParamsT


def options(**checks: Check) -> Mapping[str, Check]:
    """The options of an optimiser with what each may be, in the order of ``param_groups``."""
    return MappingProxyType(checks)


def flags(*names: str) -> dict[str, Check]:
    """Options that may be anything, for ``options(..., **flags("maximize"))``."""
    return dict.fromkeys(names, anything)


class DeclaredOptimizer(Optimizer):
    """An optimiser whose class says which options and states it has.

    The constructor of a subclass has its arguments in PyTorch's order, with their types and
    defaults, and passes its ``locals()`` to ``_set_up``: ``_options`` picks the options from them.
    """

    _options: Mapping[str, Check]
    _numbers: tuple[str, ...] = ()  # states that are one number; in old checkpoints, no tensors
    _added_later: Mapping[str, Any] = MappingProxyType({})  # options that old checkpoints lack

    # No constructor, so that subclasses of users may call Optimizer's: super(Adam, self).__init__.
    def _set_up(self, params: ParamsT, arguments: dict[str, Any]) -> None:
        """What a constructor does, with its arguments by name."""
        defaults = {name: arguments[name] for name in self._options}
        self._check_options(defaults)
        super().__init__(params, defaults)

    def _check_options(self, given: dict[str, Any]) -> None:
        """Refuse options that are out of range; a subclass adds those that exclude each other."""
        for name, is_wrong in self._options.items():
            check(self, name, given[name], is_wrong)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with facula.enable_grad():
                loss = closure()
        self._step()
        return loss

    def _step(self) -> None:
        """Change the parameters, whose gradients are there."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self._added_later.items():
                if name in self._options:
                    group.setdefault(name, default)
            for p in group["params"]:
                own = self.state.get(p, {})
                for name in self._numbers:
                    if name in own and not isinstance(own[name], Tensor):
                        own[name] = scalar(float(own[name]))


class RuleOptimizer(DeclaredOptimizer):
    """An optimiser that steps by a rule of ``core/math/optim.h``.

    The flags ``foreach`` and ``fused`` choose nothing here: there is one way, and it takes all
    parameters at once. ``capturable`` is for steps captured in a graph, which a CPU does not have.
    """

    _rule: Callable[[Optimizer], None]
    _numbers: tuple[str, ...] = ("step",)
    _states: tuple[str, ...]  # states as large as the parameter, zero at first
    _added_later = MappingProxyType(
        {
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
    )

    def _set_up(self, params: ParamsT, arguments: dict[str, Any]) -> None:
        super()._set_up(params, arguments)
        # After the parameters were checked, as in PyTorch: scripts see the same error first.
        if self.defaults.get("fused") and self.defaults["differentiable"]:
            raise RuntimeError(f"{type(self).__name__}: fused and differentiable exclude another.")
        if self.defaults.get("fused") and self.defaults["foreach"]:
            raise RuntimeError(f"{type(self).__name__}: fused and foreach exclude each other.")

    def _step(self) -> None:
        for group in self.param_groups:
            if group.get("capturable") and not group.get("fused"):
                self._check_capturable(group)
        self._rule(self)

    def _check_capturable(self, group: dict[str, Any]) -> None:
        for p in group["params"]:
            if p.grad is not None and not p.is_cuda:
                raise AssertionError(
                    f"{type(self).__name__}: capturable=True is for parameters on CUDA, got one "
                    f"on {p.device}. Leave it out."
                )

    def _sparse_update(self, p: Tensor, group: dict[str, Any]) -> Callable[[], None]:
        """The step of a parameter whose gradient is sparse; called by the rule before any step."""
        raise RuntimeError(
            f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam "
            "instead, or sparse=False."
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        """The state of a parameter before its first step; called by the rule."""
        return {
            **{name: scalar(0.0) for name in self._numbers},
            **{name: facula.zeros_like(p) for name in self._states},
        }


class ComposedOptimizer(DeclaredOptimizer):
    """An optimiser that steps by operations on one parameter after the other."""

    _takes_sparse = False  # gradients are either all sparse or all dense

    @property
    def _refusal(self) -> str:
        kind, other = ("dense", "Adam") if self._takes_sparse else ("sparse", "SparseAdam")
        name = type(self).__name__
        return f"{name} does not support {kind} gradients, please consider {other} instead."

    def _step(self) -> None:
        with facula.no_grad():
            for group, p, grad in self._gradients():
                self._update(group, p, grad)

    def _update(self, group: dict[str, Any], p: Tensor, grad: Tensor) -> None:
        """Change one parameter and its state."""
        raise NotImplementedError

    def _gradients(self) -> list[tuple[dict[str, Any], Tensor, Tensor]]:
        """``(group, parameter, gradient)`` of all that have a gradient.

        A list, not an iterator: all of them are checked before the first parameter is changed.
        """
        name = type(self).__name__
        found = []
        for group in self.param_groups:
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if p.is_complex():
                    raise RuntimeError(f"{name}: complex parameters are not supported.")
                if grad.is_sparse is not self._takes_sparse:
                    raise RuntimeError(self._refusal)
                if grad.shape != p.shape or grad.dtype != p.dtype or grad.device != p.device:
                    raise RuntimeError(
                        f"{name}: a parameter is {p.dtype} {tuple(p.shape)} on {p.device}, but its "
                        f"gradient is {grad.dtype} {tuple(grad.shape)} on {grad.device}."
                    )
                found.append((group, p, grad))
        return found


def scalar(value: float) -> Tensor:
    """A state that is one number, in the precision that PyTorch keeps it in."""
    is_double = facula.get_default_dtype() == facula.float64
    return facula.tensor(value, dtype=facula.float64 if is_double else facula.float32)

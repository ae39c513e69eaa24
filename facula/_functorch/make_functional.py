"""Modules as functions of their parameters, as the package functorch had them.

:func:`facula.func.functional_call` is the way of today.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import facula
from facula import Tensor
from facula.func import functional_call
from facula.nn import Module, Parameter

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]


class FunctionalModuleWithBuffers(Module):
    """A module without a state: each call is given the parameters, the buffers and the inputs.

    Args:
        stateless_model: the module whose ``forward`` is called.
        param_names: the names of the parameters, in the order in which a call gives them.
        buffer_names: the names of the buffers, in the order in which a call gives them.

    Example:
        >>> f, params, buffers = make_functional_with_buffers(facula.nn.BatchNorm1d(2).eval())
        >>> f(params, buffers, facula.zeros(1, 2)).tolist()
        [[0.0, 0.0]]
    """

    def __init__(
        self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)
        self.buffer_names = tuple(buffer_names)

    def forward(
        self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        """What the module returns for the inputs, with these parameters and buffers."""
        names = self.param_names + self.buffer_names
        state = dict(zip(names, (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(Module):
    """A module without a state: each call is given the parameters and the inputs.

    Args:
        stateless_model: the module whose ``forward`` is called.
        param_names: the names of the parameters, in the order in which a call gives them.

    Example:
        >>> f, params = make_functional(facula.nn.Linear(2, 1))
        >>> f([facula.ones(1, 2), facula.zeros(1)], facula.ones(2)).tolist()
        [2.0]
    """

    def __init__(self, stateless_model: Module, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """What the module returns for the inputs, with these parameters."""
        state = dict(zip(self.param_names, params, strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A function of parameters, buffers and inputs, and the parameters and buffers of a module.

    Args:
        model: the module, which is copied.
        disable_autograd_tracking: whether the parameters returned require no grad.

    Example:
        >>> f, params, buffers = make_functional_with_buffers(facula.nn.BatchNorm1d(2))
        >>> len(params), len(buffers)
        (2, 3)
    """
    shell = copy.deepcopy(model).to("meta")
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    values = tuple(
        Parameter(p.detach().clone(), p.requires_grad and not disable_autograd_tracking)
        for p in params.values()
    )
    copies = tuple(b.detach().clone() for b in buffers.values())
    return FunctionalModuleWithBuffers(shell, tuple(params), tuple(buffers)), values, copies


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A function of parameters and inputs, and the parameters of a module.

    Args:
        model: the module, which is copied; it has no buffers.
        disable_autograd_tracking: whether the parameters returned require no grad.

    Example:
        >>> f, params = make_functional(facula.nn.Linear(2, 1))
        >>> [tuple(p.shape) for p in params]
        [(1, 2), (1,)]
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    f, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return FunctionalModule(f.stateless_model, f.param_names), params


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """One function for models of one class, and their parameters and buffers, stacked.

    Args:
        models: at least one module; all of one class, and all in training or all in evaluation.

    Example:
        >>> models = [facula.nn.Linear(2, 1) for _ in range(3)]
        >>> f, params, buffers = combine_state_for_ensemble(models)
        >>> facula.vmap(f, (0, 0, None))(params, buffers, facula.ones(2)).shape
        torch.Size([3, 1])
    """
    if not models:
        raise RuntimeError("combine_state_for_ensemble: expected at least one model, got none.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: expected all models to be of one class.")
    made = [make_functional_with_buffers(model) for model in models]
    params, buffers = (
        tuple(facula.stack(each).detach() for each in zip(*lists, strict=True))
        for lists in (tuple(m[1] for m in made), tuple(m[2] for m in made))
    )
    first = tuple(
        p.requires_grad_(q.requires_grad) for p, q in zip(params, made[0][1], strict=True)
    )
    return made[0][0], first, buffers

"""States of models and optimisers by the names of parameters, here those of one process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from facula import Tensor
from facula.nn import Module
from facula.nn.modules._state import _IncompatibleKeys
from facula.optim import Optimizer
from facula.utils._pytree import tree_map_only

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

_Optimizers = Optimizer | Iterable[Optimizer]


@dataclass
class StateDictOptions:
    """How states are taken and set; what is about several processes changes nothing in one.

    Args:
        full_state_dict: whether tensors are gathered from all processes.
        cpu_offload: whether tensors are copied to main memory.
        ignore_frozen_params: whether parameters that require no grad are left out.
        keep_submodule_prefixes: whether names begin with those of the modules they are in.
        strict: whether names must be the same when a state is set.
        broadcast_from_rank0: whether the first process sends the state to the others.
        flatten_optimizer_state_dict: whether states of optimisers have one level.
        dsd_fqn_modifiers: the method of modules that changes names.

    Example:
        >>> StateDictOptions(cpu_offload=True).strict
        True
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model.

    Args:
        model: the model.
        submodules: the modules whose state is wanted; all if not given.
        options: how it is taken.

    Example:
        >>> sorted(get_model_state_dict(facula.nn.Linear(2, 1)))
        ['bias', 'weight']
    """
    options = options or StateDictOptions()
    state = dict(model.state_dict())
    if options.ignore_frozen_params:
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                state.pop(name, None)
    if submodules:
        prefixes = {name + "." for name, module in model.named_modules() if module in submodules}
        state = {
            name if options.keep_submodule_prefixes else name[len(prefix) :]: value
            for name, value in state.items()
            for prefix in prefixes
            if name.startswith(prefix)
        }
    return _offloaded(state, options)


def get_optimizer_state_dict(
    model: Module,
    optimizers: _Optimizers,
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of optimisers, with the names of parameters in the place of their numbers.

    Args:
        model: the model whose parameters are optimised.
        optimizers: one or more of them.
        submodules: the modules whose parameters are wanted; all if not given.
        options: how it is taken.

    Example:
        >>> net = facula.nn.Linear(2, 1)
        >>> state = get_optimizer_state_dict(net, facula.optim.SGD(net.parameters(), lr=0.1))
        >>> state["param_groups"][0]["params"]
        ['weight', 'bias']
    """
    options = options or StateDictOptions()
    wanted = {id(p) for m in submodules for p in m.parameters()} if submodules else None
    names = {
        id(p): name for name, p in model.named_parameters() if wanted is None or id(p) in wanted
    }
    result: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _as_list(optimizers):
        for group in optimizer.param_groups:
            found = [p for p in group["params"] if id(p) in names]
            row = {key: value for key, value in group.items() if key != "params"}
            result["param_groups"].append({**row, "params": [names[id(p)] for p in found]})
            for p in found:
                if p in optimizer.state:
                    result["state"][names[id(p)]] = dict(optimizer.state[p])
    return _offloaded(result, options)


def get_state_dict(
    model: Module,
    optimizers: _Optimizers,
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimisers.

    Args:
        model: the model.
        optimizers: one or more optimisers of its parameters.
        submodules: the modules whose state is wanted; all if not given.
        options: how they are taken.

    Example:
        >>> net = facula.nn.Linear(2, 1)
        >>> weights, state = get_state_dict(net, facula.optim.SGD(net.parameters(), lr=0.1))
        >>> sorted(weights), sorted(state)
        (['bias', 'weight'], ['param_groups', 'state'])
    """
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Load a model's state; returns the names that were missing and those that were not known.

    Args:
        model: the model.
        model_state_dict: its state, as :func:`get_model_state_dict` returns it.
        options: how it is set.

    Example:
        >>> net = facula.nn.Linear(2, 1)
        >>> set_model_state_dict(net, get_model_state_dict(net))
        <All keys matched successfully>
    """
    strict = options.strict if options else True
    keys: _IncompatibleKeys = model.load_state_dict(model_state_dict, strict=strict)
    return keys


def set_optimizer_state_dict(
    model: Module,
    optimizers: _Optimizers,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load the state of optimisers.

    Args:
        model: the model whose parameters are optimised.
        optimizers: one or more of them.
        optim_state_dict: the state, as :func:`get_optimizer_state_dict` returns it.
        options: how it is set.

    Example:
        >>> net = facula.nn.Linear(2, 1)
        >>> adam = facula.optim.Adam(net.parameters(), lr=0.5)
        >>> set_optimizer_state_dict(net, adam, get_optimizer_state_dict(net, adam))
    """
    names = {id(p): name for name, p in model.named_parameters()}
    groups = {name: group for group in optim_state_dict["param_groups"] for name in group["params"]}
    for optimizer in _as_list(optimizers):
        state = optimizer.state_dict()
        for group, given in zip(state["param_groups"], optimizer.param_groups, strict=True):
            for number, p in zip(group["params"], given["params"], strict=True):
                name = names[id(p)]
                if name not in groups:
                    raise RuntimeError(
                        f"set_optimizer_state_dict: the state has no parameter {name}."
                    )
                options_of_group = {k: v for k, v in groups[name].items() if k != "params"}
                group.update(options_of_group)
                if name in optim_state_dict["state"]:
                    state["state"][number] = optim_state_dict["state"][name]
        optimizer.load_state_dict(state)


def set_state_dict(
    model: Module,
    optimizers: _Optimizers,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> _IncompatibleKeys:
    """Load the states of a model and of its optimisers.

    Args:
        model: the model.
        optimizers: one or more optimisers of its parameters.
        model_state_dict: the model's state.
        optim_state_dict: the optimisers' state.
        options: how they are set.

    Example:
        >>> net = facula.nn.Linear(2, 1)
        >>> sgd = facula.optim.SGD(net.parameters(), lr=0.1)
        >>> weights, state = get_state_dict(net, sgd)
        >>> set_state_dict(net, sgd, model_state_dict=weights, optim_state_dict=state)
        <All keys matched successfully>
    """
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


def _as_list(optimizers: _Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _offloaded(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    if not options.cpu_offload:
        return state
    moved: dict[str, Any] = tree_map_only(Tensor, lambda x: x.detach().cpu(), state)
    return moved

"""An optimiser with other parameters and another state for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from facula import Tensor
from facula.optim.optimizer import Optimizer, StateDict

__all__ = ["swap_in_optimizer_params_and_state"]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: StateDict
) -> Iterator[None]:
    """Inside the block ``optimizer`` works on other parameters, with another state.

    Args:
        optimizer: an optimiser that has a state, since it has taken a step.
        swapin_parameters: tensors in the order of the optimiser's parameters.
        swapin_optim_state: a state as ``optimizer.state_dict()`` returns it. Tensors that a step
            writes to in place keep what was written; everything else is forgotten at the end.

    Example:
        >>> from facula import optim
        >>> x = facula.ones(1, requires_grad=True)
        >>> optimizer = optim.SGD([x], lr=0.5, momentum=0.5)
        >>> x.grad = facula.ones(1)
        >>> optimizer.step()
        >>> y = facula.ones(1, requires_grad=True)
        >>> y.grad = facula.ones(1)
        >>> state = optimizer.state_dict()
        >>> with optim.swap_in_optimizer_params_and_state(optimizer, {"y": y}, state):
        ...     optimizer.step()
        >>> x.item(), y.item()
        (0.5, 0.25)
    """
    # Everything is checked before the optimiser is touched, and put back whatever the block does.
    params = _checked(optimizer, swapin_parameters, swapin_optim_state)
    state_before, groups_before = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        state: defaultdict[Any, Any] = defaultdict(dict)
        loaded_groups = swapin_optim_state["param_groups"]
        for group, loaded in zip(optimizer.param_groups, loaded_groups, strict=True):
            numbers = loaded["params"]
            group.update(loaded)
            group["params"] = [params[number] for number in numbers]
            for number in numbers:
                state[params[number]] = dict(swapin_optim_state["state"].get(number, {}))
        optimizer.state = state
        yield
    finally:
        for group, before in zip(optimizer.param_groups, groups_before, strict=True):
            group.clear()  # the same dicts as before: schedulers and users hold them
            group.update(before)
        optimizer.state = state_before


def _checked(
    optimizer: Optimizer, parameters: dict[str, Tensor], state_dict: Any
) -> dict[int, Tensor]:
    """The new parameters by their numbers in the state."""

    def check(ok: object, problem: str) -> None:
        if not ok:
            raise RuntimeError(f"swap_in_optimizer_params_and_state: {problem}")

    check(optimizer.state, "the optimiser has no state yet. Take a step first.")
    check(isinstance(state_dict, dict), "expected a state as state_dict() returns it.")
    state, groups = state_dict.get("state"), state_dict.get("param_groups")
    check(
        isinstance(state, dict) and all(isinstance(key, int) for key in state),
        "'state' must be a dict by the numbers of parameters.",
    )
    check(
        all(isinstance(value, dict) for value in state.values()),
        "the state of each parameter must be a dict.",
    )
    check(
        isinstance(groups, list) and len(groups) == len(optimizer.param_groups),
        f"'param_groups' must be a list of {len(optimizer.param_groups)} groups.",
    )
    numbers: list[int] = []
    for i, (group, loaded) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        check(isinstance(loaded, dict), f"group {i} must be a dict.")
        own = loaded.get("params")
        check(
            isinstance(own, list) and all(isinstance(number, int) for number in own),
            f"the params of group {i} must be a list of numbers.",
        )
        check(
            len(own) == len(group["params"]),
            f"group {i} has {len(own)} parameters, that of the optimiser {len(group['params'])}.",
        )
        check(
            loaded.keys() == group.keys(),
            f"group {i} has other options than that of the optimiser: "
            f"{sorted(loaded.keys() ^ group.keys())}.",
        )
        numbers += own
    check(
        len(parameters) >= len(numbers),
        f"got {len(parameters)} parameters for the {len(numbers)} of the optimiser.",
    )
    check(set(state) <= set(numbers), "'state' has numbers that are in no group.")
    return dict(zip(numbers, parameters.values(), strict=False))

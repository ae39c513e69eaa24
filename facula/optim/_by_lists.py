"""The step of an optimiser as a function of lists: parameters, gradients, each of the states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from facula import Tensor
from facula.autograd.grad_mode import set_grad_enabled
from facula.optim._declared import RuleOptimizer

# Two numbers that are one option of the class.
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


def by_lists(
    kind: type[RuleOptimizer],
    states: dict[str, str],
    flags: str,
    options: str,
    gradients: str = "grads",
    **always: Any,
) -> Callable[..., None]:
    """The function with which PyTorch's optimiser of this kind steps.

    Args:
        kind: whose rule it is.
        states: the arguments that are lists of states, and the name of each in the optimiser.
        flags: the arguments behind them, which may be left out.
        options: the arguments that must be given by name.
        gradients: what the list of gradients is called.
        always: options that are not arguments.
    """
    positional = ["params", gradients, *states, *flags.split()]
    required = {"params", gradients, *states, *options.split()}
    name = kind.__name__.lower()

    def step(*args: Any, **kwargs: Any) -> None:
        given = dict(zip(positional, args, strict=False))
        unknown = kwargs.keys() - {*positional, *options.split()} | kwargs.keys() & given.keys()
        missing = required - given.keys() - kwargs.keys()
        if len(args) > len(positional) or unknown or missing:
            wrong = ", ".join(sorted(unknown or missing)) or f"{len(args)} lists and flags"
            raise TypeError(f"{name}: missing, unknown or repeated arguments: {wrong}.")
        given |= kwargs
        if given.get("grad_scale") is not None or given.get("found_inf") is not None:
            raise RuntimeError(f"{name}: expected gradients without a scale. Unscale them first.")
        _step(kind, given, given[gradients], states, {**dict.fromkeys(flags.split()), **always})

    step.__name__ = step.__qualname__ = name
    lists = ", ".join(positional[: 2 + len(states)])
    lists, by_name = ", ".join(positional[: 2 + len(states)]), options.replace(" ", ", ")
    step.__doc__ = (
        f"One step of :class:`facula.optim.{kind.__name__}`, in place. {lists} are lists of one "
        f"length, of tensors of the parameters' shapes or of one element; {by_name} are given by "
        "name."
    )
    step.__module__ = f"facula.optim.{name}"
    return step


def _step(
    kind: type[RuleOptimizer],
    given: dict[str, Any],
    grads: Sequence[Tensor],
    states: dict[str, str],
    group: dict[str, Any],
) -> None:
    numbers = [given[each] for each, name in states.items() if name in kind._numbers]
    if not all(isinstance(x, Tensor) for each in numbers for x in each):
        raise RuntimeError(
            f"{kind.__name__.lower()}: API has changed, state_steps and other numbers must be "
            "lists of tensors of one element."
        )
    group |= {key: value for key, value in given.items() if key not in states}
    group |= {key: (group[a], group[b]) for key, (a, b) in _PAIRS.items() if a in group}
    is_recorded = bool(group.get("differentiable"))
    with set_grad_enabled(is_recorded):
        # Other tensors over the same memory, whose gradients nobody else sees.
        params = [p.view_as(p) if is_recorded else p.detach() for p in given["params"]]
    optimizer = kind.__new__(kind)
    optimizer.param_groups = [{**group, "params": params}]
    optimizer.defaults = group
    optimizer.state = {  # type: ignore[assignment]
        p: {name: given[each][i] for each, name in states.items() if given[each]}
        for i, p in enumerate(params)
    }
    for p, grad in zip(params, grads, strict=True):
        p.grad = grad
    with set_grad_enabled(is_recorded):
        kind._rule(optimizer)
    for each, name in states.items():
        for i, p in enumerate(params):
            if given[each] and given[each][i] is None:
                given[each][i] = optimizer.state[p].get(name)

"""Modules called with other parameters than their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from facula._core import Tensor
from facula._warnings import warn_user
from facula.nn.modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated place of :func:`facula.func.functional_call`."""
    warn_user(
        "functional_call: nn.utils.stateless is its old place. Call facula.func.functional_call, "
        "which takes the same arguments.",
        FutureWarning,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(
    module: Module,
    values: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, values, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


@contextlib.contextmanager
def _reparametrize_module(
    module: Module, values: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """The module with other parameters and buffers, for as long as the context lasts.

    What forward assigns to a buffer that was given is found in ``values`` afterwards.
    """
    # Values are put into the tables themselves: an assignment would refuse tensors that are no
    # parameters, and call the hooks of registration.
    every = _all_names(module)
    if strict:
        _check_names(module, values, every)
    given = _with_tied(values, every) if tie_weights else dict(values)
    places = [(name, *_place(module, name, value)) for name, value in given.items()]
    # All are looked up, and may raise, before the first is changed.
    before = [table.get(key) for _, table, key in places]
    for name, table, key in places:
        table[key] = given[name]
    try:
        yield
    finally:
        for (name, table, key), value in zip(places, before, strict=True):
            if name in values:
                values[name] = table[key]
            table[key] = value


def _all_names(module: Module) -> dict[str, Tensor]:
    parameters = module.named_parameters(remove_duplicate=False)
    return {**dict(parameters), **dict(module.named_buffers(remove_duplicate=False))}


def _check_names(module: Module, values: dict[str, Tensor], every: dict[str, Tensor]) -> None:
    problems = []
    for kind, names in (
        ("Unexpected", [name for name in values if name not in every]),
        ("Missing", [name for name in every if name not in values]),
    ):
        if names:
            problems.append(f"{kind} key(s): {', '.join(map(repr, names))}.")
    if problems:
        raise RuntimeError(
            f"functional_call: the given names do not fit {module._get_name()} (strict=True):\n\t"
            + "\n\t".join(problems)
        )


def _with_tied(values: dict[str, Tensor], every: dict[str, Tensor]) -> dict[str, Tensor]:
    """The values, and the same ones for all other names of the tensors that they replace."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in every.items():
        names_of.setdefault(id(tensor), []).append(name)
    tied = dict(values)
    for names in names_of.values():
        given = [name for name in names if name in values]
        if len({id(values[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call: {names} name one tied tensor, but were given different values. "
                "Give one of them only, or pass tie_weights=False."
            )
        if given:
            tied.update((name, values[given[0]]) for name in names)
    return tied


class _Attributes:
    """The plain and the parametrized attributes of a module, as a table."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def __getitem__(self, name: str) -> Any:
        return getattr(self.module, name)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self.module, name, value)

    get = __getitem__


def _place(module: Module, name: str, value: Any) -> tuple[Any, str]:
    """The table of a submodule that has the attribute ``name``, and its key there."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"functional_call: expected a tensor for {name!r}, got {type(value).__name__}."
        )
    path, _, key = name.rpartition(".")
    if not key:
        raise KeyError("functional_call: expected a name for each tensor, got an empty string.")
    owner = module.get_submodule(path)
    for table in (owner._parameters, owner._buffers):
        if key in table:
            return table, key
    current = getattr(owner, key, None)
    if current is not None and not isinstance(current, Tensor):
        raise TypeError(
            f"functional_call: expected {key!r} to name a tensor of the module, but it is "
            f"{type(current).__name__}."
        )
    # A value for a name that the module does not have goes into a table that nobody reads.
    return ({} if current is None else _Attributes(owner)), key

"""Arguments of layers: one number, or one for each dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present", "factory_kwargs"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _changed(module: Any, **defaults: Any) -> list[str]:
    """``name=value`` for each attribute that is not at its default, as ``extra_repr`` shows it."""
    values = {name: getattr(module, name) for name in defaults}
    return [f"{name}={value}" for name, value in values.items() if value != defaults[name]]


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """The elements from the last to the first, each ``n`` times: the order that padding has."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """The sizes; ``None`` stands for that in ``defaults`` at the same place from the end."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(
            f"output_size: {len(out_size)} sizes need an input of at least {len(out_size) + 1} "
            f"dimensions, got {len(defaults)}."
        )
    last = defaults[-len(out_size) :]
    return [d if v is None else v for v, d in zip(out_size, last, strict=True)]


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments for making tensors among ``kwargs``: device, dtype and memory_format.

    They may be there by themselves or in a dictionary ``kwargs["factory_kwargs"]``.

    Args:
        kwargs: the keywords that a constructor was given; None for none.

    Example:
        >>> facula.nn.factory_kwargs({"device": "cpu"})
        {'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    names = ("device", "dtype", "memory_format")
    unknown = kwargs.keys() - {*names, "factory_kwargs"}
    if unknown:
        raise TypeError(f"factory_kwargs: expected {names} only, got {sorted(unknown)}.")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in names:
        if name in kwargs:
            if name in found:
                raise TypeError(
                    f"factory_kwargs: {name} is given twice, by itself and in factory_kwargs."
                )
            found[name] = kwargs[name]
    return found


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take ``prefix`` away, in place, from the keys of a state_dict that begin with it.

    Example:
        >>> from facula.nn.modules.utils import consume_prefix_in_state_dict_if_present
        >>> state = {"module.weight": 1}
        >>> consume_prefix_in_state_dict_if_present(state, "module.")
        >>> state
        {'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        # The module that the prefix named is the root now, whose key is empty.
        shorter = key.replace(prefix, "") if key.startswith(prefix) else key
        shorter = "" if key == prefix.rstrip(".") else shorter
        if key and shorter != key:
            metadata[shorter] = metadata.pop(key)

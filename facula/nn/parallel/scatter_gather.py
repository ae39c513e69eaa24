"""Arguments cut into pieces for several devices, and results joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula._core import Tensor
from facula.nn.parallel._functions import Gather, Scatter
from facula.nn.parallel.comm import Device, as_device

__all__ = ["gather", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: Any) -> bool:
    """Whether the object is a named tuple, whose constructor takes its parts one by one.

    Args:
        obj: anything.
    """
    return isinstance(obj, tuple) and hasattr(obj, "_fields") and hasattr(obj, "_asdict")


_is_namedtuple = is_namedtuple


def scatter(inputs: Any, target_gpus: Sequence[Device], dim: int = 0) -> Any:
    """Every tensor among the inputs in pieces, one for each device; other objects for all of them.

    Args:
        inputs: tensors, also in tuples, lists and dicts.
        target_gpus: the devices.
        dim: the dimension of the tensors that is cut.

    Returns:
        for each device its inputs; fewer where a tensor has fewer pieces.

    Example:
        >>> facula.nn.parallel.scatter((facula.arange(4), "text"), ["cpu", "cpu"])
        [(tensor([0, 1]), 'text'), (tensor([2, 3]), 'text')]
    """
    devices = [as_device(device) for device in target_gpus]

    def cut(obj: Any) -> list[Any]:
        if isinstance(obj, Tensor):
            return list(Scatter.apply(devices, None, dim, obj))
        if is_namedtuple(obj):
            return [type(obj)(*parts) for parts in zip(*map(cut, obj), strict=False)]
        if isinstance(obj, (tuple, list)) and obj:
            parts = zip(*map(cut, obj), strict=False)
            return list(parts) if isinstance(obj, tuple) else [list(part) for part in parts]
        if isinstance(obj, dict) and obj:
            return [type(obj)(part) for part in zip(*map(cut, obj.items()), strict=False)]
        return [obj for _ in devices]

    return cut(inputs)


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[Device],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """:func:`scatter` of all arguments of a call; for each device there are both kinds.

    Args:
        inputs: the arguments without a name.
        kwargs: the arguments by name.
        target_gpus: the devices.
        dim: the dimension of the tensors that is cut.
    """
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    positional += [() for _ in range(len(named) - len(positional))]
    named += [{} for _ in range(len(positional) - len(named))]
    return tuple(positional), tuple(named)


def gather(outputs: Any, target_device: Device, dim: int = 0) -> Any:
    """The results of all devices joined on one.

    Args:
        outputs: for each device a tensor, or tensors in tuples, lists and dicts of the same form.
        target_device: where the result is to be.
        dim: the dimension of the tensors that they are joined along.

    Example:
        >>> facula.nn.parallel.gather([facula.ones(1), facula.zeros(2)], "cpu")
        tensor([1., 0., 0.])
    """
    device = as_device(target_device)

    def join(parts: Sequence[Any]) -> Any:
        first = parts[0]
        if isinstance(first, Tensor):
            return Gather.apply(device, dim, *parts)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(part) != len(first) for part in parts):
                raise ValueError("gather: all dicts must have the same number of keys.")
            return type(first)((key, join([part[key] for part in parts])) for key in first)
        items = [join(each) for each in zip(*parts, strict=True)]
        return type(first)(*items) if is_namedtuple(first) else type(first)(items)

    return join(outputs)

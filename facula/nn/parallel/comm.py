"""Copies between devices: one tensor to many, many to one.

Devices may repeat, and the CPU is one of them: two times ``"cpu"`` are two places that do not share
memory, on which programs for several GPUs can be tried without any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from facula import _core
from facula._core import Tensor
from facula._utils import (
    _flatten_dense_tensors,
    _reorder_tensors_as,
    _take_tensors,
    _unflatten_dense_tensors,
)
from facula._warnings import warn_user

__all__ = [
    "broadcast",
    "broadcast_coalesced",
    "gather",
    "reduce_add",
    "reduce_add_coalesced",
    "scatter",
]

Device: TypeAlias = "int | str | _core.device"


def as_device(device: Device) -> _core.device:
    """The device that is meant: a number is a GPU, -1 the CPU."""
    if isinstance(device, int):
        return _core.device("cpu") if device < 0 else _core.device("cuda", device)
    return _core.device(device)


def is_at(tensor: Tensor, device: _core.device) -> bool:
    """Whether a tensor is on a device; a device without a number is any of its kind."""
    own = tensor.device
    return own.type == device.type and (device.index is None or own.index == device.index)


def broadcast(
    tensor: Tensor,
    devices: Sequence[Device] | None = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """Copies of a tensor on several devices; on its own device the first of them is the tensor.

    Args:
        tensor: what is copied.
        devices: where to; not with ``out``.
        out: tensors to copy into.

    Example:
        >>> x = facula.ones(2)
        >>> copies = facula.nn.parallel.comm.broadcast(x, ["cpu", "cpu"])
        >>> [c.tolist() for c in copies], copies[0] is x
        ([[1.0, 1.0], [1.0, 1.0]], True)
    """
    if (devices is None) == (out is None):
        raise RuntimeError("comm.broadcast: exactly one of devices and out must be given.")
    if out is not None:
        return tuple(target.copy_(tensor) for target in out)
    assert devices is not None
    copies: list[Tensor] = []
    for device in map(as_device, devices):
        is_taken = any(copy is tensor for copy in copies)
        if is_at(tensor, device):
            copies.append(tensor.clone() if is_taken else tensor)
        else:
            copies.append(tensor.to(device, non_blocking=True))
    return tuple(copies)


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Sequence[Device], buffer_size: int = 10485760
) -> list[list[Tensor]]:
    """Copies of several tensors on several devices, small ones together in one transfer.

    Args:
        tensors: what is copied.
        devices: where to.
        buffer_size: the size of a transfer of small tensors, in bytes.

    Returns:
        for each device the list of its tensors.

    Example:
        >>> x, y = facula.ones(2), facula.zeros(1)
        >>> len(facula.nn.parallel.comm.broadcast_coalesced([x, y], ["cpu", "cpu", "cpu"]))
        3
    """
    lists: list[list[Tensor]] = [[] for _ in devices]
    if not tensors:
        return lists
    places = [as_device(device) for device in devices]
    # On their own device the first copies are the tensors themselves.
    own = next((i for i, place in enumerate(places) if is_at(tensors[0], place)), None)
    for i, place in enumerate(places):
        if i == own:
            lists[i] = list(tensors)
            continue
        copies: list[Tensor] = []
        for group in _take_tensors(tensors, buffer_size):
            flat = _flatten_dense_tensors(group)
            copies += _unflatten_dense_tensors(flat.to(place, non_blocking=True), group)
        lists[i] = list(_reorder_tensors_as(copies, tensors))
    return lists


def reduce_add(inputs: Sequence[Tensor], destination: Device | None = None) -> Tensor:
    """The sum of tensors of several devices.

    Args:
        inputs: tensors of one shape.
        destination: the device of the sum, by default the current GPU, or the first tensor's
            device without one.

    Example:
        >>> facula.nn.parallel.comm.reduce_add([facula.ones(2), facula.ones(2)])
        tensor([2., 2.])
    """
    if not inputs:
        raise RuntimeError("comm.reduce_add: expected at least one tensor.")
    target = _destination(inputs, destination)
    shape = inputs[0].shape
    for i, tensor in enumerate(inputs):
        if tensor.shape != shape:
            raise ValueError(
                f"comm.reduce_add: tensor {i} has the shape {tuple(tensor.shape)}, expected "
                f"{tuple(shape)}."
            )
    if len(inputs) == 1:
        return inputs[0].to(target)
    total = inputs[0].to(target) + inputs[1].to(target, non_blocking=True)
    for tensor in inputs[2:]:
        total.add_(tensor.to(target, non_blocking=True))
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]],
    destination: Device | None = None,
    buffer_size: int = 10485760,
) -> tuple[Tensor, ...]:
    """The sums of several tensors, of which each device has one, small ones in one transfer.

    Args:
        inputs: for each device the list of its tensors.
        destination: the device of the sums, as of :func:`reduce_add`.
        buffer_size: the size of a transfer of small tensors, in bytes.

    Example:
        >>> parts = [[facula.ones(2), facula.ones(1)], [facula.ones(2), facula.ones(1)]]
        >>> facula.nn.parallel.comm.reduce_add_coalesced(parts)
        (tensor([2., 2.]), tensor([2.]))
    """
    sums: list[Tensor] = []
    for groups in zip(*(_take_tensors(tensors, buffer_size) for tensors in inputs), strict=True):
        flat = reduce_add([_flatten_dense_tensors(group) for group in groups], destination)
        sums += _unflatten_dense_tensors(flat, groups[0])
    return _reorder_tensors_as(sums, inputs[0])


def scatter(
    tensor: Tensor,
    devices: Sequence[Device] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Sequence[Any] | None = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """A tensor in pieces, one for each device.

    Args:
        tensor: what is cut.
        devices: where the pieces go; not with ``out``.
        chunk_sizes: the sizes of the pieces, by default as equal as ``chunk`` makes them.
        dim: the dimension that is cut.
        streams: accepted for compatibility: copies are made on the current stream.
        out: tensors to copy into, whose sizes are those of the pieces.

    Example:
        >>> facula.nn.parallel.comm.scatter(facula.arange(3), ["cpu", "cpu"])
        (tensor([0, 1]), tensor([2]))
    """
    if out is not None:
        if devices is not None or chunk_sizes is not None:
            raise RuntimeError("comm.scatter: with out neither devices nor chunk_sizes are given.")
        parts = tensor.split([target.size(dim) for target in out], dim)
        return tuple(target.copy_(part) for target, part in zip(out, parts, strict=True))
    if not devices:
        raise RuntimeError("comm.scatter: expected at least one device.")
    if chunk_sizes is None:
        parts = tensor.chunk(len(devices), dim)
    else:
        parts = tensor.split(list(chunk_sizes), dim)
    return tuple(
        part.to(as_device(device), non_blocking=True)
        for part, device in zip(parts, devices, strict=False)
    )


def gather(
    tensors: Sequence[Tensor],
    dim: int = 0,
    destination: Device | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Tensors of several devices, one after another in one tensor.

    Args:
        tensors: what is joined; all have one shape, but for the dimension ``dim``.
        dim: the dimension that they are joined along.
        destination: the device of the result, as of :func:`reduce_add`; not with ``out``.
        out: the tensor to write to.

    Example:
        >>> facula.nn.parallel.comm.gather([facula.ones(1), facula.zeros(2)])
        tensor([1., 0., 0.])
    """
    if not tensors:
        raise RuntimeError("comm.gather: expected at least one tensor.")
    if out is not None:
        if destination is not None:
            raise RuntimeError("comm.gather: destination and out exclude each other.")
        return _core.cat([t.to(out.device) for t in tensors], dim, out=out)
    if destination == -1:
        warn_user(
            "Using -1 to represent CPU tensor is deprecated. Please use a device object or string "
            'instead, e.g., "cpu".',
            FutureWarning,
        )
    target = _destination(tensors, destination)
    return _core.cat([t.to(target, non_blocking=True) for t in tensors], dim)


def _destination(tensors: Sequence[Tensor], destination: Device | None) -> _core.device:
    if destination is not None:
        return as_device(destination)
    if tensors[0].device.type == "cuda":
        return _core.device("cuda", _core._cuda_current_device())
    return tensors[0].device

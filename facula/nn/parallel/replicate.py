"""Copies of a module on several devices, whose gradients flow back to the original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from facula._core import Tensor
from facula.nn.modules.module import Module
from facula.nn.parallel import comm
from facula.nn.parallel._functions import Broadcast
from facula.nn.parallel.comm import Device, as_device

__all__ = ["replicate"]

_Module = TypeVar("_Module", bound=Module)


def replicate(network: _Module, devices: Sequence[Device], detach: bool = False) -> list[_Module]:
    """A replica of a module for each device.

    The parameters of a replica are results of an operation, no leaves: backward through all
    replicas sums into the gradients of the original's parameters. Buffers of the replica on the
    original's own device are the original's, so that running statistics of that one stay.

    Args:
        network: the module.
        devices: where the replicas are to be.
        detach: whether no gradients flow back.

    Example:
        >>> net = facula.nn.Linear(2, 1)
        >>> a, b = facula.nn.parallel.replicate(net, ["cpu", "cpu"])
        >>> (a(facula.ones(1, 2)) + b(facula.ones(1, 2))).sum().backward()
        >>> net.weight.grad
        tensor([[2., 2.]])
    """
    places = [as_device(device) for device in devices]
    params: list[Tensor] = list(network.parameters())
    buffers = list(network.buffers())
    param_copies = _copies(params, places, detach)
    # A buffer that is differentiated is spread out like a parameter.
    with_grad = [b for b in buffers if b.requires_grad and not detach]
    without = [b for b in buffers if not (b.requires_grad and not detach)]
    grad_copies, plain_copies = _copies(with_grad, places, detach), _copies(without, places, True)
    originals = [*params, *with_grad, *without]
    modules = list(network.modules())
    replicas = []
    for i in range(len(places)):
        copies = [*param_copies[i], *grad_copies[i], *plain_copies[i]]
        by_id = {id(o): copy for o, copy in zip(originals, copies, strict=True)}
        replicas.append(_replica(modules, by_id, detach))
    return replicas  # type: ignore[return-value]


def _copies(tensors: list[Tensor], places: list[Any], detach: bool) -> list[list[Tensor]]:
    if not tensors:
        return [[] for _ in places]
    if detach:
        return comm.broadcast_coalesced(tensors, places)
    flat = Broadcast.apply(places, *tensors)
    return [list(flat[i : i + len(tensors)]) for i in range(0, len(flat), len(tensors))]


def _replica(modules: list[Module], copies: dict[int, Tensor], detach: bool) -> Module:
    replicas = {id(module): module._replicate_for_data_parallel() for module in modules}
    for module in modules:
        replica = replicas[id(module)]
        for name, child in module._modules.items():
            replica._modules[name] = None if child is None else replicas[id(child)]
        for name, param in module._parameters.items():
            if param is None:
                replica._parameters[name] = None
            else:
                # An attribute, not a Parameter: it is the result of an operation.
                replica.__dict__[name] = copies[id(param)]
                replica._former_parameters[name] = copies[id(param)]
        for name, buffer in module._buffers.items():
            replica._buffers[name] = None if buffer is None else copies[id(buffer)]
    return replicas[id(modules[0])]

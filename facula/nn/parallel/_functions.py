"""The copies of :mod:`comm` with derivatives: what is spread out is summed on the way back."""

from __future__ import annotations

from typing import Any

from facula._core import Tensor
from facula._warnings import warn_user
from facula.autograd.function import Function
from facula.nn.parallel import comm


class Broadcast(Function):
    """``apply(devices, *tensors)``: all tensors on the first device, all on the second, ..."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
        ctx.n_inputs = len(inputs)
        ctx.source = inputs[0].device if inputs else None
        copies = comm.broadcast_coalesced(inputs, target_gpus)
        return tuple(tensor for tensors in copies for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Any, ...]:
        n = ctx.n_inputs
        sums = ReduceAddCoalesced.apply(ctx.source, n, *grad_outputs)
        return None, *sums


class ReduceAddCoalesced(Function):
    """``apply(device, n, *tensors)``: the sums of every n-th tensor."""

    @staticmethod
    def forward(ctx: Any, destination: Any, num_inputs: int, *grads: Tensor) -> tuple[Tensor, ...]:
        ctx.devices = [grads[i].device for i in range(0, len(grads), num_inputs)]
        lists = [grads[i : i + num_inputs] for i in range(0, len(grads), num_inputs)]
        return comm.reduce_add_coalesced(lists, destination)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Any, ...]:
        return None, None, *Broadcast.apply(ctx.devices, *grad_outputs)


class Gather(Function):
    """``apply(device, dim, *tensors)``: the tensors one after another."""

    @staticmethod
    def forward(ctx: Any, target_device: Any, dim: int, *inputs: Tensor) -> Tensor:
        ctx.dim = dim
        ctx.devices = [tensor.device for tensor in inputs]
        ctx.are_scalars = all(tensor.dim() == 0 for tensor in inputs) and dim == 0
        if ctx.are_scalars:
            inputs = tuple(tensor.view(1) for tensor in inputs)
            warn_user(
                "gather: all tensors along dimension 0 are scalars; they are joined to a vector.",
            )
        ctx.sizes = [tensor.size(dim) for tensor in inputs]
        return comm.gather(inputs, dim, target_device)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Any, ...]:
        parts = Scatter.apply(ctx.devices, ctx.sizes, ctx.dim, grad_outputs[0])
        if ctx.are_scalars:
            parts = tuple(part[0] for part in parts)
        return None, None, *parts


class Scatter(Function):
    """``apply(devices, sizes, dim, tensor)``: a piece of the tensor on each device."""

    @staticmethod
    def forward(
        ctx: Any, target_gpus: Any, chunk_sizes: Any, dim: int, input: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.dim = dim
        ctx.source = input.device
        return comm.scatter(input, target_gpus, chunk_sizes, dim)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Any, ...]:
        return None, None, None, Gather.apply(ctx.source, ctx.dim, *grad_outputs)

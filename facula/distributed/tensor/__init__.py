"""Tensors on the devices of several processes, of which there are none without an engine."""

from __future__ import annotations

from facula._core import Tensor
from facula._refusing import refusing, refusing_class
from facula.distributed.distributed_c10d import NO_ENGINE
from facula.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "ones",
    "rand",
    "randn",
    "zeros",
]

DTensor = refusing_class(
    "torch.distributed.tensor.DTensor",
    NO_ENGINE,
    Tensor,
    from_local=staticmethod(refusing("torch.distributed.tensor.DTensor.from_local", NO_ENGINE)),
)
distribute_tensor = refusing("torch.distributed.tensor.distribute_tensor", NO_ENGINE)
distribute_module = refusing("torch.distributed.tensor.distribute_module", NO_ENGINE)
empty = refusing("torch.distributed.tensor.empty", NO_ENGINE)
full = refusing("torch.distributed.tensor.full", NO_ENGINE)
ones = refusing("torch.distributed.tensor.ones", NO_ENGINE)
rand = refusing("torch.distributed.tensor.rand", NO_ENGINE)
randn = refusing("torch.distributed.tensor.randn", NO_ENGINE)
zeros = refusing("torch.distributed.tensor.zeros", NO_ENGINE)

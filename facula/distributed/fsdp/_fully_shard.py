"""The second form of modules whose parameters are spread over processes."""

from __future__ import annotations

from dataclasses import dataclass

from facula import _core
from facula._refusing import refusing, refusing_class
from facula.distributed.distributed_c10d import NO_ENGINE

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]

FSDPModule = refusing_class("torch.distributed.fsdp.FSDPModule", NO_ENGINE)
UnshardHandle = refusing_class("torch.distributed.fsdp.UnshardHandle", NO_ENGINE)
fully_shard = refusing("torch.distributed.fsdp.fully_shard", NO_ENGINE)
register_fsdp_forward_method = refusing(
    "torch.distributed.fsdp.register_fsdp_forward_method", NO_ENGINE
)


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of parameters, of sums of gradients and of results."""

    param_dtype: _core.dtype | None = None
    reduce_dtype: _core.dtype | None = None
    output_dtype: _core.dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Where parameters wait: on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Where parameters wait: on the CPU."""

    pin_memory: bool = True

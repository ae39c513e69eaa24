"""Modules whose parameters lie on several devices, which needs an engine that is not there yet."""

from __future__ import annotations

from facula._refusing import refusing, refusing_class
from facula.distributed.distributed_c10d import NO_ENGINE

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]

ParallelStyle = refusing_class("torch.distributed.tensor.parallel.ParallelStyle", NO_ENGINE)
ColwiseParallel = refusing_class(
    "torch.distributed.tensor.parallel.ColwiseParallel", NO_ENGINE, ParallelStyle
)
RowwiseParallel = refusing_class(
    "torch.distributed.tensor.parallel.RowwiseParallel", NO_ENGINE, ParallelStyle
)
SequenceParallel = refusing_class(
    "torch.distributed.tensor.parallel.SequenceParallel", NO_ENGINE, ParallelStyle
)
PrepareModuleInput = refusing_class(
    "torch.distributed.tensor.parallel.PrepareModuleInput", NO_ENGINE, ParallelStyle
)
PrepareModuleOutput = refusing_class(
    "torch.distributed.tensor.parallel.PrepareModuleOutput", NO_ENGINE, ParallelStyle
)
parallelize_module = refusing("torch.distributed.tensor.parallel.parallelize_module", NO_ENGINE)
loss_parallel = refusing("torch.distributed.tensor.parallel.loss_parallel", NO_ENGINE)

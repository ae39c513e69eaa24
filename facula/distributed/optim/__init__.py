"""Optimisers of several processes, which need an engine that is not there yet."""

from facula._refusing import refusing, refusing_class
from facula.distributed.distributed_c10d import NO_ENGINE

__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
    "as_functional_optim",
]

DistributedOptimizer = refusing_class("torch.distributed.optim.DistributedOptimizer", NO_ENGINE)
PostLocalSGDOptimizer = refusing_class("torch.distributed.optim.PostLocalSGDOptimizer", NO_ENGINE)
ZeroRedundancyOptimizer = refusing_class(
    "torch.distributed.optim.ZeroRedundancyOptimizer", NO_ENGINE
)
as_functional_optim = refusing("torch.distributed.optim.as_functional_optim", NO_ENGINE)

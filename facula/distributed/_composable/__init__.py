"""Functions that spread a module over processes, without an engine."""

from facula._refusing import refusing
from facula.distributed.distributed_c10d import NO_ENGINE

__all__ = ["fully_shard", "replicate"]

fully_shard = refusing("torch.distributed._composable.fully_shard", NO_ENGINE)
replicate = refusing("torch.distributed._composable.replicate", NO_ENGINE)

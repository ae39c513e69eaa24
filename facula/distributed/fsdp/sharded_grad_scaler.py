"""A scaler of losses for gradients that are spread over processes."""

from facula._refusing import refusing_class
from facula.distributed.distributed_c10d import NO_ENGINE

__all__ = ["ShardedGradScaler"]

ShardedGradScaler = refusing_class(
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler", NO_ENGINE
)

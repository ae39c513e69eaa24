"""The older name of ``distributed.tensor.placement_types``."""

from facula.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

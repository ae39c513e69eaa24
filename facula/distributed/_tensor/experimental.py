"""The older name of ``distributed.tensor.experimental``."""

from facula.distributed.tensor.experimental import implicit_replication

__all__ = ["implicit_replication"]

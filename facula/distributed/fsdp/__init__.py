"""Modules whose parameters are spread over processes: the names, without an engine."""

from facula._exports import public_names as _public_names
from facula.distributed.fsdp._fully_shard import *  # noqa: F403
from facula.distributed.fsdp.fully_sharded_data_parallel import *  # noqa: F403

__all__ = _public_names(globals())

"""The older place of the second form of modules that are spread over processes."""

from facula.distributed.fsdp._fully_shard import *  # noqa: F403
from facula.distributed.fsdp._fully_shard import __all__ as __all__

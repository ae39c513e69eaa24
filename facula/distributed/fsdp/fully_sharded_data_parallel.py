"""Modules whose parameters are spread over processes, which needs an engine that is not there."""

from __future__ import annotations

import enum

from facula._refusing import refusing_class
from facula.distributed.distributed_c10d import NO_ENGINE
from facula.distributed.fsdp.api import *  # noqa: F403
from facula.distributed.fsdp.api import __all__ as _api
from facula.nn.modules.module import Module

__all__ = [*_api, "FullyShardedDataParallel", "OptimStateKeyType"]


class OptimStateKeyType(enum.Enum):
    """How an optimiser's states are named."""

    PARAM_NAME = 1
    PARAM_ID = 2


FullyShardedDataParallel = refusing_class(
    "torch.distributed.fsdp.FullyShardedDataParallel", NO_ENGINE, Module
)

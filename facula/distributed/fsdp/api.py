"""Options of modules whose parameters are spread over processes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from facula import _core

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(enum.Enum):
    """What is spread: parameters, gradients and states, or a part of them."""

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(enum.Enum):
    """When the next parameters are fetched in backward."""

    BACKWARD_PRE = 1
    BACKWARD_POST = 2


class StateDictType(enum.Enum):
    """How a ``state_dict`` is spread."""

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


@dataclass
class MixedPrecision:
    """The dtypes of parameters, of sums of gradients and of buffers."""

    param_dtype: _core.dtype | None = None
    reduce_dtype: _core.dtype | None = None
    buffer_dtype: _core.dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = ()


@dataclass
class CPUOffload:
    """Whether parameters wait on the CPU."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """Options of a ``state_dict``."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Options of a ``state_dict`` that is whole."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Options of a ``state_dict`` of one process."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options of a ``state_dict`` in pieces."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Options of an optimiser's ``state_dict``."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimiser's ``state_dict`` that is whole."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimiser's ``state_dict`` of one process."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimiser's ``state_dict`` in pieces."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """Which ``state_dict`` is made, and its options."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig

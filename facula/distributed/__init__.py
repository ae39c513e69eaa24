"""Several processes that work together: the names, as long as there is no engine for it.

:func:`is_available` and :func:`is_initialized` are False, so that programs take the branch of one
process. Constants and classes are there to be named; a call that needs other processes says so.
"""

from __future__ import annotations

from facula._exports import public_names as _public_names
from facula._lazy import lazy_modules as _lazy_modules
from facula.distributed import device_mesh, distributed_c10d  # noqa: F401
from facula.distributed.device_mesh import *  # noqa: F403
from facula.distributed.distributed_c10d import *  # noqa: F403
from facula.distributed.distributed_c10d import (
    QueueEmptyError as QueueEmptyError,
)
from facula.distributed.distributed_c10d import (
    _all_gather_base as _all_gather_base,
)
from facula.distributed.distributed_c10d import (
    _rank_not_in_group as _rank_not_in_group,
)
from facula.distributed.distributed_c10d import (
    _reduce_scatter_base as _reduce_scatter_base,
)


def is_available() -> bool:
    """Whether there is an engine for several processes: not yet.

    Example:
        >>> facula.distributed.is_available()
        False
    """
    return False


__getattr__ = _lazy_modules(
    __name__,
    "_composable",
    "_tensor",
    "algorithms",
    "checkpoint",
    "elastic",
    "fsdp",
    "nn",
    "optim",
    "rpc",
    "tensor",
)
__all__ = _public_names(globals(), "device_mesh", "distributed_c10d")

"""What a loader does for a dataset that is a pipe: the same shuffle for all workers, and shares."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import facula

__all__ = ["is_pipe", "seed_pipes"]


def is_pipe(dataset: Any, *names: str) -> bool:
    """Whether a dataset is a pipe; names: of which of the two kinds, any by default."""
    # Who has a pipe has imported the module, and the others need not.
    module = sys.modules.get("facula.utils.data.datapipes.datapipe")
    names = names or ("IterDataPipe", "MapDataPipe")
    return module is not None and isinstance(dataset, tuple(getattr(module, n) for n in names))


def seed_pipes(dataset: Any, seed: int | None) -> None:
    """Seed the pipes that draw random numbers, for one epoch; None leaves them as they are."""
    if seed is None:
        return
    from facula.utils.data.graph_settings import apply_random_seed

    generator = facula.Generator()
    generator.manual_seed(seed)
    apply_random_seed(dataset, generator)


def _sharding_worker_init_fn(
    worker_init_fn: Callable[[int], Any] | None, world_size: int, rank_id: int, worker_id: int
) -> None:
    """Give a worker its share of the samples of a pipe, then call the user's function."""
    from facula.utils.data._utils.worker import get_worker_info
    from facula.utils.data.graph_settings import apply_sharding

    info = get_worker_info()
    assert info is not None, "a worker knows which it is before its init function is called"
    apply_sharding(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)

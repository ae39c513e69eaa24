"""Random numbers: seeds and states of the default generator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from facula import _core
from facula._core import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Restore the state of the random numbers at the end of a block.

    Args:
        devices: accepted for compatibility; the numbers of every GPU in use are restored.
        enabled: whether the block does anything; with False it is an ordinary one.

    Example:
        >>> _ = facula.manual_seed(0)
        >>> with facula.random.fork_rng():
        ...     _ = facula.rand(100)
        >>> facula.rand(1)
        tensor([0.4963])
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    gpus = [(generator, generator.get_state()) for generator in _core._gpu_generators()]
    try:
        yield
    finally:
        set_rng_state(state)
        for generator, gpu_state in gpus:
            generator.set_state(gpu_state)

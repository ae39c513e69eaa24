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
    "thread_safe_generator",
]


def _generators() -> list[_core.Generator]:
    """The default ones, that of the CPU first."""
    gpus = [_core._gpu_generator(index) for index in range(_core._cuda_device_count())]
    return [default_generator, *gpus]


def _get_states() -> list[_core.Tensor]:
    """The states of the random numbers of the CPU and all GPUs."""
    _, *gpus = _generators()
    return [get_rng_state(), *(generator.get_state() for generator in gpus)]


def _set_states(states: list[_core.Tensor]) -> None:
    """Go on from what ``_get_states`` returned, for the GPUs that were there."""
    _, *gpus = _generators()
    set_rng_state(states[0])
    for generator, state in zip(gpus, states[1:], strict=False):
        generator.set_state(state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Restore the state of the random numbers at the end of a block.

    Args:
        devices: accepted for compatibility; the numbers of every GPU are restored.
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
    states = _get_states()
    try:
        yield
    finally:
        _set_states(states)


def thread_safe_generator() -> _core.Generator | None:
    """The generator of a thread that loads data; None stands for the default one.

    Example:
        >>> facula.rand(2, generator=facula.random.thread_safe_generator()).shape
        torch.Size([2])
    """
    # The default generator that operations find is the thread's own in workers that are threads.
    return None

"""The random numbers of GPUs: a Philox generator for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from facula import _core
from facula._core import Generator, Tensor
from facula.cuda._devices import current_device, device_count

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def _generator(device: Any = "cuda") -> Generator:
    if not isinstance(device, int):
        index = _core.device(device).index
        device = current_device() if index is None else index
    return _core._gpu_generator(device)


def manual_seed(seed: int) -> None:
    """Seeds the random numbers of the current GPU; does nothing where there is no GPU.

    Args:
        seed: an int of 64 bits; equal seeds give equal numbers, on every GPU.

    Example:
        >>> facula.cuda.manual_seed(0)
    """
    if device_count() > 0:
        _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the random numbers of all GPUs; does nothing where there is no GPU.

    Args:
        seed: an int of 64 bits; equal seeds give equal numbers, on every GPU.

    Example:
        >>> facula.cuda.manual_seed_all(0)
    """
    _core._seed_all_gpus(int(seed))


def seed() -> None:
    """Seeds the random numbers of the current GPU from the system's source of randomness."""
    if device_count() > 0:
        _generator().seed()


def seed_all() -> None:
    """Seeds the random numbers of all GPUs with one seed of the system's source of randomness."""
    _core._seed_all_gpus(_core.Generator().seed())


def initial_seed() -> int:
    """The seed with which the numbers of the current GPU were started."""
    return _generator().initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a GPU's random numbers, a uint8 tensor of the CPU for :func:`set_rng_state`.

    Args:
        device: which GPU; the current one by default.
    """
    return _generator(device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states of the random numbers of all GPUs."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Continue the random numbers of a GPU from a state.

    Args:
        new_state: what :func:`get_rng_state` returned, of this or another GPU.
        device: which GPU; the current one by default.
    """
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Continue the random numbers of all GPUs from their states.

    Args:
        new_states: what :func:`get_rng_state_all` returned.
    """
    for index, state in enumerate(new_states):
        set_rng_state(state, index)

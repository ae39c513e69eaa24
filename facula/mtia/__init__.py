"""Meta's accelerators, of which there are none: questions are answered, and the rest says so."""

from __future__ import annotations

from facula._absent_device import AbsentDevice, no_memory, no_states

__all__ = [
    "current_device",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "set_device",
    "set_rng_state",
    "set_stream",
    "stream",
    "synchronize",
]

_absent = AbsentDevice("mtia", "Meta's accelerators")


def is_available() -> bool:
    """Whether there is such a device: no.

    Example:
        >>> facula.mtia.is_available()
        False
    """
    return False


def device_count() -> int:
    """How many there are: none."""
    return 0


def is_initialized() -> bool:
    """Whether they are in use: no."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether they compute in bfloat16: no.

    Args:
        including_emulation: whether to count what is computed in float32.
    """
    return False


def manual_seed(seed: int) -> None:
    """Seed the generator of a device that is not there.

    Args:
        seed: the seed.
    """


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices, of which there are none.

    Args:
        seed: the seed.
    """


def empty_cache() -> None:
    """Give back memory that is not in use: there is none."""


get_rng_state_all = no_states
max_memory_allocated = memory_allocated = no_memory
current_device = _absent.refusing("current_device")
current_stream = _absent.refusing("current_stream")
get_device_capability = _absent.refusing("get_device_capability")
get_device_properties = _absent.refusing("get_device_properties")
get_rng_state = _absent.refusing("get_rng_state")
init = _absent.refusing("init")
set_device = _absent.refusing("set_device")
set_rng_state = _absent.refusing("set_rng_state")
set_stream = _absent.refusing("set_stream")
stream = _absent.refusing("stream")
synchronize = _absent.refusing("synchronize")

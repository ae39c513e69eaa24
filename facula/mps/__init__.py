"""Apple's GPUs, of which there are none: questions are answered, and the rest says so."""

from __future__ import annotations

from facula._absent_device import AbsentDevice

__all__ = [
    "Event",
    "compile_shader",
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
]

_absent = AbsentDevice("mps", "Apple's GPUs")


def is_available() -> bool:
    """Whether there is such a device: no.

    Example:
        >>> facula.mps.is_available()
        False
    """
    return False


def device_count() -> int:
    """How many there are: none.

    Example:
        >>> facula.mps.device_count()
        0
    """
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of a device that is not there.

    Args:
        seed: the seed.
    """


Event = _absent.refusing("Event")
compile_shader = _absent.refusing("compile_shader")
current_allocated_memory = _absent.refusing("current_allocated_memory")
driver_allocated_memory = _absent.refusing("driver_allocated_memory")
empty_cache = _absent.refusing("empty_cache")
get_rng_state = _absent.refusing("get_rng_state")
recommended_max_memory = _absent.refusing("recommended_max_memory")
seed = _absent.refusing("seed")
set_per_process_memory_fraction = _absent.refusing("set_per_process_memory_fraction")
set_rng_state = _absent.refusing("set_rng_state")
synchronize = _absent.refusing("synchronize")

"""Intel's GPUs, of which there are none: questions are answered, and the rest says so."""

from __future__ import annotations

from typing import Any

from facula._absent_device import AbsentContext, AbsentDevice, no_memory, no_states

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]

_absent = AbsentDevice("xpu", "Intel's GPUs")


def is_available() -> bool:
    """Whether there is such a device: no.

    Example:
        >>> facula.xpu.is_available()
        False
    """
    return False


def device_count() -> int:
    """How many there are: none.

    Example:
        >>> facula.xpu.device_count()
        0
    """
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


def is_current_stream_capturing() -> bool:
    """Whether work is being captured in a graph: no."""
    return False


def get_arch_list() -> list[str]:
    """The kinds of chips that there are kernels for: none."""
    return []


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


def reset_peak_memory_stats(device: Any = None) -> None:
    """Forget the largest amount of memory, which is none.

    Args:
        device: the device.
    """


def memory_stats(device: Any = None) -> dict[str, Any]:
    """What is known of the memory: nothing.

    Args:
        device: the device.
    """
    return {}


class device(AbsentContext):
    """A block in which a device is the current one; with None it does nothing.

    Args:
        of: the device.
    """


class device_of(AbsentContext):
    """A block in which a tensor's device is the current one; it does nothing.

    Args:
        of: the tensor.
    """

    def __enter__(self) -> None:
        pass


class StreamContext(AbsentContext):
    """A block whose work goes to a stream; with None it does nothing.

    Args:
        of: the stream.
    """


def stream(stream: Any) -> StreamContext:
    """A block whose work goes to a stream.

    Args:
        stream: the stream, or None.
    """
    return StreamContext(stream)


get_rng_state_all = no_states
max_memory_allocated = max_memory_reserved = memory_allocated = memory_reserved = no_memory

Event = _absent.refusing("Event")
Stream = _absent.refusing("Stream")
current_device = _absent.refusing("current_device")
current_stream = _absent.refusing("current_stream")
get_device_capability = _absent.refusing("get_device_capability")
get_device_name = _absent.refusing("get_device_name")
get_device_properties = _absent.refusing("get_device_properties")
get_rng_state = _absent.refusing("get_rng_state")
init = _absent.refusing("init")
initial_seed = _absent.refusing("initial_seed")
mem_get_info = _absent.refusing("mem_get_info")
seed = _absent.refusing("seed")
seed_all = _absent.refusing("seed_all")
set_device = _absent.refusing("set_device")
set_rng_state = _absent.refusing("set_rng_state")
set_rng_state_all = _absent.refusing("set_rng_state_all")
set_stream = _absent.refusing("set_stream")
synchronize = _absent.refusing("synchronize")

"""The memory of a GPU: how much of it tensors hold, and how much is kept for reuse."""

from __future__ import annotations

from facula import _core
from facula.cuda._devices import DeviceLike, device_index, is_available

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
]


def _memory(device: DeviceLike) -> tuple[int, int, int]:
    # Logs of trainings ask for it on machines without a GPU too.
    return _core._cuda_memory(device_index(device)) if is_available() else (0, 0, 0)


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes of GPU memory that tensors of this process hold."""
    return _memory(device)[0]


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The most that :func:`memory_allocated` was since the start or the last reset."""
    return _memory(device)[1]


def memory_reserved(device: DeviceLike = None) -> int:
    """Bytes that this process has of the GPU, those kept for reuse included."""
    return _memory(device)[2]


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total bytes of the GPU, as the driver counts them."""
    return _core._cuda_mem_get_info(device_index(device))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Lets :func:`max_memory_allocated` start again from what is allocated now."""
    _core._cuda_reset_peak(device_index(device))


def empty_cache() -> None:
    """Gives memory that is kept for reuse back to the GPU; does nothing where there is no GPU."""
    _core._cuda_empty_cache()

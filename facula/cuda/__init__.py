"""NVIDIA GPUs: devices, streams, events and memory.

Nothing of CUDA is opened before the first use of a function here or of a tensor on ``"cuda"``.
"""

from __future__ import annotations

from typing import NamedTuple

from facula import _core
from facula.cuda._devices import DeviceLike, device_index
from facula.cuda.streams import Event, Stream, current_stream, default_stream, set_stream, stream

__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "set_stream",
    "stream",
    "synchronize",
    "unavailable_reason",
]


class _Properties(NamedTuple):
    """What :func:`get_device_properties` returns; memory is in bytes."""

    name: str
    total_memory: int
    major: int
    minor: int
    multi_processor_count: int


def is_available() -> bool:
    """Whether tensors can be moved to an NVIDIA GPU.

    Example:
        >>> isinstance(facula.cuda.is_available(), bool)
        True
    """
    return not _core._cuda_unavailable_reason()


def unavailable_reason() -> str:
    """Why :func:`is_available` is False; empty if it is True.

    Example:
        >>> bool(facula.cuda.unavailable_reason()) == (not facula.cuda.is_available())
        True
    """
    return _core._cuda_unavailable_reason()


def device_count() -> int:
    """The number of GPUs that the driver shows; ``CUDA_VISIBLE_DEVICES`` chooses among them.

    Example:
        >>> facula.cuda.device_count() >= 0
        True
    """
    return _core._cuda_device_count()


def current_device() -> int:
    """The number of the GPU that ``"cuda"`` means in this thread."""
    return _core._cuda_current_device()


def set_device(device: DeviceLike) -> None:
    """Makes ``"cuda"`` mean this GPU in this thread; a negative number changes nothing."""
    if not isinstance(device, int) or device >= 0:
        _core._cuda_set_device(device_index(device))


class device:
    """A block in which ``"cuda"`` means this GPU: ``with facula.cuda.device(1): ...``."""

    def __init__(self, device: DeviceLike) -> None:
        self.idx = device if isinstance(device, int) else device_index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current_device()
        set_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        set_device(self.prev_idx)


def synchronize(device: DeviceLike = None) -> None:
    """Waits until all work that was queued on the GPU is done."""
    _core._cuda_synchronize(device_index(device))


def get_device_properties(device: DeviceLike = None) -> _Properties:
    """The properties of a GPU.

    Returns:
        ``name``, ``total_memory`` in bytes, ``major`` and ``minor`` of the compute capability, and
        ``multi_processor_count``.
    """
    return _Properties(*_core._cuda_properties(device_index(device)))


def get_device_name(device: DeviceLike = None) -> str:
    """The name of a GPU, such as ``"NVIDIA H200"``."""
    return get_device_properties(device).name


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """The compute capability of a GPU, such as ``(9, 0)``."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


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


def manual_seed(seed: int) -> None:
    """Seeds the random numbers of the GPU; does nothing where there is no GPU.

    They come from the one generator of the library, which is seeded for the CPU as well.

    Example:
        >>> facula.cuda.manual_seed(0)
    """
    if is_available():
        _core.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the random numbers of all GPUs; does nothing where there is no GPU.

    Example:
        >>> facula.cuda.manual_seed_all(0)
    """
    manual_seed(seed)


def empty_cache() -> None:
    """Gives memory that is kept for reuse back to the GPU; does nothing where there is no GPU."""
    _core._cuda_empty_cache()

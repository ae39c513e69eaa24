"""The accelerator of this machine, whichever it is: an NVIDIA GPU, or none.

Where there is none, what asks or tells it something raises a RuntimeError; what counts accelerators
answers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from facula import _core, cuda
from facula.cuda._devices import DeviceLike

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def _check_available(name: str) -> None:
    if not cuda.is_available():
        raise RuntimeError(
            f"accelerator.{name}: Cannot access accelerator device when none is available: "
            f"{cuda.unavailable_reason()}. Ask facula.accelerator.is_available() first."
        )


def is_available() -> bool:
    """Whether there is an accelerator to move tensors to.

    Example:
        >>> facula.accelerator.is_available() == facula.cuda.is_available()
        True
    """
    return cuda.is_available()


def current_accelerator(check_available: bool = False) -> _core.device | None:
    """The kind of accelerator, without an index; None where there is none.

    Args:
        check_available: accepted for compatibility; what is returned is always available.

    Example:
        >>> accelerator = facula.accelerator.current_accelerator()
        >>> device = accelerator.type if accelerator is not None else "cpu"
    """
    return _core.device("cuda") if cuda.is_available() else None


def device_count() -> int:
    """How many accelerators there are.

    Example:
        >>> facula.accelerator.device_count() == facula.cuda.device_count()
        True
    """
    return cuda.device_count()


def current_device_index() -> int:
    """The index of the accelerator that ``"cuda"`` without a number means."""
    _check_available("current_device_index")
    return cuda.current_device()


def set_device_index(device: DeviceLike) -> None:
    """Chooses the accelerator that ``"cuda"`` without a number means.

    Args:
        device: a device or its index.
    """
    _check_available("set_device_index")
    cuda.set_device(device)


def synchronize(device: DeviceLike = None) -> None:
    """Waits until an accelerator has done all its work.

    Args:
        device: a device or its index; by default the current one.
    """
    _check_available("synchronize")
    cuda.synchronize(device)


current_device_idx = current_device_index
set_device_idx = set_device_index


@contextlib.contextmanager
def device_index(device: int | None, /) -> Iterator[None]:
    """A block in which another accelerator is the current one.

    Args:
        device: its index; with None the block does nothing.
    """
    if device is None:
        yield
        return
    _check_available("device_index")
    with cuda.device(device):
        yield


def current_stream(device: DeviceLike = None, /) -> Any:
    """The stream that work goes to.

    Args:
        device: a device or its index; by default the current one.
    """
    _check_available("current_stream")
    return cuda.current_stream(device)


def set_stream(stream: Any) -> None:
    """Choose the stream that work goes to.

    Args:
        stream: the stream.
    """
    _check_available("set_stream")
    cuda.set_stream(stream)


def get_device_capability(device: DeviceLike = None, /) -> dict[str, Any]:
    """What an accelerator can do: the dtypes that it computes in.

    Args:
        device: a device or its index; by default the current one.
    """
    _check_available("get_device_capability")
    cuda.get_device_capability(device)  # which raises for a device that is not there
    dtypes = {value for value in vars(_core).values() if isinstance(value, _core.dtype)}
    return {"supported_dtypes": dtypes}


def empty_cache() -> None:
    """Give memory that is not in use back to the system.

    Example:
        >>> if facula.accelerator.is_available():
        ...     facula.accelerator.empty_cache()
    """
    _check_available("empty_cache")
    cuda.empty_cache()


def get_memory_info(device_index: DeviceLike = None, /) -> tuple[int, int]:
    """How many bytes of an accelerator's memory are free, and how many there are.

    Args:
        device_index: a device or its index; by default the current one.
    """
    _check_available("get_memory_info")
    return cuda.mem_get_info(device_index)


def memory_allocated(device_index: DeviceLike = None, /) -> int:
    """How many bytes tensors take.

    Args:
        device_index: a device or its index; by default the current one.
    """
    _check_available("memory_allocated")
    return cuda.memory_allocated(device_index)


def max_memory_allocated(device_index: DeviceLike = None, /) -> int:
    """How many bytes tensors took at most.

    Args:
        device_index: a device or its index; by default the current one.
    """
    _check_available("max_memory_allocated")
    return cuda.max_memory_allocated(device_index)


def memory_reserved(device_index: DeviceLike = None, /) -> int:
    """How many bytes the allocator holds.

    Args:
        device_index: a device or its index; by default the current one.
    """
    _check_available("memory_reserved")
    return cuda.memory_reserved(device_index)


def max_memory_reserved(device_index: DeviceLike = None, /) -> int:
    """How many bytes the allocator held at most.

    Args:
        device_index: a device or its index; by default the current one.
    """
    _check_available("max_memory_reserved")
    return cuda.max_memory_reserved(device_index)


def memory_stats(device_index: DeviceLike = None, /) -> dict[str, Any]:
    """What is known of an accelerator's memory.

    Args:
        device_index: a device or its index; by default the current one.

    Example:
        >>> if facula.accelerator.is_available():
        ...     n_bytes = facula.accelerator.memory_stats()["allocated_bytes.all.current"]
    """
    _check_available("memory_stats")
    return cuda.memory_stats(device_index)


def reset_peak_memory_stats(device_index: DeviceLike = None, /) -> None:
    """Begin anew with the largest amounts of memory.

    Args:
        device_index: a device or its index; by default the current one.
    """
    _check_available("reset_peak_memory_stats")
    cuda.reset_peak_memory_stats(device_index)


def reset_accumulated_memory_stats(device_index: DeviceLike = None, /) -> None:
    """Begin anew with the sums of memory that was asked for.

    Args:
        device_index: a device or its index; by default the current one.
    """
    _check_available("reset_accumulated_memory_stats")
    cuda.reset_accumulated_memory_stats(device_index)

"""The accelerator of this machine, whichever it is: an NVIDIA GPU, or none."""

from __future__ import annotations

from facula import _core, cuda
from facula.cuda._devices import DeviceLike

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "is_available",
    "set_device_index",
    "synchronize",
]


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
    return cuda.current_device()


def set_device_index(device: DeviceLike) -> None:
    """Chooses the accelerator that ``"cuda"`` without a number means.

    Args:
        device: a device or its index.
    """
    cuda.set_device(device)


def synchronize(device: DeviceLike = None) -> None:
    """Waits until an accelerator has done all its work.

    Args:
        device: a device or its index; by default the current one.
    """
    cuda.synchronize(device)

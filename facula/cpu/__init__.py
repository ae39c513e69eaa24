"""What programs ask of a device, answered for the CPU: there is one, and it works in order."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

if _TYPE_CHECKING:
    from facula.cpu import amp

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def __getattr__(name: str) -> Any:
    if name != "amp":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module("facula.cpu.amp")


class Stream:
    """Work in order, which that of the CPU always is.

    Args:
        priority: accepted for the sake of other devices.
    """

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Nothing: what was asked for before is done."""

    def record_event(self) -> Event:
        """An event after all that was asked for."""
        return Event()

    def wait_event(self, event: Any) -> None:
        """Nothing: the event has happened."""


class Event:
    """A point in the work of the CPU, which has happened when it is asked for."""

    def __init__(self, enable_timing: bool = False) -> None:
        pass

    def query(self) -> bool:
        """Whether it has happened: always."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing: the work before it is done."""

    def synchronize(self) -> None:
        """Nothing: it has happened."""

    def wait(self, stream: Any = None) -> None:
        """Nothing: it has happened."""


class StreamContext:
    """A block that uses a stream; it changes nothing on the CPU.

    Args:
        stream: the stream.
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        pass


_STREAM = Stream()


def is_available() -> bool:
    """Whether there is a CPU.

    Example:
        >>> facula.cpu.is_available()
        True
    """
    return True


def is_initialized() -> bool:
    """Whether the CPU is ready for use: always."""
    return True


def synchronize(device: Any = None) -> None:
    """Wait for all work of the CPU, which is done when a function returns."""


def current_device() -> str:
    """The name of the device.

    Example:
        >>> facula.cpu.current_device()
        'cpu'
    """
    return "cpu"


def device_count() -> int:
    """The number of CPUs as PyTorch counts them: 1."""
    return 1


def set_device(device: Any) -> None:
    """Nothing: there is one CPU."""


def current_stream(device: Any = None) -> Stream:
    """The stream of all work."""
    return _STREAM


def stream(stream: Stream) -> StreamContext:
    """A block that uses a stream; it changes nothing on the CPU."""
    return StreamContext(stream)

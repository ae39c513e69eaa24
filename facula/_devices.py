"""Streams, events and modules of a device, whichever it is."""

from __future__ import annotations

import abc
import functools
from types import ModuleType
from typing import Any

from facula import _core, cuda


class AcceleratorError(RuntimeError):
    """An error while a device computes; programs name it in ``except``.

    Example:
        >>> issubclass(facula.AcceleratorError, RuntimeError)
        True
    """


def _device(device: Any) -> _core.device:
    """The device that is asked for, by default the accelerator, or the CPU where there is none."""
    if device is None:
        return _core.device("cuda" if cuda.is_available() else "cpu")
    return _core.device(device)


def _no_events(device: _core.device) -> RuntimeError:
    return RuntimeError(
        f"{device.type} backend doesn't support events. Its work is done when a call returns."
    )


class Stream(abc.ABC):  # noqa: B024
    """Work of a device in order; ``isinstance(s, Stream)`` holds for the streams of all devices.

    Work of the CPU is done when a call returns: its streams have nothing to wait for.

    Args:
        device: the device, by default the current accelerator, or the CPU where there is none.
        priority: a lower number is served first.

    Example:
        >>> facula.Stream("cpu").query()
        True
        >>> if facula.cuda.is_available():
        ...     stream = facula.Stream("cuda")
    """

    def __new__(cls, device: Any = None, *, priority: int = 0) -> Any:
        place = _device(device)
        if place.type != "cuda":
            return _HostStream(place)
        make: Any = cuda.Stream
        return make(device, priority=priority) if priority else make(device)


class _HostStream:
    """The stream of a device whose work is done when a call returns."""

    device_index = -1
    stream_id = 0

    def __init__(self, device: _core.device) -> None:
        self.device = _core.device(device.type)

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def synchronize(self) -> None:
        """Wait until all work is done."""

    def wait_event(self, event: Any) -> None:
        """Let later work wait for an event.

        Args:
            event: the event.
        """

    def wait_stream(self, stream: Any) -> None:
        """Let later work wait for another stream.

        Args:
            stream: the stream.
        """
        raise _no_events(self.device)

    def record_event(self, event: Any = None) -> Any:
        """Put an event behind the work so far.

        Args:
            event: the event, by default a new one.
        """
        raise _no_events(self.device)

    def __enter__(self) -> _HostStream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _HostStream) and other.device == self.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index=-1, stream_id=0"


class Event(abc.ABC):  # noqa: B024
    """A point in the work of a device; ``isinstance(e, Event)`` holds for the events of all.

    Args:
        device: the device, by default the current accelerator, or the CPU where there is none.
        enable_timing: whether the time between two events can be asked for.
        blocking: accepted for compatibility.
        interprocess: must be False for a GPU.

    Example:
        >>> facula.Event("cpu").query()
        True
        >>> if facula.cuda.is_available():
        ...     event = facula.Event("cuda", enable_timing=True)
    """

    def __new__(
        cls,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> Any:
        place = _device(device)
        if place.type != "cuda":
            return _HostEvent(place, enable_timing)
        if interprocess:
            raise RuntimeError("Event: other processes cannot wait for an event.")
        cuda.current_device()  # which raises where there is no GPU
        return cuda.Event(enable_timing)


class _HostEvent:
    """The event of a device whose work is done when a call returns."""

    event_id = 0

    def __init__(self, device: _core.device, has_time: bool) -> None:
        self.device, self._has_time = _core.device(device.type), has_time

    def query(self) -> bool:
        """Whether the work before it is done."""
        return True

    def synchronize(self) -> None:
        """Wait until the work before it is done."""

    def wait(self, stream: Any = None) -> None:
        """Let later work of a stream wait for it.

        Args:
            stream: the stream, by default the current one.
        """

    def record(self, stream: Any = None) -> None:
        """Put it behind the work so far.

        Args:
            stream: the stream, by default the current one.
        """
        raise _no_events(self.device)

    def elapsed_time(self, end_event: Any) -> float:
        """The time from this event to another, in milliseconds.

        Args:
            end_event: the other.
        """
        if not (self._has_time and end_event._has_time):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise _no_events(self.device)

    def __repr__(self) -> str:
        return (
            f"torch.Event device_type={self.device.type}, device_index=-1, "
            f"event_flag={int(self._has_time)}, event_id=0"
        )


for _stream in (_HostStream, cuda.Stream):
    Stream.register(_stream)
for _event in (_HostEvent, cuda.Event):
    Event.register(_event)


@functools.cache
def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device, ``facula.cuda`` or ``facula.cpu`` for example.

    Args:
        device: the device, by default the accelerator, or the CPU where there is none.

    Example:
        >>> facula.get_device_module("cpu").device_count()
        1
    """
    if device is not None and not isinstance(device, (str, _core.device)):
        raise RuntimeError(f"get_device_module: expected a device, got {device!r}.")
    import facula

    try:
        kind = _device(device).type
    except RuntimeError as error:
        raise RuntimeError(f"get_device_module: {error}") from None
    module = getattr(facula, kind, None)
    if not isinstance(module, ModuleType):
        raise RuntimeError(f"get_device_module: there is no module of the device {device!r}.")
    return module

"""Streams, which order the work of a GPU, and events, which mark a point in that order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula.cuda._devices import DeviceLike, device_index

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "get_stream_from_external",
    "set_stream",
    "stream",
]


class Event:
    """A point in the work of a stream.

    Args:
        enable_timing: whether the event keeps the time, for :meth:`elapsed_time`.
        blocking: whether :meth:`synchronize` sleeps while it waits, and leaves the CPU to others.
        interprocess: accepted as in PyTorch; other processes cannot be given the event.
        external: accepted as in PyTorch; in a graph, events order only its own work.

    Example:
        >>> event = facula.cuda.Event(enable_timing=True)
        >>> event.query()  # nothing was marked yet
        True
    """

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        if interprocess and enable_timing:
            raise RuntimeError("Event: events of several processes cannot keep the time.")
        self._enable_timing, self._blocking = enable_timing, blocking
        self._device_index: int | None = None
        self.cuda_event = 0  # made when it is recorded first, on the device of that stream

    @property
    def device(self) -> _core.device | None:
        """The GPU on which it was recorded; None before."""
        return None if self._device_index is None else _core.device("cuda", self._device_index)

    def record(self, stream: Stream | None = None) -> None:
        """Marks what has been queued on the stream (the current one) so far."""
        stream = stream or current_stream()
        if not self.cuda_event:
            self._device_index = stream.device_index
            self.cuda_event = _core._cuda_event_create(
                stream.device_index, self._enable_timing, self._blocking
            )
        elif self._device_index != stream.device_index:
            raise RuntimeError(
                f"record: the event is of {self.device}, and the stream of {stream.device}."
            )
        _core._cuda_event_record(stream.device_index, self.cuda_event, stream.cuda_stream)

    def query(self) -> bool:
        """Whether the marked work is done."""
        return not self.cuda_event or _core._cuda_event_query(self.cuda_event)

    def synchronize(self) -> None:
        """Waits for the marked work."""
        if self.cuda_event:
            _core._cuda_event_synchronize(self.cuda_event)

    def wait(self, stream: Stream | None = None) -> None:
        """Lets the stream (the current one) wait for the marked work."""
        (stream or current_stream()).wait_event(self)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to the other, both done."""
        for event in (self, end_event):
            if not event._enable_timing:
                raise ValueError("elapsed_time: both events must be made with enable_timing=True.")
            if not event.cuda_event:
                raise ValueError("elapsed_time: both events must be recorded first.")
        return _core._cuda_event_elapsed(self.cuda_event, end_event.cuda_event)

    def __repr__(self) -> str:
        if not self.cuda_event:
            return "<facula.cuda.Event uninitialized>"
        return f"<facula.cuda.Event {self.cuda_event:#x}>"

    # The function is kept: when the interpreter ends, names of modules go before objects may.
    def __del__(self, destroy: Callable[[int], None] = _core._cuda_event_destroy) -> None:
        if getattr(self, "cuda_event", 0):
            destroy(self.cuda_event)


class Stream:
    """A queue of work: what is in one runs in order, what is in two may run at once.

    Tensors belong to the stream that was current when they were made. Before another one uses
    them, it has to wait (:meth:`wait_stream`), and they have to live until it has done so, which
    :meth:`facula.Tensor.record_stream` sees to.

    Args:
        device: the GPU; None for the current one.
        priority: streams with lower numbers go first where the GPU has to choose.
        kwargs: accepted as in PyTorch: ``stream_id``, ``device_index``, ``device_type`` and
            ``stream_ptr`` of a stream that there is already.

    Example:
        >>> if facula.cuda.is_available():
        ...     side = facula.cuda.Stream()
        ...     with facula.cuda.stream(side):
        ...         x = facula.ones(2, device="cuda")
    """

    device_index: int
    cuda_stream: int

    def __init__(self, device: DeviceLike = None, priority: int = 0, **kwargs: Any) -> None:
        self.device_index = device_index(kwargs.get("device_index", device))
        given = kwargs.get("stream_ptr", kwargs.get("stream_id"))
        if given is None:
            self.cuda_stream = _core._cuda_stream_create(self.device_index, int(priority))
        else:
            self.cuda_stream = int(given)
        self.priority = int(priority)

    @classmethod
    def _of(cls, index: int, cuda_stream: int) -> Stream:
        stream = cls.__new__(cls)
        stream.device_index, stream.cuda_stream, stream.priority = index, cuda_stream, 0
        return stream

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The number of streams that go last, and of those that go first."""
        return _core._cuda_stream_priorities(device_index(None))

    @property
    def device(self) -> _core.device:
        """The GPU whose work it orders."""
        return _core.device("cuda", self.device_index)

    @property
    def stream_id(self) -> int:
        """A number for the stream; 0 is that of the default stream."""
        return self.cuda_stream

    @property
    def device_type(self) -> int:
        """The number of the kind of device, 1 for GPUs."""
        return 1

    def synchronize(self) -> None:
        """Waits until the stream's work is done."""
        _core._cuda_stream_synchronize(self.device_index, self.cuda_stream)

    def query(self) -> bool:
        """Whether the stream's work is done."""
        return _core._cuda_stream_query(self.device_index, self.cuda_stream)

    def record_event(self, event: Event | None = None) -> Event:
        """Marks what has been queued so far by an event, a new one by default."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Lets work that is queued from now on wait for the event."""
        if event.cuda_event:
            _core._cuda_stream_wait_event(self.device_index, self.cuda_stream, event.cuda_event)

    def wait_stream(self, stream: Stream) -> None:
        """Lets work that is queued from now on wait for what the other stream has to do."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        # A stream may be entered inside itself.
        self._entered = [*getattr(self, "_entered", ()), StreamContext(self)]
        self._entered[-1].__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._entered.pop().__exit__(*exception)

    @property
    def _as_parameter_(self) -> int:
        return self.cuda_stream

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device_index, self.cuda_stream) == (
            other.device_index,
            other.cuda_stream,
        )

    def __hash__(self) -> int:
        return hash((self.device_index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made and keeps: it must outlive what is queued on it.

    Args:
        stream_ptr: the address of the stream, a ``cudaStream_t``.
        device: the GPU that it is of; None for the current one.
        kwargs: accepted as in PyTorch.

    Example:
        >>> if facula.cuda.is_available():
        ...     ours = facula.cuda.Stream()
        ...     assert facula.cuda.ExternalStream(ours.cuda_stream) == ours
    """

    def __init__(self, stream_ptr: int, device: DeviceLike = None, **kwargs: Any) -> None:
        super().__init__(device, stream_ptr=stream_ptr)


def get_stream_from_external(data_ptr: int, device: DeviceLike = None) -> Stream:
    """The stream at an address, which another library made.

    Args:
        data_ptr: the address of the stream, a ``cudaStream_t``.
        device: the GPU that it is of; None for the current one.
    """
    return Stream._of(device_index(device), int(data_ptr))


def current_stream(device: DeviceLike = None) -> Stream:
    """The stream on which this thread queues work for the GPU."""
    index = device_index(device)
    return Stream._of(index, _core._cuda_current_stream(index))


def default_stream(device: DeviceLike = None) -> Stream:
    """The stream that is current unless another was chosen."""
    return Stream._of(device_index(device), 0)


def set_stream(stream: Stream) -> None:
    """Makes the stream the current one of this thread, and its GPU the current GPU."""
    _core._cuda_set_device(stream.device_index)
    _core._cuda_set_stream(stream.device_index, stream.cuda_stream)


class StreamContext:
    """A block in which this stream is the current one; nothing changes for None.

    Args:
        stream: the stream.

    Example:
        >>> with facula.cuda.StreamContext(None):
        ...     pass
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._device = _core._cuda_current_device()
            self._before = current_stream(self.stream.device_index)
            set_stream(self.stream)

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            set_stream(self._before)
            _core._cuda_set_device(self._device)


def stream(stream: Stream | None) -> StreamContext:
    """A block in which this stream is the current one; nothing changes for None.

    Args:
        stream: the stream.

    Example:
        >>> with facula.cuda.stream(None):
        ...     pass
    """
    return StreamContext(stream)

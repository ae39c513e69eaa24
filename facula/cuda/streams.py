"""Streams, which order the work of a GPU, and events, which mark a point in that order."""

from __future__ import annotations

from facula import _core
from facula.cuda._devices import DeviceLike, device_index

__all__ = ["Event", "Stream", "current_stream", "default_stream", "set_stream", "stream"]


class Event:
    """A point in the work of a stream.

    Args:
        enable_timing: whether the event keeps the time, for :meth:`elapsed_time`.
    """

    def __init__(self, enable_timing: bool = False) -> None:
        self._enable_timing = enable_timing
        self.cuda_event = 0  # made when it is recorded first, on the device of that stream

    def record(self, stream: Stream | None = None) -> None:
        """Marks what has been queued on the stream (the current one) so far."""
        stream = stream or current_stream()
        if not self.cuda_event:
            self.cuda_event = _core._cuda_event_create(stream.device_index, self._enable_timing)
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

    def __del__(self) -> None:
        if self.cuda_event:
            _core._cuda_event_destroy(self.cuda_event)


class Stream:
    """A queue of work: what is in one runs in order, what is in two may run at once.

    Tensors belong to the stream that was current when they were made. Before another one uses
    them, it has to wait (:meth:`wait_stream`), and they have to live until it has done so.
    """

    def __init__(self, device: DeviceLike = None) -> None:
        self.device_index = device_index(device)
        self.cuda_stream = _core._cuda_stream_create(self.device_index)

    @classmethod
    def _of(cls, index: int, cuda_stream: int) -> Stream:
        stream = cls.__new__(cls)
        stream.device_index, stream.cuda_stream = index, cuda_stream
        return stream

    @property
    def device(self) -> _core.device:
        """The GPU whose work it orders."""
        return _core.device("cuda", self.device_index)

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device_index, self.cuda_stream) == (
            other.device_index,
            other.cuda_stream,
        )

    def __hash__(self) -> int:
        return hash((self.device_index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<facula.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


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


class stream:
    """A block in which this stream is the current one; nothing changes for None."""

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

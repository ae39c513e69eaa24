"""A profiler of operations and derivatives, without schedules; ``facula.profiler`` has those.

Operations are recorded where they all enter, derivatives where the engine calls them: in the
thread that started the profiler. While no profiler runs, nothing is recorded and nothing asked.
"""

from __future__ import annotations

import bisect
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from facula import _core, cuda
from facula._refusing import refusing
from facula._warnings import warn_user
from facula.autograd.profiler_util import (
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    events_from,
    write_chrome_trace,
)

__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "profile",
    "record_function",
]

_Profile = TypeVar("_Profile", bound="profile")


class record_function(ContextDecorator):
    """A block, or a decorated function, that a profiler shows under a name.

    Args:
        name: the name.
        args: a text that is kept with it.

    Example:
        >>> with facula.profiler.profile() as profiler:
        ...     with facula.profiler.record_function("my block"):
        ...         x = facula.ones(2) + 1
        >>> [event.name for event in profiler.events()]
        ['my block', 'aten::ones', 'aten::add']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._handles: list[int] = []  # one object may be entered inside of itself

    def __enter__(self) -> record_function:
        self._handles.append(_core._begin_region(self.name, self.args))
        return self

    def __exit__(self, *exc_info: object) -> None:
        _core._end_region(self._handles.pop())


class profile:
    """Records what runs inside of the block.

    Args:
        enabled: whether the block records anything.
        use_cuda: accepted for compatibility: kernels of GPUs are not recorded.
        use_device: the kind of GPU whose memory is recorded too, ``"cuda"``, or None.
        record_shapes: whether the shapes of the arguments are recorded.
        with_flops: whether floating-point operations of products and convolutions are counted.
        profile_memory: whether allocated and freed bytes are recorded.
        with_stack: whether the lines of the program are recorded.
        with_modules: whether calls of modules are recorded as blocks.
        use_kineto: accepted for compatibility.
        use_cpu: must be True: it is operations that are recorded.
        experimental_config: accepted for compatibility.
        acc_events: accepted for compatibility.

    Example:
        >>> with facula.autograd.profiler.profile() as profiler:
        ...     x = facula.ones(2).exp()
        >>> [event.name for event in profiler.function_events]
        ['aten::ones', 'aten::exp']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
    ) -> None:
        if not use_cpu:
            raise AssertionError("profile: use_cpu must be True: operations are what is recorded.")
        if (use_cuda or use_device == "cuda") and not cuda.is_available():
            warn_user("profile: CUDA is not available, disabling CUDA profiling")
            use_cuda, use_device = False, None
        self.enabled = enabled
        self.use_device = "cuda" if use_cuda else use_device
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self._recorder: _core._Recorder | None = None
        self._is_recording = False
        self._hooks: list[Any] = []
        self._events: EventList | None = None
        self._start_ns = self._start_time_ns = 0

    def __enter__(self: _Profile) -> _Profile:
        if self.enabled:
            self._start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self._stop()

    def _start(self) -> None:
        if self._recorder is not None:
            raise RuntimeError("profile: a profiler object is used once. Make another one.")
        self._thread = threading.get_native_id()
        self._recorder = _core._Recorder(
            self.record_shapes or self.with_flops,
            self.profile_memory,
            self.profile_memory and self.use_device == "cuda",
            self.with_stack,
        )
        self._recorder.start()
        self._is_recording = True
        self._hooks = _record_steps()
        if self.with_modules:
            self._hooks += _record_modules()
        self._start_ns, self._start_time_ns = time.perf_counter_ns(), time.time_ns()

    def _stop(self) -> None:
        if self._recorder is not None and self._is_recording:
            self._recorder.stop()
            self._is_recording = False
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    @property
    def function_events(self) -> EventList:
        """The events, in the order of their beginnings."""
        if self._events is None:
            records = [] if self._recorder is None else self._recorder.events()
            self._events = EventList(
                events_from(records, self._start_ns, self._thread, self.with_flops)
                if records
                else (),
                profile_memory=self.profile_memory,
                with_flops=self.with_flops,
                has_cuda=self.use_device == "cuda",
            )
        return self._events

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in microseconds."""
        return self.function_events.self_cpu_time_total

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of one name as one line; see :meth:`EventList.key_averages`."""
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """All events as one line."""
        return self.function_events.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **kwargs: Any) -> str:
        """The events as a text of columns; see :meth:`EventList.table`."""
        return self.function_events.table(sort_by, row_limit, **kwargs)

    def export_chrome_trace(
        self, path: str | os.PathLike[str], metadata: dict[str, Any] | None = None
    ) -> None:
        """Write the events for ``chrome://tracing``.

        Args:
            path: the file; compressed if its name ends in ``.gz``.
            metadata: further entries of the file.
        """
        described = {
            "record_shapes": int(self.record_shapes),
            "profile_memory": int(self.profile_memory),
            "with_flops": int(self.with_flops),
            "with_stack": int(self.with_stack),
            "baseTimeNanoseconds": self._start_time_ns,
        }
        write_chrome_trace(self.function_events, path, {**described, **(metadata or {})})

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Write the stacks with their times; see :meth:`EventList.export_stacks`."""
        if not self.with_stack:
            raise AssertionError("export_stacks: stacks are recorded with with_stack=True only.")
        self.function_events.export_stacks(path, metric)

    def __str__(self) -> str:
        return str(self.function_events)

    def __repr__(self) -> str:
        return repr(self.function_events)


def _record_steps() -> list[Any]:
    """Lets steps of optimisers be blocks, by the name that PyTorch gives them."""
    from facula.optim import optimizer

    open_blocks: list[int] = []

    def begin(stepped: Any, args: Any, kwargs: Any) -> None:
        name = type(stepped).__name__
        open_blocks.append(_core._begin_region(f"Optimizer.step#{name}.step", None))

    def end(stepped: Any, args: Any, kwargs: Any) -> None:
        if open_blocks:
            _core._end_region(open_blocks.pop())

    return [
        optimizer.register_optimizer_step_pre_hook(begin),
        optimizer.register_optimizer_step_post_hook(end),
    ]


def _record_modules() -> list[Any]:
    """Lets calls of modules be blocks; each class counts its objects."""
    from facula.nn.modules import module

    names: dict[int, str] = {}
    counts: dict[str, int] = {}
    open_blocks: list[int] = []

    def begin(called: Any, args: Any) -> None:
        if id(called) not in names:
            kind = type(called).__name__
            names[id(called)] = f"nn.Module: {kind}_{counts.get(kind, 0)}"
            counts[kind] = counts.get(kind, 0) + 1
        open_blocks.append(_core._begin_region(names[id(called)], None))

    def end(called: Any, args: Any, output: Any) -> None:
        if open_blocks:
            _core._end_region(open_blocks.pop())

    return [
        module.register_module_forward_pre_hook(begin),
        module.register_module_forward_hook(end, always_call=True),
    ]


class _Emit:
    """Marks for a tool of a vendor that is not reached from here."""

    _tool = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self) -> Any:
        if self.enabled:
            raise RuntimeError(
                f"{type(self).__name__}: marks for {self._tool} are not supported. Use "
                "facula.profiler.profile and export_chrome_trace."
            )
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass


class emit_nvtx(_Emit):
    """Marks for NVIDIA's tools; not supported, and refused when entered with ``enabled=True``.

    Args:
        enabled: whether the block makes marks.
        record_shapes: whether marks have the shapes of arguments.
    """

    _tool = "NVTX"


class emit_itt(_Emit):
    """Marks for Intel's tools; not supported, and refused when entered with ``enabled=True``.

    Args:
        enabled: whether the block makes marks.
        record_shapes: whether marks have the shapes of arguments.
    """

    _tool = "ITT"


class EnforceUnique:
    """Raises where something is seen a second time.

    Example:
        >>> from facula.autograd.profiler import EnforceUnique
        >>> unique = EnforceUnique()
        >>> unique.see("a"), unique.see("b")
        (None, None)
    """

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Note a key.

        Args:
            key: what must not have been seen.
        """
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """The step of the program, of which several may tell: the largest of their counts.

    Example:
        >>> from facula.autograd.profiler import KinetoStepTracker
        >>> KinetoStepTracker.init_step_count("docs")
        >>> before = KinetoStepTracker.current_step()
        >>> KinetoStepTracker.increment_step("docs") >= before
        True
        >>> KinetoStepTracker.erase_step_count("docs")
        True
    """

    _current_step = 0
    _step_dict: ClassVar[dict[str, int]] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let somebody tell of steps from now on.

        Args:
            requester: its name.
        """
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget somebody; False if it was not known.

        Args:
            requester: its name.
        """
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Note a step that somebody tells of, and return the program's step.

        Args:
            requester: its name.
        """
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The program's step."""
        return cls._current_step


class MemRecordsAcc:
    """Finds records of memory by their time: they are sorted once, and searched by halves.

    Args:
        mem_records: sequences whose first element has ``start_ns()``, its time in nanoseconds.

    Example:
        >>> from types import SimpleNamespace
        >>> from facula.autograd.profiler import MemRecordsAcc
        >>> records = [(SimpleNamespace(start_ns=lambda t=t: t), f"at {t}") for t in (30, 10, 20)]
        >>> [text for _, text in MemRecordsAcc(records).in_interval(10, 25)]
        ['at 10', 'at 20']
    """

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._sorted = sorted(mem_records, key=_start_of)

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """The records from one time to another, both included, in their order.

        Args:
            start_ns: the first time, in nanoseconds.
            end_ns: the last time.
        """
        first = bisect.bisect_left(self._sorted, start_ns, key=_start_of)
        last = bisect.bisect_right(self._sorted, end_ns, key=_start_of)
        return iter(self._sorted[first:last])


def _start_of(record: Any) -> int:
    start: int = record[0].start_ns()
    return start


load_nvprof = refusing(
    "torch.autograd.profiler.load_nvprof",
    "traces of nvprof, a program of old, are not read. Use torch.profiler.",
)

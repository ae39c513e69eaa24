"""The profiler with schedules."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, TypeVar

from facula import cuda
from facula._refusing import refusing_class
from facula._warnings import warn_user
from facula.autograd import profiler as _autograd_profiler
from facula.autograd.profiler_util import EventList

__all__ = [
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_Profile = TypeVar("_Profile", bound="profile")

ExecutionTraceObserver = refusing_class(
    "torch.profiler.ExecutionTraceObserver",
    "execution traces, files from which other programs repeat a run, are not written. "
    "torch.profiler.profile has the operations, and export_chrome_trace writes them.",
)


class ProfilerAction(Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """What can be recorded: operations of the CPU, and memory of CUDA devices."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def kineto_available() -> bool:
    """Whether :class:`profile` can write traces, for which PyTorch needs a library of that name.

    Example:
        >>> facula.profiler.kineto_available()
        True
    """
    return True


def supported_activities() -> set[ProfilerActivity]:
    """What :class:`profile` can record here.

    Example:
        >>> facula.profiler.ProfilerActivity.CPU in facula.profiler.supported_activities()
        True
    """
    gpus = {ProfilerActivity.CUDA} if cuda.is_available() else set()
    return {ProfilerActivity.CPU, *gpus}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A schedule of cycles: wait, warm up, record, and again.

    Args:
        wait: how many steps of a cycle pass first.
        warmup: how many steps then run with the profiler on, whose records are dropped.
        active: how many steps are recorded.
        repeat: how many cycles there are; 0 for no end.
        skip_first: how many steps come before the first cycle.
        skip_first_wait: whether, not 0, the first cycle begins with its warm-up.

    Example:
        >>> plan = facula.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
        >>> [plan(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            "schedule: Invalid profiler schedule arguments: expected active of at least 1 and the "
            f"others of at least 0, got wait={wait}, warmup={warmup}, active={active}, "
            f"repeat={repeat}, skip_first={skip_first}."
        )
    if warmup == 0:
        warn_user(
            "schedule: Profiler won't be using warmup, this can skew profiler results",
        )
    length = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"schedule: Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        cycle, place = divmod(step, length)
        if place < wait or 0 < repeat <= cycle:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        is_last = place == length - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD

    return action_of


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For ``on_trace_ready``: writes each trace to a file in a folder.

    Args:
        dir_name: the folder; it is made if needed.
        worker_name: the beginning of the names, by default that of the machine and the process.
        use_gzip: whether the files are compressed.

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     handler = facula.profiler.tensorboard_trace_handler(folder, "worker")
        ...     with facula.profiler.profile(on_trace_ready=handler):
        ...         x = facula.ones(2)
        ...     [name.split(".")[0] for name in os.listdir(folder)]
        ['worker']
    """

    def handle(profiler: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        suffix = ".gz" if use_gzip else ""
        # In nanoseconds: the traces of two cycles must not have one name.
        name = f"{worker}.{time.time_ns()}.pt.trace.json{suffix}"
        profiler.export_chrome_trace(os.path.join(dir_name, name))

    return handle


class profile:
    """Records what runs inside of the block, or in the steps that a schedule chooses.

    Only the thread that starts it is recorded.

    Args:
        activities: what is recorded, of :func:`supported_activities`; by default all of it.
        schedule: a function from the number of a step to a :class:`ProfilerAction`, such as
            :func:`schedule` makes; by default everything is recorded as one step.
        on_trace_ready: a function that is called with the profiler when a recording has ended.
        record_shapes: whether the shapes of the arguments are recorded.
        profile_memory: whether allocated and freed bytes are recorded.
        with_stack: whether the lines of the program are recorded.
        with_flops: whether floating-point operations of products and convolutions are counted.
        with_modules: whether calls of modules are recorded as blocks.
        experimental_config: accepted for compatibility.
        execution_trace_observer: accepted for compatibility.
        acc_events: whether :meth:`events` has those of all cycles, not only of the last.
        use_cuda: the older way to ask for ``ProfilerActivity.CUDA``.
        custom_trace_id_callback: a function that names the trace, for :meth:`get_trace_id`.

    Example:
        >>> model = facula.nn.Linear(2, 2)
        >>> with facula.profiler.profile(record_shapes=True) as profiler:
        ...     loss = model(facula.ones(3, 2)).sum()
        ...     loss.backward()
        >>> for event in profiler.events()[:3]:
        ...     print(event.name, event.input_shapes)
        aten::ones [[], []]
        aten::linear [[3, 2], [2, 2], [2]]
        aten::sum [[3, 2]]
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.activities = _activities(activities)
        if use_cuda is not None:
            warn_user(
                "profile: `use_cuda` is deprecated, use `activities` argument instead",
                FutureWarning,
            )
            (self.activities.add if use_cuda else self.activities.discard)(ProfilerActivity.CUDA)
        if not self.activities:
            raise AssertionError("profile: No valid profiler activities found")
        if ProfilerActivity.CUDA in self.activities and not cuda.is_available():
            warn_user("profile: CUDA is not available, disabling CUDA profiling")
            self.activities.discard(ProfilerActivity.CUDA)
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.on_trace_ready = on_trace_ready
        self.schedule = schedule or (lambda _: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: _autograd_profiler.profile | None = None  # the last recording
        self._running: _autograd_profiler.profile | None = None  # the same, or a warm-up
        self._step: _autograd_profiler.record_function | None = None
        self._earlier = EventList()  # of the cycles before, with acc_events
        self._metadata: dict[str, Any] = {}

    def __enter__(self: _Profile) -> _Profile:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin, as at the beginning of the block."""
        self._change(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End, as at the end of the block."""
        self._end_step()
        self._change(self.current_action, ProfilerAction.NONE, is_end=True)

    def step(self) -> None:
        """Say that the next step begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step = _autograd_profiler.record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _change(self, before: ProfilerAction, after: ProfilerAction, is_end: bool = False) -> None:
        """From what was done in a step to what the next one does.

        A recording ends after RECORD_AND_SAVE, and with RECORD where the profiler stops or the
        schedule goes on without saving. What the warm-up recorded is dropped where RECORD begins.
        """
        recording = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        was_recording, is_recording = before in recording, after in recording
        is_saved = before is ProfilerAction.RECORD_AND_SAVE or (was_recording and is_end)
        if was_recording and is_recording and not is_saved:
            return
        if self._running is not None:
            self._running._stop()
            self._running = None
        if is_saved and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        if after is not ProfilerAction.NONE:
            self._running = self._started(is_recording)

    def _started(self, is_recording: bool) -> _autograd_profiler.profile:
        running = _autograd_profiler.profile(
            use_device="cuda" if ProfilerActivity.CUDA in self.activities else None,
            record_shapes=self.record_shapes,
            with_flops=self.with_flops,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_modules=self.with_modules,
        )
        if is_recording:
            if self.acc_events and self.profiler is not None:
                self._earlier = self.events()
            self.profiler = running
        running._start()
        return running

    def _recorded(self) -> _autograd_profiler.profile:
        if self.profiler is None:
            raise AssertionError(
                "profile: Profiler must be initialized first: nothing was recorded yet."
            )
        return self.profiler

    def events(self) -> EventList:
        """The events of the last recording, in the order of their beginnings."""
        events = self._recorded().function_events
        return events._like([*self._earlier, *events]) if self._earlier else events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of one name as one line; see :meth:`EventList.key_averages`."""
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the last recording for ``chrome://tracing``.

        Args:
            path: the file; compressed if its name ends in ``.gz``.
        """
        self._recorded().export_chrome_trace(path, self._metadata)

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Write the stacks with their times, for programs that draw flame graphs.

        Args:
            path: the file.
            metric: the time that a stack is weighed by.
        """
        self._recorded().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the trace file.

        Args:
            key: its name there.
            value: the text.
        """
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value to the trace file.

        Args:
            key: its name there.
            value: the value, written as JSON; what is no JSON stays a text.
        """
        try:
            self._metadata[key] = json.loads(value)
        except ValueError:
            self._metadata[key] = value

    preset_metadata_json = add_metadata_json

    def get_trace_id(self) -> str | None:
        """The name of the trace; None if ``custom_trace_id_callback`` gives none."""
        return None if self.custom_trace_id_callback is None else self.custom_trace_id_callback()


def _activities(given: Iterable[Any] | None) -> set[ProfilerActivity]:
    if given is None:
        return supported_activities()
    # Each may be a dict from activities to what is recorded of them.
    return {a for item in given for a in (item if isinstance(item, dict) else [item])}

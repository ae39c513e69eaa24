"""What a profiler has recorded: events, their averages, tables of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from facula.utils.flop_counter import flops_of_event

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


# Steps are one line of a table.
_STEP = re.compile(r"ProfilerStep#\d+")


class DeviceType(Enum):
    """Where an event took place."""

    CPU = 0
    CUDA = 1


class Interval:
    """A span of time.

    Args:
        start: its beginning, in microseconds since the profiler started.
        end: its end.
    """

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Its length in microseconds."""
        return self.end - self.start


class _Times:
    """Times per call, and times as texts: ``x_str`` for every ``x``."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    # Kernels of GPUs are not recorded: whatever ran there is 0 here, as PyTorch has it on a CPU.
    device_time_total = self_device_time_total = device_time = 0.0
    cuda_time_total = self_cuda_time_total = cuda_time = 0.0

    @property
    def cpu_time(self) -> float:
        """The time of one call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __getattr__(self, name: str) -> str:
        if not name.endswith("_str") or "time" not in name:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return _time_text(getattr(self, name.removesuffix("_str")))


@dataclass(eq=False, repr=False)
class FunctionEvent(_Times):
    """One operation, derivative or ``record_function`` block that was recorded."""

    id: int
    name: str
    thread: int
    start_us: float
    end_us: float
    input_shapes: list[Any] = field(default_factory=list)
    concrete_inputs: list[Any] = field(default_factory=list)
    kwinputs: dict[str, Any] = field(default_factory=dict)
    stack: list[str] = field(default_factory=list)
    sequence_nr: int = -1
    trace_name: str = ""  # the name in trace files, where steps have numbers
    scope: int = 0  # 0 an operation, 1 a derivative, 7 a block of the user's
    cpu_memory_usage: int = 0
    device_memory_usage: int = 0
    flops: int | None = None
    is_user_annotation: bool = False
    cpu_parent: FunctionEvent | None = None
    cpu_children: list[FunctionEvent] = field(default_factory=list)
    kernels: list[Any] = field(default_factory=list)  # of GPUs, which are not recorded
    overload_name: str = ""
    use_device: str | None = None
    device_type: DeviceType = DeviceType.CPU
    count: int = 1
    is_async: bool = False
    is_remote: bool = False
    node_id: int = -1

    @property
    def key(self) -> str:
        """What events are grouped by: the name."""
        return self.name

    @property
    def time_range(self) -> Interval:
        """From when to when it took place."""
        return Interval(self.start_us, self.end_us)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it took, in microseconds."""
        return self.end_us - self.start_us

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The same without the events inside of it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes that it allocated on the CPU itself, less those it freed."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        """The same on GPUs."""
        return self.device_memory_usage - sum(c.device_memory_usage for c in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.start_us:.3f} end_us={self.end_us:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class FunctionEventAvg(_Times):
    """What the events of one name have in common: numbers, sums, averages."""

    def __init__(self) -> None:
        self.key = ""
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_device_memory_usage = 0
        self.input_shapes: Any = ""
        self.stack: list[str] = []
        self.flops = 0
        self.scope = 0
        self.is_user_annotation = False
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.overload_name = ""
        self.use_device: str | None = None
        self.device_type = DeviceType.CPU
        self.is_async = self.is_remote = False
        self.node_id = -1

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Count an event, or another sum of events, in."""
        if not self.count:
            for name in ("key", "input_shapes", "stack", "scope", "is_user_annotation"):
                setattr(self, name, getattr(other, name))
            self.cpu_parent, self.cpu_children = other.cpu_parent, other.cpu_children
        for name in (
            "count",
            "cpu_time_total",
            "self_cpu_time_total",
            "cpu_memory_usage",
            "self_cpu_memory_usage",
            "device_memory_usage",
            "self_device_memory_usage",
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """Events, or their averages.

    Args:
        events: the events.
        profile_memory: whether tables have columns of memory.
        with_flops: whether tables have a column of floating-point operations.
        has_cuda: whether tables have columns of memory on GPUs.
    """

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        profile_memory: bool = False,
        with_flops: bool = False,
        has_cuda: bool = False,
    ) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._has_cuda = has_cuda

    def _like(self, events: Iterable[Any]) -> EventList:
        return EventList(
            events,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            has_cuda=self._has_cuda,
        )

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in microseconds."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of one name as one line.

        Args:
            group_by_input_shapes: whether calls with other shapes are another line.
            group_by_stack_n: how many of the innermost lines of the program must agree, too.
            group_by_overload_name: accepted for compatibility: operations have one form.
        """
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                str(event.input_shapes) if group_by_input_shapes else "",
                tuple(event.stack[:group_by_stack_n]),
            )
            groups.setdefault(key, FunctionEventAvg()).add(event)
        for average in groups.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
        return self._like(groups.values())

    def total_average(self) -> FunctionEventAvg:
        """All events as one line."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a text of columns.

        Args:
            sort_by: the attribute whose largest values come first, such as
                ``"self_cpu_time_total"``; None for the order of the list.
            row_limit: how many rows are shown; -1 for all.
            max_src_column_width: how wide the column of program lines may be.
            max_name_column_width: how wide the column of names may be.
            max_shapes_column_width: how wide the column of shapes may be.
            header: a text above the table.
            top_level_events_only: whether events inside of others are left out.
            time_unit: the unit of all times, ``"s"``, ``"ms"`` or ``"us"``; None for one that
                suits each.

        Example:
            >>> with facula.profiler.profile() as profiler:
            ...     x = facula.ones(2) + 1
            >>> "aten::add" in profiler.key_averages().table(sort_by="self_cpu_time_total")
            True
        """
        rows = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda", "device")
            rows.sort(key=lambda event: float(getattr(event, name)), reverse=True)
        if top_level_events_only:
            rows = [event for event in rows if event.cpu_parent is None]
        columns = self._columns(
            time_unit, max_name_column_width, max_shapes_column_width, max_src_column_width
        )
        shown = rows if row_limit < 0 else rows[:row_limit]
        lines = [[text(event) for _, _, text in columns] for event in shown]
        widths = [
            min(most, max([12, len(title), *(len(line[i]) for line in lines)]))
            for i, (title, most, _) in enumerate(columns)
        ]
        rule = "  ".join("-" * width for width in widths) + "  "

        def row(cells: Iterable[str]) -> str:
            return "  ".join(c.rjust(w) for c, w in zip(cells, widths, strict=True)) + "  "

        parts = [rule, row(title for title, _, _ in columns), rule, *map(row, lines), rule]
        if header is not None:
            parts.insert(0, "=" * len(rule) + "\n" + header)
        total = _time_text(self.self_cpu_time_total, time_unit)
        return "\n".join(parts) + f"\nSelf CPU time total: {total}\n"

    __str__ = table

    def _columns(
        self, unit: str | None, name_width: int, shapes_width: int, source_width: int
    ) -> list[tuple[str, int, Callable[[Any], str]]]:
        """Title, greatest width and text of each column."""
        total = self.self_cpu_time_total

        def share(name: str) -> Callable[[Any], str]:
            return lambda event: f"{100 * getattr(event, name) / total:.2f}%" if total else "NaN"

        def time(name: str) -> Callable[[Any], str]:
            return lambda event: _time_text(getattr(event, name), unit)

        def memory(name: str) -> Callable[[Any], str]:
            return lambda event: _memory_text(getattr(event, name))

        wide = 10**6
        columns: list[tuple[str, int, Callable[[Any], str]]] = [
            ("Name", name_width, lambda event: _cut(event.key, name_width)),
            ("Self CPU %", wide, share("self_cpu_time_total")),
            ("Self CPU", wide, time("self_cpu_time_total")),
            ("CPU total %", wide, share("cpu_time_total")),
            ("CPU total", wide, time("cpu_time_total")),
            ("CPU time avg", wide, time("cpu_time")),
        ]
        if self._profile_memory:
            columns += [
                ("CPU Mem", wide, memory("cpu_memory_usage")),
                ("Self CPU Mem", wide, memory("self_cpu_memory_usage")),
            ]
            if self._has_cuda:
                columns += [
                    ("CUDA Mem", wide, memory("device_memory_usage")),
                    ("Self CUDA Mem", wide, memory("self_device_memory_usage")),
                ]
        columns.append(("# of Calls", wide, lambda event: str(event.count)))
        if any(event.input_shapes for event in self):
            columns.append(
                (
                    "Input Shapes",
                    shapes_width,
                    lambda event: _cut(str(event.input_shapes or "[]"), shapes_width),
                )
            )
        if any(event.stack for event in self):
            columns.append(
                (
                    "Source Location",
                    source_width,
                    lambda event: _cut_left(event.stack[0] if event.stack else "", source_width),
                )
            )
        if self._with_flops:
            columns.append(
                ("Total FLOPs", wide, lambda event: f"{event.flops}" if event.flops else "--")
            )
        return columns

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events for ``chrome://tracing``.

        Args:
            path: the file; compressed if its name ends in ``.gz``.
        """
        write_chrome_trace(self, path, {})

    def supported_export_stacks_metrics(self) -> list[str]:
        """The times that :meth:`export_stacks` can weigh stacks by."""
        return [
            "self_cpu_time_total",
            "self_cuda_time_total",
            "self_xpu_time_total",
            "self_privateuse1_time_total",
        ]

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """Write the stacks with their times, for programs that draw flame graphs.

        Args:
            path: the file.
            metric: the time that a stack is weighed by, such as ``"self_cpu_time_total"``.
        """
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(
                "export_stacks: expected metric as one of "
                f"{self.supported_export_stacks_metrics()}, got {metric!r}."
            )
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, metric, 0))
                if event.stack and value > 0:
                    frames = ";".join(_frame(entry) for entry in reversed(event.stack))
                    file.write(f"{frames} {value}\n")


def events_from(
    records: list[tuple[Any, ...]], zero_ns: int, thread: int, with_flops: bool
) -> list[FunctionEvent]:
    """The events of what ``_core._Recorder`` has recorded."""
    events: list[FunctionEvent] = []
    for number, record in enumerate(records):
        name, kind, start, end, parent, sequence_nr, cpu, cuda, inputs, outputs, stack = record
        event = FunctionEvent(
            id=number + 1,
            name=f"aten::{name}" if kind == 0 else _STEP.sub("ProfilerStep*", name),
            trace_name=name,
            thread=thread,
            start_us=(start - zero_ns) / 1000,
            end_us=(end - zero_ns) / 1000,
            sequence_nr=sequence_nr,
            scope=(0, 1, 7)[kind],
            is_user_annotation=kind == 2,
            cpu_memory_usage=cpu,
            device_memory_usage=cuda,
            stack=[_place(code, line) for code, line in stack or ()],
        )
        if kind == 0 and inputs is not None:
            positional, named = inputs
            event.input_shapes = [_shape(value) for value in positional]
            event.concrete_inputs = [None if _is_shape(v) else v for v in positional]
            event.kwinputs = {key: _shape(v) or v for key, v in named.items()}
            if with_flops:
                event.flops = flops_of_event(name, positional, named, outputs)
        elif kind == 2 and inputs:
            event.kwinputs = {"args": inputs}
        if parent >= 0:
            event.cpu_parent = events[parent]
            events[parent].cpu_children.append(event)
        events.append(event)
    return [event for event in events if not _is_dissolved(event)]


def _is_dissolved(event: FunctionEvent) -> bool:
    """Whether other events stand for this one; they then take its place among its parent's.

    Calls of backward() are those of derivatives, and a function that only calls the operation of
    its own name is one event with it.
    """
    outer = event.cpu_parent
    is_repeated = outer is not None and outer.name == event.name and outer.cpu_children == [event]
    if not is_repeated and event.name != "aten::backward":
        return False
    for child in event.cpu_children:
        child.cpu_parent = outer
    if outer is not None:
        at = outer.cpu_children.index(event)
        outer.cpu_children[at : at + 1] = event.cpu_children
        outer.flops = outer.flops or event.flops
    return True


def write_chrome_trace(
    events: Iterable[FunctionEvent], path: str | os.PathLike[str], metadata: dict[str, Any]
) -> None:
    """Write events in the format of ``chrome://tracing``, compressed if the name ends in .gz."""
    import gzip

    pid = os.getpid()
    trace: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "python3"}},
        {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": "CPU"}},
    ]
    for event in events:
        args: dict[str, Any] = {"External id": event.id}
        if event.input_shapes:
            args["Input Dims"] = event.input_shapes
            args["Concrete Inputs"] = [
                "" if value is None else str(value) for value in event.concrete_inputs
            ]
        if event.sequence_nr >= 0:
            args["Sequence number"] = event.sequence_nr
        if event.stack:
            args["Call stack"] = ";".join(event.stack)
        if event.flops:
            args["flops"] = event.flops
        trace.append(
            {
                "ph": "X",
                "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
                "name": event.trace_name if event.is_user_annotation else event.name,
                "pid": pid,
                "tid": event.thread,
                "ts": event.start_us,
                "dur": event.cpu_time_total,
                "args": args,
            }
        )
    content = {"schemaVersion": 1, "displayTimeUnit": "ms", **metadata, "traceEvents": trace}
    data = json.dumps(content, default=str).encode()
    with open(path, "wb") as file:
        file.write(gzip.compress(data) if os.fspath(path).endswith(".gz") else data)


def _is_shape(value: Any) -> bool:
    """Whether the recorder wrote (shape, dtype) here: there was a tensor."""
    return isinstance(value, tuple)


def _shape(value: Any) -> list[Any]:
    """The shape of a tensor, the shapes of a list of them, or nothing."""
    if _is_shape(value):
        return list(value[0])
    if isinstance(value, list) and value and all(map(_is_shape, value)):
        return [list(shape) for shape, _ in value]
    return []


def _place(code: Any, line: int) -> str:
    return f"{code.co_filename}({line}): {code.co_name}"


def _frame(entry: str) -> str:
    # The characters that separate frames and values.
    return entry.translate(str.maketrans(" ;\t\n", "____"))


def _time_text(us: float, unit: str | None = None) -> str:
    units = {"s": 1e6, "ms": 1e3, "us": 1.0}
    if unit is None:
        unit = next((u for u, size in units.items() if us >= size), "us")
    return f"{us / units[unit]:.3f}{unit}"


def _memory_text(n_bytes: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(n_bytes) >= size:
            return f"{n_bytes / size:.2f} {unit}"
    return f"{n_bytes} B"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _cut_left(text: str, width: int) -> str:
    return text if len(text) <= width else "..." + text[3 - width :]

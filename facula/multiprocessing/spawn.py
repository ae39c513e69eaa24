"""Several processes that run one function; the first failure ends them all."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import traceback
import weakref
from collections.abc import Callable, Sequence
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Any

from facula._warnings import warn_user

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

_PATIENCE_S = 30.0  # time between SIGTERM and SIGKILL, if no grace period is given


class ProcessException(Exception):
    """One of the processes failed.

    Args:
        msg: what happened in the process.
        error_index: which of the processes failed, from 0.
        pid: the id of the process that failed.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The function raised in one of the processes; the message has the traceback.

    Args:
        msg: what happened in the process.
        error_index: which of the processes failed, from 0.
        error_pid: the id of the process that failed.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """One of the processes ended with an exit code other than 0, or by a signal.

    Args:
        msg: what happened in the process.
        error_index: which of the processes failed, from 0.
        error_pid: the id of the process that failed.
        exit_code: the exit code of the process; negative for a signal.
        signal_name: the name of the signal, such as ``"SIGKILL"``.
    """

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        args = self.msg, self.error_index, self.pid, self.exit_code, self.signal_name
        return type(self), args


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    # A process outlives a parent that is killed, and daemons may not have children of their own. So
    # each waits for a pipe that the system closes however the parent ends.
    def wait() -> None:
        connection.wait([parent.sentinel])
        # Programs that a shell runs in the background ignore interrupts.
        ignores = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGTERM if ignores else signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


def _run(fn: Callable[..., Any], index: int, args: Sequence[Any], error_file: str) -> None:
    _end_with_parent()
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent gets it too, or has ended
    except Exception:
        # By a file, not a queue: it is there even if the process is killed while it ends.
        Path(error_file).write_text(traceback.format_exc(), "utf-8", "backslashreplace")
        sys.exit(1)


def _remove(folder: str, pid: int) -> None:
    if os.getpid() == pid:  # a child made by fork has the context too, but not the folder
        shutil.rmtree(folder, ignore_errors=True)


class ProcessContext:
    """The processes that :func:`start_processes` has started.

    Args:
        processes: the processes, already started.
        error_files: for each process, the file in which it leaves its traceback.
    """

    def __init__(self, processes: Sequence[BaseProcess], error_files: Sequence[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int | None]:
        """The ids of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one of the processes ends; the first failure ends the others and is raised.

        Args:
            timeout: seconds to wait; without limit by default.
            grace_period: after a failure, seconds for the others to end by themselves and again
                seconds before they are killed.

        Returns:
            Whether all processes have ended.
        """
        ended = connection.wait(list(self.sentinels), timeout) if self.sentinels else []
        failed = None
        # Of several failures at once the lowest process is blamed: the order of events is unknown.
        for index in sorted(self.sentinels.pop(sentinel) for sentinel in ended):  # type: ignore
            self.processes[index].join()
            if failed is None and self.processes[index].exitcode != 0:
                failed = index
        if failed is None:
            return not self.sentinels
        self._end_all(grace_period)
        raise self._failure(failed)

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait_for_all(grace_period)
        for end in (BaseProcess.terminate, BaseProcess.kill):
            for process in self.processes:
                if process.is_alive():
                    end(process)
            self._wait_for_all(_PATIENCE_S if grace_period is None else grace_period)

    def _wait_for_all(self, timeout_s: float) -> None:
        deadline = monotonic() + timeout_s
        for process in self.processes:
            process.join(max(0, deadline - monotonic()))

    def _failure(self, index: int) -> ProcessException:
        process = self.processes[index]
        pid, code = process.pid or 0, process.exitcode or 0
        error_file = Path(self.error_files[index])
        if error_file.exists():
            text = f"\n\n-- Process {index} terminated with the following error:\n"
            return ProcessRaisedException(text + error_file.read_text("utf-8"), index, pid)
        if code >= 0:
            text = f"process {index} terminated with exit code {code}"
            return ProcessExitedException(text, index, pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        text = f"process {index} terminated with signal {name}"
        return ProcessExitedException(text, index, pid, code, name)


class SpawnContext(ProcessContext):
    """An older name of :class:`ProcessContext`."""


def start_processes(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in processes ``i = 0, 1, ...`` which end when this process does.

    Args:
        fn: a function of a module, which the processes import.
        args: arguments that all processes get; tensors share their memory.
        nprocs: how many processes to start.
        join: whether to wait for all processes. A failure ends the others and is raised here.
        daemon: whether the processes end with this one without being waited for.
        start_method: how processes are started: ``"spawn"``, ``"fork"`` or ``"forkserver"``.

    Returns:
        The processes, or ``None`` after they were waited for.

    Example:
        >>> x = facula.zeros(3)
        >>> facula.multiprocessing.start_processes(x.__setitem__, (5.0,), nprocs=2)
        >>> x
        tensor([5., 5., 0.])
    """
    processes: list[BaseProcess] = []
    error_files = []
    context = multiprocessing.get_context(start_method)
    folder = tempfile.mkdtemp(prefix="facula-spawn-")
    for index in range(nprocs):
        error_files.append(os.path.join(folder, f"{index}.txt"))
        run = (fn, index, args, error_files[-1])
        process = context.Process(target=_run, args=run, daemon=daemon)  # type: ignore[attr-defined]
        try:
            process.start()
        except BaseException:
            for started_before in processes:
                started_before.terminate()
            _remove(folder, os.getpid())
            raise
        processes.append(process)
    started = ProcessContext(processes, error_files)
    weakref.finalize(started, _remove, folder, os.getpid())
    if not join:
        return started
    while not started.join():  # each call ends with the next process that does
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in ``nprocs`` new processes: :func:`start_processes` by ``"spawn"``.

    Args:
        fn: a function of a module, which the processes import.
        args: arguments that all processes get; tensors share their memory.
        nprocs: how many processes to start.
        join: whether to wait for all processes. A failure ends the others and is raised here.
        daemon: whether the processes end with this one without being waited for.
        start_method: nothing but ``"spawn"``; :func:`start_processes` knows others.

    Returns:
        The processes, or ``None`` after they were waited for.
    """
    if start_method != "spawn":
        warn_user(
            f"spawn: starts processes by 'spawn' always, not by {start_method!r}. Use "
            "start_processes for another way.",
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")

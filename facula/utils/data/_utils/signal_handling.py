"""How a loader of another package, which has processes of its own, hears that one has died."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

__all__: list[str] = []

_pids_of: dict[int, tuple[int, ...]] = {}
_SIGCHLD_handler_set = False


def _set_worker_pids(key: int, pids: tuple[int, ...]) -> None:
    """Watch the workers of a loader, which its id stands for."""
    if key in _pids_of:
        raise ValueError(f"_set_worker_pids: the workers of the loader {key} are set already.")
    _pids_of[key] = pids


def _remove_worker_pids(key: int) -> None:
    """Watch them no longer."""
    if key not in _pids_of:
        raise ValueError(f"_remove_worker_pids: the loader {key} has no workers that are set.")
    del _pids_of[key]


def _error_if_any_worker_fails() -> None:
    """Raise a RuntimeError for a worker that is watched and did not end well."""
    for key, pids in list(_pids_of.items()):
        for pid in pids:
            message = _failure_of(pid)
            if message:
                _pids_of[key] = ()  # told once
                raise RuntimeError(message)


def _failure_of(pid: int) -> str:
    try:
        # Python is still to wait for the process itself, hence WNOWAIT.
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # it was waited for
        return ""
    if ended is None or (ended.si_code == os.CLD_EXITED and ended.si_status == 0):
        return ""
    if ended.si_code == os.CLD_EXITED:
        return (
            f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {ended.si_status}. "
            "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give a "
            "better error trace."
        )
    name = signal.strsignal(ended.si_status)
    return f"DataLoader worker (pid {pid}) is killed by signal: {name}."


def _set_worker_signal_handlers() -> None:
    """Let SIGTERM end a worker, whatever it does in the caller, which it may be a fork of."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _set_SIGCHLD_handler() -> None:
    """Raise in the main thread as soon as a worker that is watched dies."""
    global _SIGCHLD_handler_set
    if _SIGCHLD_handler_set or threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGCHLD)

    def handler(signum: int, frame: Any) -> None:
        _error_if_any_worker_fails()
        if callable(before):
            before(signum, frame)

    signal.signal(signal.SIGCHLD, handler)
    _SIGCHLD_handler_set = True

"""Workers in processes of their own."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from facula._warnings import warn_user
from facula.utils.data._utils import shared_memory, worker
from facula.utils.data._utils.fetch import Recipe

__all__ = ["NoWorkers", "ProcessPool"]

# Blocks of one worker that batches of the user may hold; further batches are copies.
_MAX_LEASED = 3
# How long a worker may take to end by itself. One that fetches is not interrupted before.
_GRACE_S = 1.0
# How often a silent worker is looked at: a process of its own making may keep its socket open.
_CHECK_S = 0.5
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)


class NoWorkers(Exception):
    """The system has no processes or descriptors left."""


class _Worker:
    """A worker process, seen by the caller."""

    def __init__(self, sock: socket.socket) -> None:
        self.process: Any = None
        self.channel = worker.Channel(sock)
        self.outbox = bytearray()  # what the socket did not take at once
        self.freed: list[int] = []  # blocks that go back with the next task
        self.n_leased = 0
        self.tasks: dict[int, Any] = {}  # the indices of what it was asked for

    def send(self, message: bytes) -> None:
        # Never blocks: a worker that is itself blocked on a large answer would wait for the caller,
        # and the caller for it.
        data = len(message).to_bytes(8, "little") + message
        if not self.outbox:
            with contextlib.suppress(BlockingIOError, ConnectionError):
                data = data[self.channel.sock.send(data) :]
        self.outbox += data

    def flush(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            del self.outbox[: self.channel.sock.send(self.outbox)]


class ProcessPool:
    """The worker processes of one iterator."""

    def __init__(
        self,
        recipe: Recipe,
        infos: list[worker.WorkerInfo],
        init_fn: Callable[[int], Any] | None,
        context: Any,
        prefetch_factor: int,
    ) -> None:
        self._pid = os.getpid()
        self._workers: list[_Worker] = []
        self._poll = select.poll()
        self._by_fd: dict[int, _Worker] = {}
        self._memory = shared_memory.Memory.create(len(infos))
        try:
            with _ready_for_fork(context):
                for info in infos:
                    job = (recipe, info, init_fn, prefetch_factor + _MAX_LEASED + 1)
                    self._start(context, *job)
        except NoWorkers as error:
            if recipe.is_iterable or not self._workers:
                self.close(0)
                raise
            warn_user(
                f"DataLoader: only {len(self._workers)} of {len(infos)} worker processes could be "
                f"started ({error}); they give the same batches.",
            )
        except BaseException:
            self.close(0)
            raise
        finally:
            if self._memory is not None:
                self._memory.close_fd()

    def _start(self, context: Any, recipe: Recipe, info: Any, init_fn: Any, n_blocks: int) -> None:
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise NoWorkers(str(error)) from error
        one = _Worker(ours)
        if self._memory is not None:
            self._memory.words[info.id] = worker.STARTING
        inherited = [w.channel.sock for w in self._workers] + [ours]
        with theirs:
            job = worker.Job(theirs, self._memory, recipe, info, init_fn, n_blocks)
            is_fork = context.get_start_method() == "fork"
            if not is_fork:  # its tensors then share the memory of the caller's
                importlib.import_module("facula.multiprocessing")
            args = (job, inherited if is_fork else [])
            one.process = context.Process(target=worker.main, args=args, daemon=True)
            try:
                with warnings.catch_warnings():
                    # Python 3.12 warns of threads; the core's are ready for a fork.
                    warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)
                    one.process.start()
            except BaseException as error:
                ours.close()
                if isinstance(error, OSError) and error.errno in _NO_ROOM:
                    raise NoWorkers(str(error)) from error
                if isinstance(error, (AttributeError, TypeError, pickle.PicklingError)):
                    raise type(error)(
                        "DataLoader: the dataset, collate_fn and worker_init_fn are pickled for "
                        f"workers that are not forked: {error}. Define what it names in a module."
                    ) from error
                raise
        ours.setblocking(False)
        self._workers.append(one)
        self._by_fd[ours.fileno()] = one
        self._poll.register(ours, select.POLLIN)

    @property
    def n_workers(self) -> int:
        return len(self._workers)

    def begin_epoch(self, epochs: list[worker.Epoch]) -> None:
        for one, epoch in zip(self._workers, epochs, strict=True):
            self._send(one, epoch)

    def _send(self, one: _Worker, task: Any) -> None:
        one.send(pickle.dumps(task, 5))
        if one.outbox:
            self._poll.register(one.channel.sock, select.POLLIN | select.POLLOUT)

    def submit(self, which: int, number: int, n: int, indices: Any) -> None:
        """Ask for batch ``n`` of the epoch; the answer will have ``number``."""
        one = self._workers[which]
        given_back, one.freed = one.freed, []
        one.tasks[number] = n, indices
        self._send(one, (number, n, indices, given_back))

    def receive(self, timeout_s: float | None) -> list[tuple[int, int, int, Any]]:
        """What has arrived, at least one: (worker, number, kind, message); [] after the timeout."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left = _CHECK_S if end is None else min(_CHECK_S, max(0.0, end - time.monotonic()))
            arrived: list[tuple[int, int, int, Any]] = []
            events = self._poll.poll(left * 1000)
            for fd, event in events:
                self._handle(self._by_fd[fd], event, arrived)
            if arrived:
                return arrived
            # Only in silence: what a worker has sent before it died is still handed out.
            if not events:
                self._check_alive()
                if end is not None and time.monotonic() >= end:
                    return []

    def _handle(self, one: _Worker, event: int, arrived: list[Any]) -> None:
        if event & select.POLLOUT:
            one.flush()
            if not one.outbox:
                self._poll.register(one.channel.sock, select.POLLIN)
        if event & ~select.POLLOUT:
            try:
                one.channel.read_more()
            except BlockingIOError:
                return
            except (EOFError, ConnectionError):
                self._report_death(one)
        while (message := one.channel.pop()) is not None:
            kind, number = worker.HEAD.unpack_from(message)
            one.tasks.pop(number)  # what is left says what a worker that dies was fetching
            arrived.append((self._workers.index(one), number, kind, message))

    def open(self, which: int, message: Any) -> Any:
        """The object that a worker sent."""
        one = self._workers[which]

        def lease(start: int, nbytes: int) -> Any:
            memory = self._memory
            assert memory is not None
            block = memory.lease(start, nbytes)
            if one.n_leased >= _MAX_LEASED:
                one.freed.append(start)
                return bytearray(block)
            one.n_leased += 1
            weakref.finalize(block, _return_block, one, start, _n_forks).atexit = False
            return block

        return shared_memory.load(memoryview(message)[worker.HEAD.size :], lease)

    def discard(self, which: int, message: Any) -> None:
        """Do without what a worker sent."""
        start = shared_memory.block_of(memoryview(message)[worker.HEAD.size :])
        if start:
            self._workers[which].freed.append(start)

    def _check_alive(self) -> None:
        for one in self._workers:
            if not one.process.is_alive():
                self._report_death(one)

    def _report_death(self, one: _Worker) -> None:
        one.process.join(1)
        code = one.process.exitcode
        which = self._workers.index(one)
        how = f"exited with code {code}"
        if code is not None and code < 0:
            how = f"was killed by {_signal_name(-code)}"
        text = f"DataLoader: worker {which} (pid {one.process.pid}) {how}"
        k = 0 if self._memory is None else self._memory.words[which]
        if k == worker.STARTING:
            text += " while it started"
        elif one.tasks:
            n, indices = next(iter(one.tasks.values()))
            text += f" while it fetched batch {n}"
            if isinstance(indices, list) and indices and self._memory is not None:
                text += f", sample {indices[min(k, len(indices) - 1)]!r}"
        text += "."
        if code == -signal.SIGKILL:
            text += " The system kills processes so when memory runs out."
        self.close(0)
        raise RuntimeError(text) from None

    def close(self, grace_s: float = _GRACE_S) -> None:
        """End the workers: those that wait for a task at once, the others after the grace."""
        if os.getpid() != self._pid:
            return  # a fork of the caller, whose children these are not
        workers, self._workers = self._workers, []
        for one in workers:
            with contextlib.suppress(OSError):  # the socket of a dead worker is no longer connected
                # Not only closed: workers of another loader may have a copy of the descriptor.
                one.channel.sock.shutdown(socket.SHUT_RDWR)
            one.channel.sock.close()
        end = time.monotonic() + grace_s
        for ask in (None, "terminate", "kill"):
            for one in workers:
                if ask is not None and one.process.is_alive():
                    getattr(one.process, ask)()
            for one in workers:
                one.process.join(max(0.0, end - time.monotonic()))
            end = time.monotonic() + 0.2
        for one in workers:
            one.process.join()
            one.process.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _return_block(one: _Worker, start: int, n_forks: int) -> None:
    one.n_leased -= 1
    if n_forks == _n_forks:
        one.freed.append(start)


# A process that the user forks has the batches too, over the same memory: what they hold at that
# moment is not written again. Workers do not look at them.
_n_forks = 0
_is_starting = False


def _count_fork() -> None:
    global _n_forks
    _n_forks += not _is_starting


os.register_at_fork(before=_count_fork)


@contextlib.contextmanager
def _ready_for_fork(context: Any) -> Iterator[None]:
    # A collection in a worker would write to the header of every object of the caller, and so
    # copy all its memory. Ctrl-C must find workers that know what to do with it.
    global _is_starting
    is_ours = gc.get_freeze_count() == 0 and context.get_start_method() == "fork"
    if is_ours:
        gc.freeze()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    _is_starting = True
    try:
        yield
    finally:
        _is_starting = False
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if is_ours:
            gc.unfreeze()

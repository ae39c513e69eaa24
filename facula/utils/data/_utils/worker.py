"""What a worker is, and what it does in a process of its own."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import socket
import struct
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import facula
from facula import _core
from facula.utils.data._utils import random_streams, shared_memory
from facula.utils.data._utils.collate import default_collate
from facula.utils.data._utils.fetch import Exhausted, Fetcher, Recipe
from facula.utils.data._utils.pipes import seed_pipes
from facula.utils.data._utils.signal_handling import _set_worker_signal_handlers

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass
class WorkerInfo:
    """What :func:`get_worker_info` returns in a worker.

    Args:
        id: which worker this is, from 0.
        num_workers: how many workers the loader has.
        seed: the seed of the epoch's loader plus ``id``.
        dataset: the worker's copy of the dataset; for threads, the dataset itself.

    Example:
        >>> facula.utils.data.get_worker_info() is None  # outside of a worker
        True
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_of_thread = threading.local()
_worker_info: WorkerInfo | None = None  # of this process; other packages set it


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a loader this code runs in; None in the caller.

    An iterable dataset uses it to give each worker a share of the samples.

    Example:
        >>> from facula.utils.data import get_worker_info
        >>> get_worker_info() is None
        True
    """
    return getattr(_of_thread, "info", None) or _worker_info


class running_as:
    """Within the block, this thread is the worker of this info."""

    def __init__(self, info: WorkerInfo | None) -> None:
        self._info = info

    def __enter__(self) -> None:
        self._before = getattr(_of_thread, "info", None)
        _of_thread.info = self._info

    def __exit__(self, *_: object) -> None:
        _of_thread.info = self._before


def run_init(init_fn: Callable[[int], Any] | None, info: WorkerInfo) -> None:
    """Call the user's function with the streams that PyTorch's workers have."""
    if init_fn is None:
        return
    started = random_streams.start(info.seed)
    _core._push_generator(info.seed)
    try:
        init_fn(info.id)
    finally:
        _core._pop_generator()
        random_streams.stop(started)


class Failure:
    """An exception on its way from a worker to the caller."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind = type(error)
        # The text, since a traceback cannot leave its process.
        self.text = f"Caught {self.kind.__name__} {where}.\nOriginal " + "".join(
            traceback.format_exception(type(error), error, error.__traceback__)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            pickle.dumps(self.kind)
        except Exception:  # a class of a function, which the caller does not know by name
            self.kind = RuntimeError
        return _make_failure, (self.kind, self.text)

    def reraise(self) -> None:
        """Raise it in the caller, with the text of its traceback."""
        text = _Text(self.text) if issubclass(self.kind, KeyError) else self.text
        if issubclass(self.kind, StopIteration):  # would end the caller's loop without a word
            raise RuntimeError(text)
        try:
            error = self.kind(text)
        except Exception:  # its constructor wants something else
            error = RuntimeError(text)
        try:
            raise error from None
        finally:
            del error  # else its traceback keeps it alive, and with it the iterator


def _make_failure(kind: type[BaseException], text: str) -> Failure:
    failure = Failure.__new__(Failure)
    failure.kind, failure.text = kind, text
    return failure


class _Text(str):
    """A KeyError prints the repr of its text, which has no lines."""

    def __repr__(self) -> str:
        return str(self)


# Messages to a worker: (number, n, indices, blocks given back), or an Epoch. From it: the kind, the
# number, and what shared_memory.dump made.
HEAD = struct.Struct("<Bq7x")  # padded: buffers of the message are to be aligned
BATCH, FAILURE, END = range(3)
STARTING = -1  # in place of its progress, as long as a worker is not ready
_PIECE = 1 << 16


@dataclass(frozen=True)
class Epoch:
    """The start of an epoch, and where in it: batches to leave out, the state of the dataset."""

    seed: int
    n_skipped: int = 0
    state: Any = None
    pipe_seed: int | None = None


class Channel:
    """Messages over a socket: the size in 8 bytes, then as many bytes."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._pending = b""
        self._large: memoryview | None = None  # a message of many pieces
        self._n_of_large = 0

    def send(self, parts: list[Any]) -> None:
        size = sum(memoryview(part).nbytes for part in parts)
        data = [size.to_bytes(8, "little"), *parts]
        for part in [b"".join(data)] if size < _PIECE else data:
            self.sock.sendall(part)

    def receive(self) -> Any:
        """The next message, when it is there."""
        while (message := self.pop()) is None:
            self.read_more()
        return message

    def pop(self) -> Any:
        """The next message, if all of it is there."""
        if self._large is not None:
            if self._n_of_large < len(self._large):
                return None
            message, self._large = self._large, None
            return message
        pending = self._pending
        if len(pending) < 8:
            return None
        end = 8 + int.from_bytes(pending[:8], "little")
        if len(pending) >= end:
            self._pending = pending[end:]
            return pending[8:end]
        # Appending to bytes copies all of them: for a large message that would be quadratic.
        if end > 2 * _PIECE:
            self._large, self._n_of_large = memoryview(bytearray(end - 8)), len(pending) - 8
            self._large[: self._n_of_large] = pending[8:]
            self._pending = b""
        return None

    def read_more(self) -> None:
        """Read what there is, or wait for it; EOFError when the other side is gone."""
        if self._large is None:
            data = self.sock.recv(_PIECE)
            n_new = len(data)
            self._pending += data
        else:
            n_new = self.sock.recv_into(self._large[self._n_of_large :])
            self._n_of_large += n_new
        if n_new == 0:
            raise EOFError


@dataclass
class Job:
    """All that a worker process is given."""

    sock: socket.socket
    memory: shared_memory.Memory | None
    recipe: Recipe
    info: WorkerInfo
    init_fn: Callable[[int], Any] | None
    max_blocks: int


def main(job: Job, inherited: list[socket.socket]) -> None:
    """The life of a worker process: fetch what is asked for until the caller closes the socket."""
    global _worker_info
    # The caller's ends, which a fork copies: left open, a socket would not end with the caller.
    for sock in inherited:
        sock.close()
    # Ctrl-C reaches the whole group of processes. The caller reports it and ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _set_worker_signal_handlers()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    facula.set_num_threads(1)  # as many processes as cores are usual; more threads would queue
    _worker_info = job.info
    with contextlib.suppress(EOFError, ConnectionError):  # the caller is done, or gone
        _serve(job)


def _serve(job: Job) -> None:
    info, recipe, memory = job.info, job.recipe, job.memory
    progress: Any = [0]
    if memory is not None:
        shared_memory.ring = shared_memory.Ring(memory, info.id, job.max_blocks)
        progress = memory.words[info.id : info.id + 1]
    random_streams.start(info.seed)
    where = f"in DataLoader worker process {info.id}"
    failure: Failure | None = None
    try:
        run_init(job.init_fn, info)
    except Exception as error:
        failure = Failure(error, f"{where}, in worker_init_fn")
    progress[0] = 0
    channel = Channel(job.sock)
    fetcher: Fetcher | None = None
    while True:
        task = pickle.loads(channel.receive())
        if isinstance(task, Epoch):
            try:
                seed_pipes(recipe.dataset, task.pipe_seed)
                fetcher = Fetcher(recipe, task.seed, info.id)
                fetcher.progress = progress
                if shared_memory.ring is not None and recipe.collate_fn is default_collate:
                    fetcher.collate = functools.partial(
                        shared_memory.collate_into_block, default_collate
                    )
                fetcher.resume(task.n_skipped, task.state)
            except Exception as error:
                failure = failure or Failure(error, where)
            continue
        number, n, indices, given_back = task
        if shared_memory.ring is not None:
            shared_memory.ring.give_back(given_back)
        assert fetcher is not None
        kind, parts = _answer(fetcher, n, indices, failure, where)
        channel.send([HEAD.pack(kind, number), *parts])


def _answer(
    fetcher: Fetcher, n: int, indices: Any, failure: Failure | None, where: str
) -> tuple[int, list[Any]]:
    if failure is not None:
        return FAILURE, shared_memory.dump(failure)
    try:
        if shared_memory.ring is not None:
            shared_memory.ring.begin_batch()
        # Threads of the dataset draw from the generator of the process.
        facula.default_generator.manual_seed(fetcher.seed_of(n))
        batch = fetcher.fetch(n, indices)
        return BATCH, shared_memory.dump((batch, fetcher.state()))
    except Exhausted:
        return END, []
    except Exception as error:
        place = f", {fetcher.failed_at}" if fetcher.failed_at else ""
        return FAILURE, shared_memory.dump(Failure(error, where + place))


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """What a worker of another package's loader answers when its dataset has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """What such a loader asks of workers that persist: another epoch."""

    seed: int | None = None


class ManagerWatchdog:
    """Tells such a worker whether the process that started it is still there."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()

    def is_alive(self) -> bool:
        # A process whose parent has ended is given another one.
        return os.getppid() == self.manager_pid


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four numbers to seed another generator of a worker with, from a seed and its number."""
    import numpy

    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in numpy.random.SeedSequence(words).generate_state(4)]

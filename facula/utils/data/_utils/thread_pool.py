"""Workers in threads of the caller.

Note [Streams of threads]
Facula's random stream belongs to a thread, but Python's and NumPy's belong to the process: two
fetches at once would share them, with each other and with the caller. So it is watched who draws.
The first batch of a loader is fetched in the caller, alone. If it draws from those streams, all
batches are fetched so, with a warning: their numbers are right, and nothing runs at once. If it
does not, threads fetch. If someone draws while a thread fetches, even if that is the caller, the
batch is fetched again in the caller, while all threads wait.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import queue
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from facula._warnings import warn_user
from facula.utils.data._utils import random_streams
from facula.utils.data._utils.fetch import Exhausted, Fetcher, Recipe
from facula.utils.data._utils.worker import (
    BATCH,
    END,
    FAILURE,
    Epoch,
    Failure,
    WorkerInfo,
    run_init,
    running_as,
)

__all__ = ["ThreadPool"]

_GRACE_S = 0.5  # how long threads may take to end at exit


class _Gate:
    """Many may fetch at once, or the caller alone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._n_inside = 0
        self._is_closed = (
            False  # set by the caller only, which never enters: it cannot wait for itself
        )

    def enter(self) -> None:
        with self._condition:
            self._condition.wait_for(lambda: not self._is_closed)
            self._n_inside += 1

    def leave(self) -> None:
        with self._condition:
            self._n_inside -= 1
            self._condition.notify_all()

    def close(self) -> None:
        with self._condition:
            self._is_closed = True
            self._condition.wait_for(lambda: self._n_inside == 0)

    def open(self) -> None:
        with self._condition:
            self._is_closed = False
            self._condition.notify_all()


class _Worker:
    """What one thread has; it knows nothing of the pool, which ends when nobody iterates."""

    def __init__(self, recipe: Recipe, info: WorkerInfo, init_fn: Any) -> None:
        self.recipe = recipe
        self.info = info
        self.init_fn = init_fn
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.fetcher: Fetcher | None = None
        self.failure: Failure | None = None
        self.is_ready = False  # not yet prepared: that is for the first fetch, whoever does it

    def prepare(self) -> None:
        """The first thing to do, in the thread that fetches first."""
        self.is_ready = True
        try:
            run_init(self.init_fn, self.info)
        except Exception as error:
            self.failure = Failure(error, f"{self._where()}, in worker_init_fn")

    def _where(self) -> str:
        return f"in DataLoader worker thread {self.info.id}"

    def failure_of(self, error: BaseException) -> Failure:
        at = self.fetcher.failed_at if self.fetcher is not None else None
        return Failure(error, self._where() + (f", {at}" if at else ""))

    def begin_epoch(self, epoch: Epoch) -> None:
        with running_as(self.info):
            self.fetcher = Fetcher(self.recipe, epoch.seed, self.info.id)
            self.fetcher.resume(epoch.n_skipped, epoch.state)

    def answer(self, fetch: Callable[[Fetcher], Any]) -> tuple[int, Any]:
        """The kind and content of the answer to a task."""
        fetcher = self.fetcher
        assert fetcher is not None
        with running_as(self.info):
            if not self.is_ready:
                self.prepare()
            if self.failure is not None:
                return FAILURE, self.failure
            try:
                return BATCH, (fetch(fetcher), fetcher.state())
            except Exhausted:
                return END, None
            except Exception as error:
                return FAILURE, self.failure_of(error)


def _serve(worker: _Worker, answers: queue.SimpleQueue[Any], gate: _Gate) -> None:
    while (task := worker.tasks.get()) is not None:
        number, n, indices = task

        def fetch(fetcher: Fetcher, n: int = n, indices: Any = indices) -> Any:
            return fetcher.fetch_in_thread(fetcher.seed_of(n), n, indices)

        gate.enter()
        before = random_streams.mark()
        try:
            kind, content = worker.answer(fetch)
        except BaseException as error:  # sys.exit(), say: the caller would wait for ever
            kind, content = FAILURE, worker.failure_of(error)
        finally:
            is_drawn = random_streams.mark() != before
            gate.leave()
        answers.put((worker.info.id, number, kind, content, task if is_drawn else None))
        # Else the batch would live on while this thread waits, and with it its memory.
        del task, content


class ThreadPool:
    """The worker threads of one iterator.

    Args:
        draws: what is known of the dataset: whether it draws from Python's or NumPy's stream.
    """

    def __init__(
        self, recipe: Recipe, infos: list[WorkerInfo], init_fn: Any, draws: list[bool]
    ) -> None:
        self._recipe = recipe
        self.n_workers = len(infos)
        self._draws = draws  # [] until the first batch; shared with the loader
        self._workers = [_Worker(recipe, info, init_fn) for info in infos]
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._gate = _Gate()
        self._waiting: collections.deque[Any] = collections.deque()
        self._threads: list[threading.Thread] = []
        _pools.add(self)

    def begin_epoch(self, epochs: list[Epoch]) -> None:
        # A thread may still be fetching for the last epoch, by the Fetcher it began with. The
        # iterator discards its answer, whose number is old.
        self._forget_tasks()
        for worker, epoch in zip(self._workers, epochs, strict=True):
            worker.begin_epoch(epoch)

    def _forget_tasks(self) -> None:
        self._waiting.clear()
        for worker in self._workers:
            with contextlib.suppress(queue.Empty):
                while True:
                    worker.tasks.get_nowait()

    def submit(self, which: int, number: int, n: int, indices: Any) -> None:
        if self._draws == [False]:
            self._start()
            self._workers[which].tasks.put((number, n, indices))
        else:
            self._waiting.append((which, number, n, indices))

    def _start(self) -> None:
        # At the first task for them: a dataset that draws never needs the threads.
        if not self._threads:
            for worker in self._workers:
                args = (worker, self._answers, self._gate)
                thread = threading.Thread(target=_serve, args=args, daemon=True)
                self._threads.append(thread)
                thread.start()

    def receive(self, timeout_s: float | None) -> list[tuple[int, int, int, Any]]:
        if self._waiting:
            return [self._fetch_waiting()]
        try:
            which, number, kind, content, again = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            return []
        # Samples of an iterable dataset cannot be asked for a second time.
        if again is not None and not self._recipe.is_iterable:
            kind, content = self._fetch_alone(which, *again[1:])
        elif again is not None:
            warn_user(
                "DataLoader: Python's or NumPy's random stream was drawn from while a thread "
                "fetched from an iterable dataset. If that was the dataset, its numbers are not "
                "the same every time: draw from Facula's, or use processes.",
            )
        return [(which, number, kind, content)]

    def _fetch_waiting(self) -> tuple[int, int, int, Any]:
        which, number, n, indices = self._waiting.popleft()
        was_known = bool(self._draws)
        kind, content = self._fetch_alone(which, n, indices)
        if not was_known and self._draws == [False]:
            waiting, self._waiting = self._waiting, collections.deque()
            for task in waiting:
                self.submit(*task)
        return which, number, kind, content

    def _fetch_alone(self, which: int, n: int, indices: Any) -> tuple[int, Any]:
        is_drawn = False

        def fetch(fetcher: Fetcher) -> Any:
            nonlocal is_drawn
            seed = fetcher.seed_of(n)
            started = random_streams.start(seed)
            before = random_streams.mark()
            try:
                return fetcher.fetch_in_thread(seed, n, indices)
            finally:
                is_drawn = random_streams.mark() != before
                random_streams.stop(started)

        try:
            self._gate.close()
            kind, content = self._workers[which].answer(fetch)
        finally:
            self._gate.open()
        if kind == BATCH and is_drawn and self._draws != [True]:
            warn_user(
                "DataLoader: the dataset draws from Python's or NumPy's random stream, which all "
                "threads share, so one batch at a time is fetched, in the caller. Draw from "
                "Facula's instead, or use processes.",
            )
        # Once known to draw, always: later batches may happen not to.
        if kind == BATCH and (is_drawn or not self._draws):
            self._draws[:] = [is_drawn]
        return kind, content

    def open(self, which: int, message: Any) -> Any:
        return message

    def discard(self, which: int, message: Any) -> None:
        pass

    def close(self, grace_s: float = 0) -> None:
        """Let the threads end after what they are fetching, and wait so long for it."""
        self._forget_tasks()
        for worker in self._workers:
            worker.tasks.put(None)
        end = time.monotonic() + grace_s
        for thread in self._threads:
            with contextlib.suppress(RuntimeError):  # Ctrl-C came while it was starting
                thread.join(max(0.0, end - time.monotonic()))


_pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()


@atexit.register
def _end_threads() -> None:
    # A thread that computes while the interpreter ends would be torn out of the core.
    for pool in list(_pools):
        pool.close(_GRACE_S)

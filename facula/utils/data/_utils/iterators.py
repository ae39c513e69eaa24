"""Iterators over a loader: the caller fetches, or workers fetch ahead."""

from __future__ import annotations

import copy
import functools
import multiprocessing
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from facula._notes import note
from facula._warnings import warn_user
from facula.utils.data._utils.fetch import Exhausted, Fetcher
from facula.utils.data._utils.order import Order
from facula.utils.data._utils.pipes import _sharding_worker_init_fn, is_pipe, seed_pipes
from facula.utils.data._utils.process_pool import NoWorkers, ProcessPool
from facula.utils.data._utils.thread_pool import ThreadPool
from facula.utils.data._utils.worker import END, FAILURE, Epoch, WorkerInfo

__all__ = ["CallerIterator", "PoolIterator"]

_SKIPPED = -1  # a kind of answer: the batch was taken before the loader was resumed


class _HasNext:
    """Python 2's name of ``__next__``, which notebooks call."""

    def next(self) -> Any:
        """The next batch, as ``next(iterator)`` gives it."""
        note("iterator.next() is an older form of next(iterator).")
        return next(self)  # type: ignore[call-overload]


def _own(loader: Any) -> Any:
    """The loader; for what another package has instead of one, a loader that does the same."""
    if hasattr(loader, "_recipe"):
        return loader
    from facula.utils.data.dataloader import loader_like

    return loader_like(loader)


class CallerIterator(_HasNext):
    """Batches that the caller fetches when it asks for them."""

    def __init__(self, loader: Any) -> None:
        loader = _own(loader)
        self._loader = loader
        self._order = order = Order(loader, None, 0)
        seed_pipes(loader.dataset, order.pipe_seed)
        self._fetcher = Fetcher(loader._recipe(), order.place.seed())
        self._skipped: set[int] = set()
        if order.resumed is not None:
            self._skipped = set(order.resumed["ahead"])
            if loader._is_iterable:
                self._fetcher.resume(order.place.n_taken, order.place.dataset_states[0])

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        order, place = self._order, self._order.place
        try:
            n, indices = order.next()
            while n in self._skipped:
                n, indices = order.next()
        except StopIteration:
            place.is_finished = True
            raise
        try:
            batch = self._fetcher.fetch(n, indices)
        except Exhausted:
            place.is_finished = True
            raise StopIteration from None
        except Exception as error:
            order.note(n)  # a caller that catches the error goes on with the next batch
            if self._fetcher.failed_at and hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"DataLoader: while fetching {self._fetcher.failed_at}.")
            if isinstance(error, StopIteration):  # would end the caller's loop without a word
                raise RuntimeError("DataLoader: the collate_fn raised StopIteration.") from error
            raise
        order.note(n)
        if place.is_iterable:
            place.dataset_states[0] = self._fetcher.state()
            self._loader._check_length(place.n_taken)
        return self._loader._finished(batch)


class PoolIterator(_HasNext):
    """Batches that workers fetch ahead, in threads or processes."""

    def __init__(self, loader: Any) -> None:
        loader = _own(loader)
        self._set_loader(loader)
        self._pid = os.getpid()
        self._lock = threading.RLock()  # threads of the user may share the iterator
        self._order = Order(loader, None, 0)
        # Tasks are numbered through all epochs, so that answers to an older one are known by it.
        self._first_number = 0
        self._n_put = 0
        self._pool: Any = _make_pool(loader, self._order.place.base_seed)
        self._n_workers = self._pool.n_workers
        self._end = weakref.finalize(self, self._pool.close)
        self._end.atexit = False  # multiprocessing ends processes then, and threads end themselves
        self._begin()

    @property
    def is_closed(self) -> bool:
        # In a fork of the caller, the workers are those of the caller.
        return not self._end.alive or os.getpid() != self._pid

    def _shutdown_workers(self) -> None:
        """End the workers now, as packages ask it of PyTorch's iterator."""
        self._end()

    def _set_loader(self, loader: Any) -> None:
        # A loader keeps the iterator of workers that persist. If the iterator kept the loader, too,
        # the workers of a loader that nobody uses would wait for the garbage collector.
        self._loader = copy.copy(loader)
        self._loader._iterator = None

    def begin_epoch(self, loader: Any) -> None:
        """Another epoch by the same workers."""
        self._set_loader(loader)
        for number, (kind, message) in self._ready.items():
            if kind != _SKIPPED:
                self._pool.discard(self._tasks[number][0], message)
        place = self._order.place
        self._order = Order(loader, place.base_seed, place.epoch + 1)
        self._begin()

    def _begin(self) -> None:
        loader, order = self._loader, self._order
        seed_pipes(loader.dataset, order.pipe_seed)
        self._first_number += self._n_put
        self._n_put = 0
        # What is behind the task of each number: the worker, the number of the batch.
        self._tasks: dict[int, tuple[int, int]] = {}
        self._ready: dict[int, tuple[int, Any]] = {}
        self._load = [0] * self._n_workers
        self._is_active = [True] * self._n_workers
        self._turn = 0  # the worker that is given the next task
        self._skipped: set[int] = set()
        self._n_skipped_of = [0] * self._n_workers
        if order.resumed is not None:
            self._skipped = set(order.resumed["ahead"])
            if loader._is_iterable:
                self._n_skipped_of = list(order.place.taken_from)
        self._n_put_to = [0] * self._n_workers
        seed = order.place.seed()
        states = order.place.dataset_states + [None] * self._n_workers
        self._pool.begin_epoch(
            [
                Epoch(seed, n_skipped, state, order.pipe_seed)
                for n_skipped, state in zip(self._n_skipped_of, states, strict=False)
            ]
        )
        assert loader.prefetch_factor is not None
        self._n_ahead = loader.prefetch_factor
        for _ in range(self._n_ahead * self._n_workers):
            self._put()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def _put(self) -> None:
        """Ask a worker for one batch more."""
        which = self._next_worker()
        if which is None:
            return
        try:
            n, indices = self._order.next()
            while n in self._skipped:
                n, indices = self._order.next()
        except StopIteration:
            return
        number = self._first_number + self._n_put
        self._n_put += 1
        self._tasks[number] = which, n
        if self._n_put_to[which] < self._n_skipped_of[which]:
            self._ready[number] = _SKIPPED, None
        else:
            self._load[which] += 1
            self._pool.submit(which, number, n, indices)
        self._n_put_to[which] += 1

    def _next_worker(self) -> int | None:
        for _ in range(self._n_workers):
            which = self._turn
            self._turn = (which + 1) % self._n_workers
            is_free = self._loader.in_order or self._load[which] < self._n_ahead
            if self._is_active[which] and is_free:
                return which
        return None

    def __next__(self) -> Any:
        if self._tasks and self.is_closed:
            raise RuntimeError(
                "DataLoader: the workers of this iterator are those of another process, of which "
                "this one is a fork. Start others with iter(loader)."
            )
        with self._lock:
            return self._next()

    def _next(self) -> Any:
        while self._tasks:
            number = next(iter(self._tasks))  # the oldest: dicts keep the order of their keys
            if not self._loader.in_order and self._ready:
                number = next(iter(self._ready))
            if number not in self._ready:
                self._receive()
                continue
            kind, message = self._ready.pop(number)
            which, n = self._tasks.pop(number)
            if kind == END:
                self._is_active[which] = False
            # Before the batch is opened: the worker fetches while the caller unpickles.
            self._put()
            if kind in (END, _SKIPPED):
                continue
            self._note(which, n)
            content = self._pool.open(which, message)
            if kind == FAILURE:
                content.reraise()
            batch, state = content
            self._order.place.dataset_states[which] = state
            return self._loader._finished(batch)
        if not self.is_closed:
            self._order.place.is_finished = True
            if not self._loader.persistent_workers:
                self._end()
        raise StopIteration

    def _note(self, which: int, n: int) -> None:
        place = self._order.place
        if place.is_iterable:  # n is the number of the task, and some tasks find only the end
            place.n_taken += 1
            place.taken_from[which] += 1
            self._loader._check_length(place.n_taken)
        else:
            self._order.note(n)

    def _receive(self) -> None:
        try:
            answers = self._pool.receive(self._loader.timeout or None)
        except BaseException:  # Ctrl-C, or a worker is dead: there is nothing more to come
            self._tasks.clear()
            self._ready.clear()
            self._pool.close(0)
            self._end()
            raise
        if not answers:
            which, n = next(iter(self._tasks.values()))
            raise RuntimeError(
                f"DataLoader timed out after {self._loader.timeout} seconds: worker {which} has "
                f"not yet fetched batch {n}."
            )
        for which, number, kind, message in answers:
            if number in self._tasks:
                self._load[which] -= 1
                self._ready[number] = kind, message
            else:
                self._pool.discard(which, message)


def _default_context() -> Any:
    # Python 3.14 forks only where a program asks for it. The core is ready for a fork, which starts
    # a worker in milliseconds and needs no pickle of the dataset.
    method = multiprocessing.get_start_method(allow_none=True)
    is_forked = method is None and sys.platform == "linux"
    return multiprocessing.get_context("fork" if is_forked else method)


def _make_pool(loader: Any, base_seed: int) -> Any:
    recipe, n = loader._recipe(), loader.num_workers
    infos = [WorkerInfo(i, n, base_seed + i, loader.dataset) for i in range(n)]
    init_fn = loader.worker_init_fn
    if is_pipe(loader.dataset) and loader.worker_type == "process":
        init_fn = functools.partial(_sharding_worker_init_fn, init_fn, 1, 0)
    if loader.worker_type == "thread":
        return ThreadPool(recipe, infos, init_fn, loader._draws)
    assert loader.prefetch_factor is not None
    context = loader.multiprocessing_context or _default_context()
    try:
        return ProcessPool(recipe, infos, init_fn, context, loader.prefetch_factor)
    except NoWorkers as error:
        warn_user(
            f"DataLoader: the {n} worker processes cannot be started ({error}), so the caller "
            "fetches the batches.",
        )
        return ThreadPool(recipe, infos, init_fn, [True])

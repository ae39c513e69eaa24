"""Parts of PyTorch's loader that packages such as torchdata and litdata build their own of."""

import os
import queue
import signal
import subprocess
import sys
import threading

import pytest

import facula
from facula.utils.data import DataLoader, IterableDataset, _utils
from facula.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _DatasetKind,
)
from facula.utils.data.datapipes.datapipe import (
    _IterDataPipeSerializationWrapper,
    _MapDataPipeSerializationWrapper,
)
from facula.utils.data.datapipes.iter import IterableWrapper
from facula.utils.data.datapipes.map import SequenceWrapper


class Counted(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return 2


class OwnIterator(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        self.fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )

    def _next_data(self):
        return self.fetcher.fetch(self._next_index())


class OwnLoader(DataLoader):
    def _get_iterator(self):
        return OwnIterator(self)


def test_a_derived_iterator_gives_the_batches_of_the_loader():
    def batches(loader):
        facula.manual_seed(0)
        return [batch.tolist() for batch in loader(range(7), batch_size=3, shuffle=True)]

    assert batches(OwnLoader) == batches(DataLoader)


def test_a_derived_iterator_reads_an_iterable_dataset():
    loader = OwnLoader(Counted(5), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4]]


def test_a_derived_iterator_begins_anew_when_it_is_reset():
    loader = OwnLoader(range(4), batch_size=2)
    batches = iter(loader)
    next(batches)
    batches._reset(loader)
    assert [batch.tolist() for batch in batches] == [[0, 1], [2, 3]]
    assert len(batches) == batches._num_yielded == 2


@pytest.mark.parametrize("drop_last, expected", [(False, [[0, 1], [2, 3], [4]]), (True, 2)])
def test_a_fetcher_of_an_iterable_dataset_takes_as_many_samples_as_indices(drop_last, expected):
    fetcher = _DatasetKind.create_fetcher(_DatasetKind.Iterable, Counted(5), True, list, drop_last)
    batches = []
    with pytest.raises(StopIteration):
        while True:
            batches.append(fetcher.fetch([None, None]))
    assert fetcher.ended
    assert batches == expected if not drop_last else len(batches) == expected


def test_a_fetcher_without_batches_gives_samples():
    for kind in (_DatasetKind.Map, _DatasetKind.Iterable):
        dataset = range(3) if kind == _DatasetKind.Map else Counted(3)
        assert _DatasetKind.create_fetcher(kind, dataset, False, str, False).fetch(0) == "0"


def test_an_iterable_dataset_longer_than_it_says_is_told_of_once():
    loader = OwnLoader(Counted(4), batch_size=None)
    assert len(loader) == 2
    batches = iter(loader)
    next(batches), next(batches)
    with pytest.warns(UserWarning, match="len\\(\\) of 2"):
        next(batches)
    assert next(batches) == 3


def test_pipes_are_handed_to_workers_as_they_are():
    pipe = _IterDataPipeSerializationWrapper(IterableWrapper(range(3)))
    assert (list(pipe), len(pipe)) == ([0, 1, 2], 3)
    indexed = _MapDataPipeSerializationWrapper(SequenceWrapper([5, 6]))
    assert (indexed[1], len(indexed)) == (6, 2)


def test_more_workers_than_cores_are_told_of_when_it_is_asked():
    loader = DataLoader(range(3), num_workers=len(os.sched_getaffinity(0)) + 1)
    with pytest.warns(UserWarning, match="worker processes in total"):
        loader.check_worker_number_rationality()


@pytest.mark.parametrize(
    "program, message",
    [
        ("import sys; sys.exit(3)", "exited unexpectedly with exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "is killed by signal: Killed"),
    ],
)
def test_a_worker_that_dies_is_told_of(program, message):
    signals = _utils.signal_handling
    worker = subprocess.Popen([sys.executable, "-c", program])
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    signals._set_worker_pids(7, (worker.pid,))
    try:
        with pytest.raises(RuntimeError, match=message):
            signals._error_if_any_worker_fails()
        signals._error_if_any_worker_fails()  # told once
        with pytest.raises(ValueError, match="set already"):
            signals._set_worker_pids(7, ())
    finally:
        signals._remove_worker_pids(7)
        worker.wait()
    with pytest.raises(ValueError, match="no workers"):
        signals._remove_worker_pids(7)


def test_the_death_of_a_worker_interrupts_the_main_thread(monkeypatch):
    signals = _utils.signal_handling
    before = signal.getsignal(signal.SIGCHLD)
    monkeypatch.setattr(signals, "_SIGCHLD_handler_set", False)
    signals._set_SIGCHLD_handler()
    worker = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    signals._set_worker_pids(8, (worker.pid,))
    try:
        with pytest.raises(RuntimeError, match="killed by signal: Terminated"):
            worker.terminate()
            while True:
                signal.pause()
    finally:
        signals._remove_worker_pids(8)
        signal.signal(signal.SIGCHLD, before)
        worker.communicate()


def test_a_watchdog_sees_that_the_parent_is_another(monkeypatch):
    watchdog = _utils.worker.ManagerWatchdog()
    assert watchdog.is_alive()
    other = os.getppid() + 1
    monkeypatch.setattr(os, "getppid", lambda: other)
    assert not watchdog.is_alive()


def test_batches_are_pinned_between_two_queues_until_the_event():
    class Batch:
        def pin_memory(self):
            return "pinned"

    class Broken:
        def pin_memory(self):
            raise KeyError("no")

    come, go, done = queue.Queue(), queue.Queue(), threading.Event()
    thread = threading.Thread(
        target=_utils.pin_memory._pin_memory_loop, args=(come, go, 0, done, None)
    )
    thread.start()
    come.put((0, Batch()))
    come.put((1, Broken()))
    assert go.get() == (0, "pinned")
    with pytest.raises(KeyError, match="pin memory thread"):
        go.get()[1].reraise()
    done.set()
    thread.join()

"""Workers that raise, die, hang or are left behind. Everything has an end, within seconds."""

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
from data_tools import ROOT, run_script

import facula
from facula.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset
from facula.utils.data._utils import process_pool
from facula.utils.data._utils.fetch import Recipe
from facula.utils.data._utils.thread_pool import ThreadPool
from facula.utils.data._utils.worker import WorkerInfo

pytestmark = pytest.mark.promise("D2")

BOTH_TYPES = pytest.mark.parametrize("worker_type", ["process", "thread"])


class Failing(Dataset):
    """Does something bad at one index."""

    def __init__(self, act, at=5):
        self.act = act
        self.at = at

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == self.at:
            self.act()
        return i


class Odd(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


def raise_error(error):
    def act():
        raise error

    return act


@BOTH_TYPES
def test_an_exception_arrives_with_its_traceback_worker_and_sample(worker_type):
    data = Failing(raise_error(ValueError("a broken file")))
    loader = DataLoader(data, 2, num_workers=2, worker_type=worker_type)
    with pytest.raises(ValueError) as caught:
        list(loader)
    text = str(caught.value)
    kind = f"worker {worker_type} 0"
    assert f"Caught ValueError in DataLoader {kind}, sample 5 of batch 2." in text
    assert "Original Traceback" in text
    assert "in act" in text
    assert "ValueError: a broken file" in text


def test_in_the_caller_the_exception_is_the_original_with_the_sample_as_a_note():
    error = ValueError("a broken file")
    with pytest.raises(ValueError) as caught:
        list(DataLoader(Failing(raise_error(error)), 2))
    assert caught.value is error
    if sys.version_info >= (3, 11):
        assert error.__notes__ == ["DataLoader: while fetching sample 5 of batch 2."]


@pytest.mark.parametrize(
    "error, kind",
    [
        (KeyError("no such name"), KeyError),
        (FileNotFoundError(2, "No such file", "a.jpg"), FileNotFoundError),
        (Odd(1, 2), RuntimeError),  # cannot be made of one text
        (UnicodeDecodeError("utf8", b"x", 0, 1, "bad"), RuntimeError),
        (StopIteration("enough"), RuntimeError),
    ],
)
def test_types_of_exceptions_survive_where_they_can(error, kind):
    with pytest.raises(kind, match=f"{type(error).__name__}"):
        list(DataLoader(Failing(raise_error(error)), 2, num_workers=1))


def test_a_class_that_the_caller_cannot_name_arrives_as_a_runtime_error():
    class Local(Exception):
        pass

    with pytest.raises(RuntimeError, match="Caught Local in DataLoader worker process 0"):
        list(DataLoader(Failing(raise_error(Local("x"))), 2, num_workers=1))


@BOTH_TYPES
def test_the_batches_after_an_exception_still_come(worker_type):
    loader = DataLoader(
        Failing(raise_error(ValueError("x"))), 4, num_workers=2, worker_type=worker_type
    )
    iterator = iter(loader)
    assert next(iterator).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError):
        next(iterator)
    assert next(iterator).tolist() == [8, 9, 10, 11]


@BOTH_TYPES
def test_exceptions_of_the_set_up_are_reported(worker_type):
    def init(worker):
        raise OSError(f"no licence for {worker}")

    loader = DataLoader(range(4), num_workers=1, worker_init_fn=init, worker_type=worker_type)
    with pytest.raises(OSError, match=r"(?s)in worker_init_fn.*no licence for 0"):
        list(loader)


@BOTH_TYPES
@pytest.mark.parametrize("num_workers", [0, 2])
def test_exceptions_of_iterables_are_reported(worker_type, num_workers):
    class Broken(IterableDataset):
        def __iter__(self):
            yield 1
            raise ValueError("the stream broke")

    loader = DataLoader(Broken(), 1, num_workers=num_workers, worker_type=worker_type)
    with pytest.raises(ValueError, match="the stream broke"):
        list(loader)


def test_what_cannot_be_pickled_is_reported():
    loader = DataLoader([1], collate_fn=lambda samples: lambda: samples, num_workers=1)
    with pytest.raises((AttributeError, TypeError, RuntimeError), match=r"(?i)pickle"):
        list(loader)


def test_results_that_need_gradients_do_not_cross_processes():
    data = [facula.ones(2, requires_grad=True)]
    with pytest.raises(RuntimeError, match=r"Call detach\(\) on it in the dataset"):
        list(DataLoader(data, 1, num_workers=1))
    (leaf,) = DataLoader(data, None, num_workers=1)
    assert leaf.requires_grad


@pytest.mark.parametrize("name", ["SIGKILL", "SIGUSR1", "SIGTERM"])
def test_a_worker_killed_by_a_signal_is_reported_at_once(name):
    number = getattr(signal, name)
    loader = DataLoader(Failing(lambda: os.kill(os.getpid(), number)), 3, num_workers=2)
    start = time.monotonic()
    message = rf"worker 1 \(pid \d+\) was killed by {name} while it fetched batch 1, sample 5\."
    with pytest.raises(RuntimeError, match=message) as caught:
        list(loader)
    assert time.monotonic() - start < 5  # a second, on a machine that is not busy
    assert ("memory runs out" in str(caught.value)) == (name == "SIGKILL")


def test_after_the_death_of_a_worker_there_is_nothing_more():
    loader = DataLoader(Failing(lambda: os._exit(3)), 2, num_workers=2)
    iterator = iter(loader)
    with pytest.raises(RuntimeError, match=r"exited with code 3"):
        for _ in range(6):
            next(iterator)
    assert list(iterator) == []
    assert loader.state_dict()["is_inside"]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_batch_that_failed_counts_as_taken(num_workers):
    data = Failing(raise_error(ValueError("x")))
    loader = DataLoader(data, 4, num_workers=num_workers)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(ValueError):
        next(iterator)
    other = DataLoader(data, 4)
    other.load_state_dict(loader.state_dict())
    assert [batch.tolist() for batch in other] == [[8, 9, 10, 11]]


def test_a_loader_ends_at_once_while_another_goes_on(monkeypatch):
    monkeypatch.setattr(process_pool.ProcessPool.close, "__defaults__", (60.0,))
    data = list(range(100))
    first = iter(DataLoader(data, 4, num_workers=2))
    second = iter(DataLoader(data, 4, num_workers=2))  # whose workers know the sockets of the first
    next(first), next(second)
    start = time.monotonic()
    del first
    assert time.monotonic() - start < 30
    assert len(list(second)) == 24


def test_a_worker_that_exits_is_reported():
    with pytest.raises(RuntimeError, match=r"worker 0 .* exited with code 3 while it fetched"):
        list(DataLoader(Failing(lambda: os._exit(3)), 2, num_workers=1))


def test_a_worker_that_dies_while_it_starts_is_reported():
    loader = DataLoader(range(4), num_workers=1, worker_init_fn=lambda worker: os._exit(3))
    with pytest.raises(RuntimeError, match=r"worker 0 .* exited with code 3 while it started\."):
        list(loader)


def test_a_worker_whose_child_keeps_its_socket_open_is_reported():
    def act():
        if os.fork() == 0:
            time.sleep(8)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RuntimeError, match="was killed by SIGKILL"):
        list(DataLoader(Failing(act), 2, num_workers=1))


@BOTH_TYPES
def test_a_worker_that_takes_too_long_is_given_up(worker_type):
    data = TensorDataset(facula.arange(4))  # the first batch of threads is the caller's
    slow = Failing(lambda: time.sleep(9), at=1)
    loader = DataLoader(slow, 1, num_workers=1, timeout=1.5, worker_type=worker_type)
    start = time.monotonic()
    message = r"timed out after 1.5 seconds: worker 0 has not yet fetched batch 1"
    with pytest.raises(RuntimeError, match=message):
        list(loader)
    assert time.monotonic() - start < 8
    assert len(list(DataLoader(data, 2, num_workers=1, timeout=60))) == 2


def test_ctrl_c_ends_everything_with_one_traceback(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import os, time\n"
        "from facula.utils.data import DataLoader, Dataset\n"
        "class Slow(Dataset):\n"
        "    def __len__(self): return 100\n"
        "    def __getitem__(self, i):\n"
        "        if i > 8: time.sleep(30)\n"
        "        return os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    for batch in DataLoader(Slow(), 4, num_workers=2):\n"
        "        print(*set(batch.tolist()), flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        # Tests that a shell runs in the background ignore interrupts; this program must not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    pids = [int(process.stdout.readline()) for _ in range(2)]
    time.sleep(0.2)
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - start < 5  # a second, on a machine that is not busy
    assert err.count("Traceback") == 1, err
    assert err.strip().endswith("KeyboardInterrupt")
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_workers_end_with_a_caller_that_is_killed(tmp_path):
    code, out, _ = run_script(
        """
        import os, signal
        from facula.utils.data import DataLoader, Dataset

        class Pids(Dataset):
            def __len__(self):
                return 1000
            def __getitem__(self, i):
                return os.getpid()

        if __name__ == "__main__":
            iterator = iter(DataLoader(Pids(), 4, num_workers=3))
            print(*{next(iterator)[0].item() for _ in range(3)}, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path,
    )
    pids = [int(pid) for pid in out.split()]
    assert code == -signal.SIGKILL
    assert len(pids) == 3
    end = time.monotonic() + 20
    while any(is_running(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in pids)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_thousand_abandoned_iterators_leave_nothing(tmp_path):
    code, out, err = run_script(
        """
        import gc, os, threading, time
        import facula
        from facula.utils.data import DataLoader, TensorDataset

        def left():
            children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
            maps = open("/proc/self/maps").read().count("facula-loader")
            return len(children), len(os.listdir("/proc/self/fd")), maps

        if __name__ == "__main__":
            data = TensorDataset(facula.rand(64, 4))
            before = left()
            for i in range(1000):
                kind = ("process", "thread")[i % 2]
                kwargs = {"worker_type": kind, "persistent_workers": i % 5 == 0}
                iterator = iter(DataLoader(data, 4, num_workers=1 + i % 3, **kwargs))
                for _ in range(i % 3):
                    next(iterator)
                del iterator
            end = time.monotonic() + 20
            while threading.active_count() > 1 and time.monotonic() < end:
                time.sleep(0.01)
            print(left() == before, threading.active_count())
        """,
        tmp_path,
        timeout_s=150,
    )
    assert (code, out) == (0, "True 1\n"), err


@pytest.mark.parametrize("persistent", [False, True])
def test_the_workers_of_a_caught_exception_do_not_wait_for_the_garbage_collector(persistent):
    gc.collect()
    before = multiprocessing.active_children()
    gc.disable()
    try:
        loader = DataLoader(
            Failing(raise_error(ValueError("x"))), 4, num_workers=2, persistent_workers=persistent
        )
        with contextlib.suppress(ValueError):
            list(loader)
        del loader
        assert multiprocessing.active_children() == before
    finally:
        gc.enable()


def test_iterators_in_a_cycle_and_at_the_exit_are_ended(tmp_path):
    code, out, err = run_script(
        """
        import gc
        from facula.utils.data import DataLoader

        if __name__ == "__main__":
            iterator = iter(DataLoader(range(100), 4, num_workers=2))
            cycle = [iterator]
            cycle.append(cycle)
            del iterator, cycle
            gc.collect()
            persistent = DataLoader(range(100), 4, num_workers=2, persistent_workers=True)
            kept = iter(persistent), iter(DataLoader(range(100), 4, num_workers=2))
            print(next(kept[0])[0].item(), next(kept[1])[0].item())
        """,
        tmp_path,
        timeout_s=60,
    )
    assert (code, out, err) == (0, "0 0\n", "")


def test_64_descriptors_and_a_small_shm_are_enough(tmp_path):
    code, out, err = run_script(
        """
        import resource, warnings
        import facula
        from facula.utils.data import DataLoader, TensorDataset

        if __name__ == "__main__":
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
            # More than /dev/shm may have, and each batch is kept.
            data = TensorDataset(facula.arange(40).view(40, 1).expand(40, 1_000_000).contiguous())
            kept = list(DataLoader(data, 2, num_workers=4))
            print([int(batch[0][0, 0]) for batch in kept] == list(range(0, 40, 2)))
            small = TensorDataset(facula.arange(200))
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                batches = list(DataLoader(small, 2, num_workers=40))
            print([b[0][0].item() for b in batches] == list(range(0, 200, 2)))
            print([str(w.message).split(" (")[0] for w in seen])
        """,
        tmp_path,
        timeout_s=100,
    )
    assert code == 0, err
    assert out.startswith("True\nTrue\n['DataLoader: only ")
    assert "of 40 worker processes could be started" in out


def test_without_shared_memory_everything_travels_in_the_messages(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    x = facula.rand(10, 300_000)
    batches = list(DataLoader(TensorDataset(x), 2, num_workers=2))
    assert facula.equal(facula.cat([batch[0] for batch in batches]), x)
    batches[0][0].add_(1)


def test_where_no_process_can_be_started_the_caller_fetches(monkeypatch):
    def refuse(self, *args):
        raise process_pool.NoWorkers("Resource temporarily unavailable")

    monkeypatch.setattr(process_pool.ProcessPool, "_start", refuse)
    with pytest.warns(UserWarning, match="cannot be started .* so the caller fetches"):
        assert len(list(DataLoader(range(10), 2, num_workers=4))) == 5


def test_samples_of_subsets_and_of_whole_batches_are_named():
    data = Subset(Failing(raise_error(ValueError("x"))), [3, 5, 7])
    with pytest.raises(ValueError, match="in DataLoader worker process 0, sample 1 of batch 0"):
        list(DataLoader(data, 2, num_workers=1))

    class Columns(Dataset):
        def __len__(self):
            return 9

        def __getitems__(self, indices):
            raise ValueError("x")

    message = "one of 3 samples, from 4 to 8, of batch 0"
    with pytest.raises(ValueError, match=message):
        list(DataLoader(Columns(), batch_sampler=[[4, 2, 8]], num_workers=1))


def test_threads_that_compute_do_not_disturb_the_exit(tmp_path):
    code, _, err = run_script(
        """
        import facula
        from facula.utils.data import DataLoader, Dataset

        class Work(Dataset):
            def __len__(self):
                return 1000
            def __getitem__(self, i):
                return facula.rand(300, 300).matmul(facula.rand(300, 300)).sum()

        if __name__ == "__main__":
            iterator = iter(DataLoader(Work(), 4, num_workers=4, worker_type="thread"))
            print(next(iterator).shape, next(iterator).shape)
        """,
        tmp_path,
    )
    assert (code, err) == (0, "")


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_a_thread_that_wants_to_end_the_program_is_reported(kind):
    loader = DataLoader(Failing(raise_error(kind(3))), num_workers=2, worker_type="thread")
    with pytest.raises(kind, match="in DataLoader worker thread 1"):
        list(loader)


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_stop_iteration_of_collate_fn_does_not_end_the_epoch_in_silence(num_workers):
    loader = DataLoader(range(4), num_workers=num_workers, collate_fn=raise_stop)
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(loader)


def raise_stop(samples):
    raise StopIteration


def test_what_cannot_be_sent_to_a_new_process_is_named():
    loader = DataLoader(
        range(4), num_workers=1, multiprocessing_context="spawn", collate_fn=lambda samples: 1
    )
    with pytest.raises((AttributeError, pickle.PicklingError)) as caught:
        list(loader)
    text = str(caught.value)
    assert text.startswith("DataLoader: the dataset, collate_fn and worker_init_fn are pickled")
    assert "lambda" in text


def test_handlers_of_the_caller_do_not_run_in_workers(tmp_path):
    def handle(signum, frame):
        (tmp_path / "called").touch()

    before = signal.signal(signal.SIGTERM, handle)
    try:
        loader = DataLoader(Failing(lambda: os.kill(os.getpid(), signal.SIGTERM)), num_workers=1)
        with pytest.raises(RuntimeError, match="killed by SIGTERM"):
            list(loader)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not (tmp_path / "called").exists()


def in_fork(function):
    """What the function returns in a fork of this process."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, repr(function()).encode())
        except BaseException as error:
            os.write(write, repr(error).encode())
        os._exit(0)
    os.close(write)
    with open(read) as file:
        result = file.read()
    os.waitpid(pid, 0)
    return result


@BOTH_TYPES
def test_a_fork_of_the_caller_has_workers_of_its_own(worker_type):
    loader = DataLoader(range(8), num_workers=1, persistent_workers=True, worker_type=worker_type)
    iterator = iter(loader)
    next(iterator)
    assert "workers of this iterator are those of another process" in in_fork(
        lambda: next(iterator)
    )
    assert in_fork(lambda: [batch.item() for batch in loader]) == str(list(range(8)))
    assert [batch.item() for batch in iterator] == list(range(1, 8))


def test_ctrl_c_while_threads_start_is_not_followed_by_another_error(monkeypatch):
    pool = ThreadPool(
        Recipe(range(4), list, False, 1, False), [WorkerInfo(0, 1, 0, None)], None, []
    )
    monkeypatch.setattr(threading.Thread, "start", raise_interrupt)
    with pytest.raises(KeyboardInterrupt):
        pool._start()
    pool.close()


def raise_interrupt(thread):
    raise KeyboardInterrupt

import os
import pickle
import signal
import tempfile
import time

import process_cases
import pytest

import facula
from examples import hogwild
from facula import multiprocessing as mp

pytestmark = [
    pytest.mark.promise("G3"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # fork beside threads
]


def start(fn, *args, nprocs=2, **options):
    return mp.start_processes(fn, args, nprocs, start_method="fork", **options)


def test_the_function_runs_with_its_index_in_each_process():
    total = facula.zeros(3)
    assert mp.spawn(process_cases.add_rank, (total,), nprocs=3) is None
    assert total.tolist() == [1, 2, 3]


def test_without_join_the_processes_are_returned():
    total = facula.zeros(2).share_memory_()
    context = start(process_cases.add_rank, total, join=False)
    assert isinstance(context, mp.ProcessContext)
    assert context.pids() == [process.pid for process in context.processes]
    while not context.join(timeout=60):
        pass
    assert context.join() and total.tolist() == [1, 2]


def test_an_exception_is_raised_with_its_traceback_and_ends_the_others():
    context = start(process_cases.raise_in, 1, join=False)
    with pytest.raises(mp.ProcessRaisedException) as caught:
        while not context.join():
            pass
    text = str(caught.value)
    assert "Process 1 terminated with the following error" in text
    assert "ValueError: bad rank 1" in text and "in raise_in" in text
    assert (caught.value.error_index, caught.value.pid) == (1, context.pids()[1])
    assert not any(process.is_alive() for process in context.processes)


def test_exit_codes_and_signals_are_named():
    with pytest.raises(mp.ProcessExitedException, match=r"^process 0 terminated with exit code 3$"):
        start(process_cases.exit_in, 3, nprocs=1)
    with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL") as caught:
        start(process_cases.kill_in, signal.SIGKILL)
    assert caught.value.exit_code == -9 and caught.value.signal_name == "SIGKILL"
    copied = pickle.loads(pickle.dumps(caught.value))
    assert vars(copied) == vars(caught.value)


def test_a_process_that_ignores_the_end_is_killed():
    ready = mp.get_context("fork").Event()
    context = start(process_cases.ignore_terminate, ready, join=False)
    with pytest.raises(mp.ProcessRaisedException, match="first"):
        while not context.join(grace_period=0.2):
            pass
    assert context.processes[1].exitcode == -signal.SIGKILL


def test_processes_end_with_their_parent():
    pids = facula.zeros(2, dtype=facula.int64).share_memory_()
    parent = mp.get_context("fork").Process(target=process_cases.start_and_die, args=(pids,))
    parent.start()
    parent.join()
    deadline = time.monotonic() + 30
    while any(is_running(pid) for pid in pids.tolist()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"  # a zombie has ended
    except FileNotFoundError:
        return False


def test_what_cannot_be_sent_starts_nothing():
    before = mp.active_children()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        mp.spawn(process_cases.add_rank, (lambda: 0,), nprocs=2)
    assert mp.active_children() == before


def test_spawn_warns_of_another_start_method():
    with pytest.warns(FutureWarning, match="starts processes by 'spawn' always, not by 'fork'"):
        mp.spawn(os.getpid, nprocs=0, start_method="fork")


def test_the_standard_module_is_passed_on():
    import multiprocessing

    for name in multiprocessing.__all__:
        assert getattr(mp, name) == getattr(multiprocessing, name)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_hogwild_training_reaches_a_good_accuracy(method):
    assert hogwild.run(n_processes=2, n_epochs=4, batch_size=32, start_method=method) > 0.9


def test_what_cannot_be_started_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises((AttributeError, pickle.PicklingError)):
        mp.spawn(lambda index: None, nprocs=2)
    assert os.listdir(tmp_path) == []


def test_an_error_of_any_letters_is_reported():
    def fail(index):
        raise ValueError("a file named \udcff")

    with pytest.raises(mp.ProcessRaisedException, match=r"a file named \\udcff"):
        start(fail, nprocs=1)

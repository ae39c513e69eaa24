import gc
import os
import pickle
import subprocess
import sys
import time
from multiprocessing.reduction import ForkingPickler

import process_cases
import pytest

import facula
from facula import multiprocessing as mp
from facula import nn

pytestmark = [
    pytest.mark.promise("G3"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # fork beside threads
]
DTYPES = [
    facula.float32,
    facula.float64,
    facula.float16,
    facula.bfloat16,
    facula.int8,
    facula.int16,
    facula.int32,
    facula.int64,
    facula.uint8,
    facula.bool,
    facula.complex64,
    facula.complex128,
]


@pytest.fixture(params=["file_descriptor", "file_system"])
def strategy(request):
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy("file_descriptor")


class Worker:
    """A process that changes what it gets: see ``process_cases.change``."""

    def __init__(self, method):
        context = mp.get_context(method)
        self.inbox, self.outbox = context.Queue(), context.Queue()
        args = self.inbox, self.outbox
        self.process = context.Process(target=process_cases.answer, args=args, daemon=True)
        self.process.start()

    def __call__(self, value):
        self.inbox.put(value)
        return self.outbox.get(timeout=60)

    def close(self):
        self.inbox.put(None)
        self.process.join()


@pytest.fixture(params=["fork", "spawn", "forkserver"])
def worker(request):
    worker = Worker(request.param)
    yield worker
    worker.close()


def test_a_sent_tensor_is_the_same_memory_in_every_way_to_start(worker):
    x = facula.arange(6.0).reshape(2, 3)
    view, leaf = x.t()[1:], facula.ones(2, requires_grad=True)
    was = worker([x, view, leaf])
    plain = "Tensor", False, True
    assert was[0] == ([[0, 1, 2], [3, 4, 5]], "torch.float32", (2, 3), (3, 1), *plain)
    # The view came with its base and shares its memory there too: it was changed with it.
    assert was[1] == ([[2, 5], [3, 6]], "torch.float32", (2, 2), (1, 3), *plain)
    assert was[2] == ([1, 1], "torch.float32", (2,), (1,), "Tensor", True, True)
    assert x.tolist() == [[1, 3, 4], [4, 6, 7]] and x.is_shared() and view.is_shared()
    assert leaf.tolist() == [2, 2]

    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    before = {name: tensor.tolist() for name, tensor in model.state_dict().items()}
    assert {name: was[0] for name, was in worker(model).items()} == before
    assert all(t.is_shared() for t in model.state_dict().values())
    assert model[1].num_batches_tracked.item() == 1
    assert worker(nn.Parameter(facula.ones(2)))[4:] == ("Parameter", True, True)


def test_every_dtype_and_size_is_sent(strategy):
    worker = Worker("fork")
    for dtype in DTYPES:
        x = facula.tensor([0, 1], dtype=dtype)
        assert worker(x)[:2] == ([0, 1], str(dtype))
        assert x.tolist() == [1, 0 if dtype == facula.bool else 2]
    for x in (facula.empty(0), facula.empty(2, 0, 3), facula.tensor(3.0)):
        was = x.tolist()
        assert worker(x)[0] == was and worker(x)[2] == tuple(x.shape)
    storage = facula.tensor([2.0, 3.0]).storage()
    assert worker(storage) == [2, 3] and storage.tolist() == [1, 1]
    untyped = facula.tensor([2, 3], dtype=facula.uint8).untyped_storage()
    assert worker(untyped) == [2, 3] and untyped.tolist() == [1, 1]
    worker.close()


def test_a_tensor_that_comes_back_is_the_same_memory(strategy):
    context = mp.get_context("fork")
    inbox, outbox = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=process_cases.echo, args=(inbox, outbox))
    process.start()
    x = facula.zeros(3)
    inbox.put(x)
    back = outbox.get()
    assert back.data_ptr() == x.data_ptr()
    back += 1
    assert x.tolist() == [1, 1, 1]
    inbox.put(None)
    process.join()


def test_views_in_messages_of_their_own_share_memory():
    x = facula.zeros(4)
    read, write = mp.Pipe(duplex=False)
    write.send(x[:2])
    write.send(x[2:])
    write.send(x[:1].expand(3))
    low, high, expanded = read.recv(), read.recv(), read.recv()
    assert expanded.stride() == (0,) and expanded.data_ptr() == x.data_ptr()
    assert low.untyped_storage() is high.untyped_storage()
    low += 1
    assert x.tolist() == [1, 1, 0, 0]


def test_pools_and_managers_carry_tensors():
    context = mp.get_context("fork")
    with context.Pool(2) as pool:
        inputs = [facula.full((3,), float(i)) for i in range(4)]
        results = pool.map(process_cases.double, inputs)
        assert [r.tolist() for r in results] == [[2 * i] * 3 for i in range(4)]
        x = facula.zeros(2)
        assert pool.apply(process_cases.touch, (x,)).tolist() == x.tolist() == [7, 7]
    with context.Manager() as manager:
        x = facula.zeros(2)
        shared = manager.dict(x=x)
        shared["x"].add_(1)
        shared["x"].add_(1)
        assert x.tolist() == [2, 2]


def test_a_result_of_operations_is_refused():
    x = facula.ones(2, requires_grad=True) * 2
    message = r"multiprocessing: expected a leaf .*\(MulBackward0\).*Send tensor\.detach\(\)\."
    with pytest.raises(RuntimeError, match=message):
        ForkingPickler.dumps(x)
    assert pickle.loads(ForkingPickler.dumps(x.detach())).tolist() == [2, 2]


def test_a_tensor_whose_sender_has_died_is_an_error_that_says_so():
    context = mp.get_context("fork")
    read, write = context.Pipe()
    process = context.Process(target=process_cases.send_and_die, args=(write,))
    process.start()
    process.join()
    message = "a tensor was received whose sender has ended"
    with pytest.raises((ConnectionRefusedError, FileNotFoundError), match=message):
        read.recv()


def test_what_was_fetched_cannot_be_fetched_again(capfd):
    data = bytes(ForkingPickler.dumps(facula.ones(2)))
    assert pickle.loads(data).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="has been fetched before"):
        pickle.loads(data)


def count_shared():
    """The pieces of shared memory that this process has: of this test and of others."""
    gc.collect()
    with open("/proc/self/maps") as maps:
        return sum("memfd:facula" in line or "/SYSV" in line for line in maps)


def wait_for(n_expected):
    """A thread gives memory free that was sent."""
    deadline = time.monotonic() + 30
    while (n_found := count_shared()) != n_expected:
        assert time.monotonic() < deadline, n_found
        time.sleep(0.01)


def test_memory_and_descriptors_end_with_their_last_user(strategy):
    before = count_shared()
    read, write = mp.Pipe(duplex=False)
    write.send(facula.ones(3))  # starts the thread that hands descriptors out
    read.recv()
    wait_for(before)
    n_descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        x = facula.ones(1000)
        write.send(x)
        y = read.recv()
        wait_for(before + 1)
    del x, y
    wait_for(before)
    assert len(os.listdir("/proc/self/fd")) == n_descriptors


def run_with(limits, code):
    command = ["bash", "-c", f'{limits}; exec "$0" -c "$1"', sys.executable, code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_hundreds_of_tensors_fit_in_64_descriptors(method):
    code = f"""
import sys
sys.path.insert(0, {os.path.dirname(process_cases.__file__)!r})
import process_cases, facula
from facula import multiprocessing as mp
if __name__ == "__main__":
    context = mp.get_context({method!r})
    ours, theirs = context.Pipe()
    process = context.Process(target=process_cases.keep_many, args=(theirs, 400))
    process.start()
    kept = [facula.full((10,), float(i)) for i in range(400)]
    for tensor in kept:
        ours.send(tensor)
    print(ours.recv(), sum(float(tensor.sum()) for tensor in kept))
    ours.send(None)
    process.join()
"""
    expected = str(float(sum(10 * (i + 1) for i in range(400))))
    assert run_with("ulimit -n 64", code) == [expected, expected]


def test_a_large_model_is_shared_with_64_descriptors():
    code = """
import facula
from facula import nn
model = nn.Sequential(*[nn.Linear(3, 3) for _ in range(100)]).share_memory()
print(all(p.is_shared() for p in model.parameters()))
"""
    assert run_with("ulimit -n 64", code) == ["True"]


def test_a_small_dev_shm_is_no_limit():
    code = """
import facula
from facula import multiprocessing as mp
read, write = mp.Pipe(duplex=False)
for strategy in ("file_descriptor", "file_system"):
    mp.set_sharing_strategy(strategy)
    x = facula.ones(4_000_000)
    write.send(x)
    read.recv().add_(1)
    print(x.sum().item() == 8_000_000)
"""
    mount = "mount -t tmpfs -o size=1m tmpfs /dev/shm"
    command = ["unshare", "-rm", "bash", "-c", f'{mount} && exec "$0" -c "$1"']
    is_allowed = subprocess.run([*command[:4], mount], capture_output=True, timeout=60)
    if is_allowed.returncode != 0:
        pytest.skip("no namespace of mounts for this user")
    done = subprocess.run(
        [*command, sys.executable, code], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.split() == ["True", "True"], done.stderr

import threading

import numpy as np
import pytest

import facula
from facula import multiprocessing as mp
from facula import nn

pytestmark = pytest.mark.promise("G3")


def test_sharing_moves_a_tensor_in_place_with_its_views():
    x = facula.arange(4.0)
    view, storage = x[1:], x.untyped_storage()
    assert not x.is_shared() and not storage.is_shared()
    assert view.share_memory_() is view
    assert x.is_shared() and storage.is_shared() and x.storage().is_shared()
    assert x.untyped_storage() is storage
    view += 1
    assert x.tolist() == [0, 2, 3, 4]
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address
    assert x.clone().is_shared() is False


def test_storages_and_modules_share():
    storage = facula.ones(3).storage()
    assert storage.share_memory_() is storage and storage.is_shared()
    untyped = facula.UntypedStorage(4)
    assert untyped.share_memory_() is untyped and untyped.is_shared()
    assert facula.empty(0).share_memory_().is_shared()
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    params = list(model.parameters())
    assert model.share_memory() is model
    assert all(a is b for a, b in zip(model.parameters(), params, strict=True))
    assert all(tensor.is_shared() for tensor in model.state_dict().values())
    model(facula.ones(4, 2)).sum().backward()
    assert model[0].weight.grad is not None


def test_batches_are_collated_into_new_shared_memory():
    samples = [facula.full((3,), float(i)) for i in range(4)]
    storage = samples[0].storage()._new_shared(12)
    batch = facula.stack(samples, 0, out=samples[0].new(storage).resize_(4, 3))
    assert batch.is_shared() and batch.data_ptr() == storage.data_ptr()
    assert batch[:, 0].tolist() == [0, 1, 2, 3]
    assert facula.UntypedStorage._new_shared(8).is_shared()
    assert facula.FloatStorage._new_shared(8).nbytes() == 32


def test_gradients_are_shared_with_their_parameters():
    model = nn.Linear(2, 2)
    model(facula.ones(1, 2)).sum().backward()
    model.share_memory()
    assert model.weight.grad.is_shared()


def test_a_tensor_over_a_numpy_array_leaves_it():
    array = np.ones(3)
    x = facula.from_numpy(array).share_memory_()
    x += 1
    assert x.tolist() == [2, 2, 2] and array.tolist() == [1, 1, 1]


def test_a_kernel_at_work_keeps_the_memory_that_it_has():
    for _ in range(5):
        x = facula.full((2_000_000,), 2.5)
        is_started = threading.Event()

        def compute(x=x, is_started=is_started):
            is_started.set()
            for _ in range(3):
                x.lgamma_()

        thread = threading.Thread(target=compute)
        thread.start()
        is_started.wait()
        x.share_memory_()
        others = [facula.zeros(2_000_000) for _ in range(2)]  # in memory that has become free
        thread.join()
        assert not any(other.any() for other in others)


def test_an_array_over_a_tensor_keeps_the_memory_that_it_has():
    x = facula.ones(3)
    array = x.numpy()
    x.share_memory_()
    del x
    assert array.tolist() == [1, 1, 1]


def test_a_mapped_checkpoint_leaves_its_file(tmp_path):
    facula.save({"x": facula.ones(3)}, tmp_path / "x.pt")
    x = facula.load(tmp_path / "x.pt", mmap=True)["x"].share_memory_()
    x += 1
    assert facula.load(tmp_path / "x.pt")["x"].tolist() == [1, 1, 1]


def test_shared_memory_keeps_its_size():
    x = facula.ones(3).share_memory_()
    message = "the memory is shared with another library or process and cannot be resized"
    for resize in (
        lambda: x.resize_(10),
        lambda: x.untyped_storage().resize_(100),
        lambda: x.storage().resize_(100),
    ):
        with pytest.raises(RuntimeError, match=message):
            resize()
    assert x.tolist() == [1, 1, 1]


def test_strategies_are_two():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    assert mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    x = facula.arange(3).share_memory_()
    mp.set_sharing_strategy("file_descriptor")
    assert x.is_shared() and x.tolist() == [0, 1, 2]
    with pytest.raises(AssertionError, match=r"set_sharing_strategy: expected one of .* got 'x'"):
        mp.set_sharing_strategy("x")


@pytest.mark.cuda
def test_memory_of_a_gpu_is_not_sent():
    x = facula.ones(2, device="cuda")
    assert x.is_shared() and x.share_memory_() is x
    _, write = mp.Pipe()
    with pytest.raises(NotImplementedError, match=r"a tensor on cuda:0 cannot be sent"):
        write.send(x)

"""Page-locked memory, and copies that are not waited for."""

import gc

import pytest

import facula
from facula import cuda
from facula.utils.data import DataLoader, TensorDataset

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]


@pytest.mark.parametrize("dtype", [facula.float32, facula.uint8, facula.complex64], ids=str)
def test_pinned_memory_has_the_same_elements(dtype):
    x = facula.arange(12).reshape(3, 4).to(dtype).t()
    y = x.pin_memory()
    assert y.is_pinned()
    assert not x.is_pinned()
    assert y.stride() == x.stride()
    assert y.tolist() == x.tolist()
    assert y[1:].is_pinned()
    assert y.pin_memory() is y
    assert not facula.zeros(0).pin_memory().is_pinned()


def test_factories_pin():
    assert facula.empty(3, pin_memory=True).is_pinned()
    assert facula.zeros(2, 2, pin_memory=True).tolist() == [[0, 0], [0, 0]]
    assert facula.tensor([1.0, 2.0], pin_memory=True).is_pinned()
    assert facula.ones_like(facula.zeros(2), pin_memory=True).tolist() == [1, 1]
    assert facula.arange(3, pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match="only tensors of the CPU can be pinned"):
        facula.zeros(2, device="cuda", pin_memory=True)
    with pytest.raises(RuntimeError, match="only tensors of the CPU can be pinned"):
        facula.zeros(2, device="cuda").pin_memory()


def test_copies_that_are_not_waited_for_arrive():
    x = facula.arange(1 << 20).float().pin_memory()
    y = x.to("cuda", non_blocking=True)
    z = (y + 1).to("cpu", non_blocking=True)
    assert z.is_pinned()
    cuda.synchronize()
    assert (z == x + 1).all()
    into = facula.empty(1 << 20, pin_memory=True)
    into.copy_(y, non_blocking=True)
    cuda.synchronize()
    assert (into == x).all()


def test_a_copy_that_is_waited_for_has_read_its_source():
    x = facula.ones(1 << 22).pin_memory()
    y = x.to("cuda")
    x.zero_()
    assert (y == 1).all()


def test_freed_memory_is_used_again_when_its_copies_are_over():
    gc.collect()
    cuda.empty_cache()
    x = facula.ones(1 << 20).pin_memory()
    address = x.data_ptr()
    del x
    y = facula.empty(1 << 20, pin_memory=True)
    assert y.data_ptr() == address
    y.fill_(3)
    on_gpu = y.to("cuda", non_blocking=True)
    del y
    others = [facula.full((1 << 20,), 7.0, pin_memory=True) for _ in range(4)]
    assert (on_gpu == 3).all()
    assert all((z == 7).all() for z in others)


def test_pinned_memory_is_counted():
    gc.collect()
    before = cuda.host_memory_stats()["allocated_bytes.current"]
    x = facula.empty(1 << 20, pin_memory=True)
    assert cuda.host_memory_stats()["allocated_bytes.current"] == before + (4 << 20)
    del x
    assert cuda.host_memory_stats()["allocated_bytes.current"] == before
    cuda.empty_cache()
    assert cuda.host_memory_stats()["segment.current"] >= 0


@pytest.mark.parametrize("n_workers", [0, 2])
def test_loaders_pin_their_batches(n_workers):
    data = TensorDataset(facula.arange(8.0), facula.arange(8))
    loader = DataLoader(data, batch_size=4, pin_memory=True, num_workers=n_workers)
    batches = list(loader)
    assert all(part.is_pinned() for batch in batches for part in batch)
    moved = [x.to("cuda", non_blocking=True) for x, _ in batches]
    assert facula.cat(moved).tolist() == list(range(8))


def test_a_stream_that_copies_beside_the_others():
    side, x = cuda.Stream(), facula.arange(1 << 20).pin_memory()
    with cuda.stream(side):
        y = x.to("cuda", non_blocking=True)
    cuda.current_stream().wait_stream(side)
    y.record_stream(cuda.current_stream())
    assert (y * 2).sum().item() == int((x * 2).sum())
    with pytest.raises(TypeError, match=r"expected a facula.cuda.Stream"):
        y.record_stream(3)
    with pytest.raises(RuntimeError, match="expected a tensor on a CUDA device"):
        x.record_stream(side)

"""Streams, events, pools of memory and the names around them."""

import pytest

import facula
from facula import cuda

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]


def test_streams_have_priorities():
    least, greatest = cuda.Stream.priority_range()
    assert greatest <= least
    stream = cuda.Stream(priority=greatest)
    assert stream.priority == greatest
    with cuda.stream(stream):
        assert facula.ones(3, device="cuda").sum().item() == 3
    assert stream.query()
    with stream as entered, stream:
        assert entered is stream
        assert cuda.current_stream() == stream
    assert cuda.current_stream() == cuda.default_stream()


def test_streams_of_other_libraries_are_used():
    ours = cuda.Stream()
    for theirs in (
        cuda.ExternalStream(ours.cuda_stream),
        cuda.get_stream_from_external(ours.cuda_stream),
        cuda.Stream(stream_id=ours.stream_id, device_index=0, device_type=1),
    ):
        assert theirs == ours
        with cuda.stream(theirs):
            x = facula.arange(4, device="cuda")
        theirs.synchronize()
        assert x.tolist() == [0, 1, 2, 3]


def test_events_know_their_device():
    event = cuda.Event(blocking=True)
    assert event.device is None
    assert "uninitialized" in repr(event)
    event.record()
    event.synchronize()
    assert event.device == facula.device("cuda", 0)
    with pytest.raises(ValueError, match="enable_timing=True"):
        event.elapsed_time(event)


def test_memory_of_a_pool_is_its_own():
    pool = cuda.MemPool()
    with cuda.use_mem_pool(pool):
        x = facula.ones(1 << 20, device="cuda")
    (segment,) = pool.snapshot()
    assert segment["segment_pool_id"] == pool.id
    assert segment["allocated_size"] == 4 << 20
    assert segment["address"] <= x.data_ptr() < segment["address"] + segment["total_size"]
    y = facula.ones(1 << 20, device="cuda")
    inside = range(segment["address"], segment["address"] + segment["total_size"])
    assert y.data_ptr() not in inside


def test_the_snapshot_has_all_memory():
    x = facula.ones(1 << 20, device="cuda")
    segments = cuda.memory_snapshot()
    assert sum(s["total_size"] for s in segments) == cuda.memory_reserved()
    assert sum(s["allocated_size"] for s in segments) == cuda.memory_allocated()
    blocks = {b["address"]: b for s in segments for b in s["blocks"]}
    assert blocks[x.data_ptr()]["state"] == "active_allocated"
    assert blocks[x.data_ptr()]["size"] == 4 << 20


def test_blocks_for_other_libraries():
    before = cuda.memory_allocated()
    address = cuda.caching_allocator_alloc(1 << 20)
    assert cuda.memory_allocated() == before + (1 << 20)
    cuda.caching_allocator_delete(address)
    assert cuda.memory_allocated() == before
    with pytest.raises(ValueError, match="there is no block of memory"):
        cuda.caching_allocator_delete(address)


def test_tensors_have_historic_types():
    x = cuda.FloatTensor([1, 2])
    assert x.device.type == "cuda"
    assert x.type() == "torch.cuda.FloatTensor"
    assert isinstance(x, cuda.FloatTensor)
    assert not isinstance(x, facula.FloatTensor)
    assert not isinstance(x.cpu(), cuda.FloatTensor)
    assert isinstance(facula.ones(2).type(cuda.LongTensor), cuda.LongTensor)
    assert isinstance(x.type(facula.FloatTensor), facula.FloatTensor)
    assert cuda.FloatTensor(2, 3).shape == (2, 3)
    facula.set_default_tensor_type(cuda.FloatTensor)
    try:
        assert facula.zeros(2).is_cuda
    finally:
        facula.set_default_tensor_type(facula.FloatTensor)
    assert not facula.zeros(2).is_cuda


def test_the_gpu_of_a_tensor():
    with cuda.device_of(facula.ones(2, device="cuda")):
        assert cuda.current_device() == 0
    assert not cuda.can_device_access_peer(0, 0)
    (architecture,) = cuda.get_arch_list()
    assert architecture.startswith("sm_")
    assert architecture.removeprefix("sm_") in cuda.get_gencode_flags()


def test_transforms_keep_their_plans():
    plans = facula.backends.cuda.cufft_plan_cache
    plans.clear()
    facula.fft.fft(facula.ones(8, device="cuda"))
    facula.fft.fft(facula.zeros(8, device="cuda"))
    assert plans.size == 1
    facula.fft.fft(facula.ones(9, device="cuda"))
    assert plans.size == 2
    before = plans.max_size
    plans.max_size = 1
    assert plans.size == 1
    assert plans[0].max_size == 1
    plans.max_size = before

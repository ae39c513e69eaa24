import os
import subprocess
import sys

import pytest

import facula
from facula import cuda

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]


def test_memory_is_counted_and_used_again():
    before = cuda.memory_allocated()
    x = facula.empty(1 << 20, device="cuda")
    assert cuda.memory_allocated() == before + (4 << 20)
    assert cuda.memory_reserved() >= cuda.memory_allocated()
    address = x.data_ptr()
    del x
    assert cuda.memory_allocated() == before
    assert facula.empty(1 << 20, device="cuda").data_ptr() == address


def test_the_peak_is_remembered_until_reset():
    cuda.reset_peak_memory_stats()
    before = cuda.max_memory_allocated()
    x = facula.empty(1 << 22, device="cuda")
    del x
    assert cuda.max_memory_allocated() == before + (16 << 20)
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == cuda.memory_allocated()


def test_empty_cache_gives_memory_back():
    x = facula.empty(64 << 20, device="cuda")
    del x
    reserved = cuda.memory_reserved()
    cuda.empty_cache()
    assert cuda.memory_reserved() <= reserved - (256 << 20)


def test_blocks_do_not_overlap():
    tensors = [facula.full((n,), float(n), device="cuda") for n in range(1, 3000, 37)]
    del tensors[::3]
    tensors += [facula.full((n,), float(n), device="cuda") for n in range(2, 3000, 41)]
    for x in tensors:
        assert x.amin().item() == x.amax().item() == float(x.shape[0])


def test_too_much_raises_and_leaves_the_gpu_usable():
    with pytest.raises(
        RuntimeError, match=r"cuda: out of memory: tried to allocate \d+ MiB on cuda:0"
    ):
        facula.empty(1 << 45, device="cuda")
    assert facula.ones(3, device="cuda").sum().item() == 3


def test_device_properties_are_told():
    properties = cuda.get_device_properties(0)
    assert properties.name == cuda.get_device_name() != ""
    assert properties.total_memory > 1 << 30
    assert (properties.major, properties.minor) == cuda.get_device_capability("cuda:0")
    assert properties.multi_processor_count > 0
    assert cuda.current_device() == 0
    n_free, n_total = cuda.mem_get_info()
    assert 0 < n_free <= n_total


def test_devices_and_numbers_beyond_the_last_are_refused():
    with pytest.raises(RuntimeError, match="there is no device cuda:77"):
        cuda.set_device(77)
    with pytest.raises(ValueError, match="expected a cuda device, got cpu"):
        cuda.synchronize("cpu")


def test_streams_and_events_order_work():
    stream = cuda.Stream()
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    x = facula.ones(1 << 20, device="cuda")
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        assert cuda.current_stream() == stream
        start.record()
        y = x
        for _ in range(50):
            y = y + 1
        end.record()
    assert cuda.current_stream() == cuda.default_stream()
    cuda.current_stream().wait_stream(stream)
    assert y.amin().item() == 51
    end.synchronize()
    assert end.query()
    assert stream.query()
    assert start.elapsed_time(end) > 0


def test_launch_blocking_works():
    script = "import facula; print((facula.ones(3, device='cuda') + 1).tolist())"
    environment = {**os.environ, "CUDA_LAUNCH_BLOCKING": "1"}
    output = subprocess.check_output([sys.executable, "-c", script], text=True, env=environment)
    assert output.strip() == "[2.0, 2.0, 2.0]"


def test_memory_is_told_in_detail():
    cuda.reset_accumulated_memory_stats()
    cuda.reset_peak_memory_stats()
    before = cuda.memory_stats()
    x = facula.empty(1 << 20, device="cuda")
    stats = cuda.memory_stats()
    assert stats["allocation.all.current"] == before["allocation.all.current"] + 1
    assert stats["allocated_bytes.all.allocated"] == 4 << 20
    del x
    assert cuda.memory_stats()["allocated_bytes.all.freed"] >= 4 << 20
    assert cuda.max_memory_reserved() >= cuda.memory_reserved()
    assert "reserved bytes" in cuda.memory_summary()


def test_a_process_can_be_held_to_a_part_of_the_memory():
    cuda.empty_cache()
    cuda.set_per_process_memory_fraction(0.01)
    try:
        assert cuda.get_per_process_memory_fraction() == 0.01
        with pytest.raises(RuntimeError, match="out of memory"):
            facula.empty(
                cuda.get_device_properties(0).total_memory // 50, dtype=facula.uint8, device="cuda"
            )
    finally:
        cuda.set_per_process_memory_fraction(1.0)
    assert cuda.memory_stats()["num_ooms"] >= 1
    with pytest.raises(ValueError, match="from 0 to 1"):
        cuda.set_per_process_memory_fraction(2.0)


def test_a_block_waits_for_the_streams_that_use_it():
    side = cuda.Stream()
    x = facula.zeros(1 << 24, device="cuda")
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        for _ in range(200):
            x.add_(1)
    x.record_stream(side)
    address = x.data_ptr()
    del x
    y = facula.zeros(1 << 24, device="cuda")
    assert y.data_ptr() != address or side.query()
    side.synchronize()
    assert (y == 0).all()

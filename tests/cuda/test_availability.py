import os
import subprocess
import sys

import pytest

import facula

pytestmark = pytest.mark.promise("G1")
without_gpu = pytest.mark.skipif(facula.cuda.is_available(), reason="there is an NVIDIA GPU")


@without_gpu
def test_without_a_gpu_nothing_is_there_and_the_reason_is_told():
    assert not facula.cuda.is_available()
    assert facula.cuda.unavailable_reason()
    assert facula.cuda.device_count() == 0


@without_gpu
@pytest.mark.parametrize(
    "use",
    [
        lambda: facula.ones(2).to("cuda"),
        lambda: facula.ones(2, device="cuda"),
        lambda: facula.ones(2, device="cuda:1"),
        lambda: facula.tensor([1.0], device="cuda"),
        lambda: facula.cuda.current_device(),
        lambda: facula.cuda.synchronize(),
        lambda: facula.cuda.Stream(),
        lambda: facula.cuda.get_device_name(),
        lambda: facula.cuda.set_device(0),
    ],
)
def test_without_a_gpu_every_use_says_why(use):
    with pytest.raises(RuntimeError, match=r"^cuda: .*(driver|GPU)"):
        use()


@without_gpu
def test_what_logs_ask_for_needs_no_gpu():
    facula.cuda.empty_cache()
    assert facula.cuda.memory_allocated() == 0
    assert facula.cuda.max_memory_allocated() == 0
    assert facula.cuda.memory_reserved() == 0


def test_import_opens_no_cuda_library():
    script = "import facula; print(any('libcuda' in line for line in open('/proc/self/maps')))"
    output = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert output.strip() == "False"


@pytest.mark.cuda
def test_visible_devices_are_the_environments():
    script = "import facula; print(facula.cuda.device_count(), facula.cuda.unavailable_reason())"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    output = subprocess.check_output([sys.executable, "-c", script], text=True, env=environment)
    assert output.startswith("0 ")
    assert len(output) > 3


@without_gpu
def test_seeds_of_the_gpu_leave_the_cpu_alone():
    facula.manual_seed(3)
    facula.cuda.manual_seed(5)
    facula.cuda.manual_seed_all(7)
    assert facula.initial_seed() == 3


@pytest.mark.parametrize("index", [-1, 10**6, 2**31 - 1])
@pytest.mark.parametrize(
    "call",
    [
        lambda i: facula._core._cuda_reset_peak(i),
        lambda i: facula._core._cuda_memory_stats(i),
        lambda i: facula._core._cuda_memory_snapshot(i),
        lambda i: facula._core._cuda_set_memory_fraction(i, 0.5),
        lambda i: facula._core._cuda_alloc(i, 8, 0),
        lambda i: facula._core._cuda_begin_pool(i, 0, 0),
        lambda i: facula._core._cuda_current_stream(i),
        lambda i: facula._core._cuda_set_stream(i, 0),
        lambda i: facula._core._cuda_is_capturing(i),
    ],
)
def test_a_device_that_does_not_exist_is_refused(call, index):
    with pytest.raises(RuntimeError, match=rf"cuda: there is no device {index} \(invalid device"):
        call(index)


def test_a_capture_that_cannot_begin_leaves_the_stream_as_it_was(monkeypatch):
    from facula.cuda import graphs

    streams = ["default"]

    class Switch:
        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            streams.append(self.stream)

        def __exit__(self, *error):
            streams.pop()

    class Busy:
        def capture_begin(self, pool):
            assert streams == ["default", "own"]
            raise RuntimeError("another graph is being captured")

    monkeypatch.setattr(graphs, "stream", Switch)
    monkeypatch.setattr(graphs, "synchronize", lambda: None)
    monkeypatch.setattr(graphs._core, "_cuda_empty_cache", lambda: None)
    with pytest.raises(RuntimeError, match="another graph"), graphs.graph(Busy(), stream="own"):
        pass
    assert streams == ["default"]

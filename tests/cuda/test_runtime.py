"""CUDA's own libraries, by the names that programs call them by."""

import pytest

import facula

pytestmark = pytest.mark.promise("G1")
without_gpu = pytest.mark.skipif(facula.cuda.is_available(), reason="there is an NVIDIA GPU")


@without_gpu
@pytest.mark.parametrize(
    "use",
    [
        lambda: facula.cuda.cudart(),
        lambda: facula.cuda.get_sync_debug_mode(),
        lambda: facula.cuda.set_sync_debug_mode("default"),
        lambda: facula.cuda.set_sync_debug_mode(0),
    ],
)
def test_without_a_gpu_there_is_no_runtime(use):
    with pytest.raises(RuntimeError, match=r"^cuda: .*(driver|GPU)"):
        use()


@pytest.mark.cuda
def test_the_runtime_has_what_programs_call():
    runtime = facula.cuda.cudart()
    assert (runtime.cudaProfilerStart(), runtime.cudaProfilerStop()) == (0, 0)
    assert runtime.cudaMemGetInfo(0)[1] == facula.cuda.mem_get_info(0)[1]
    facula.cuda.set_sync_debug_mode("default")
    assert facula.cuda.get_sync_debug_mode() == 0


@pytest.mark.parametrize("mode", ["warn", "error", 1, 2])
def test_modes_that_watch_what_waits_are_refused(mode):
    with pytest.raises(RuntimeError, match=f"the mode {mode!r} is not part of Facula"):
        facula.cuda.set_sync_debug_mode(mode)


@pytest.mark.parametrize("mode", ["wran", 3, -1])
def test_other_modes_are_no_modes(mode):
    with pytest.raises(RuntimeError, match=f"'error', or its number, got {mode!r}: invalid value"):
        facula.cuda.set_sync_debug_mode(mode)


def test_there_is_one_allocator():
    facula.cuda.caching_allocator_enable()
    with pytest.raises(RuntimeError, match="expected True: all memory comes from one allocator"):
        facula.cuda.caching_allocator_enable(False)
    for name in (
        "CUDAPluggableAllocator",
        "caching_allocator_disabled",
        "change_current_allocator",
    ):
        with pytest.raises(RuntimeError, match=f"torch.cuda.{name} is not part of Facula: all"):
            getattr(facula.cuda, name)()


@pytest.mark.parametrize("name", ["GreenContext", "current_blas_handle", "current_solver_handle"])
def test_handles_of_libraries_are_refused(name):
    with pytest.raises(RuntimeError, match=f"torch.cuda.{name} is not part of Facula"):
        getattr(facula.cuda, name)()

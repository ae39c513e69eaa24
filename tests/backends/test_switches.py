"""Libraries and devices that are not used: they can be named, switched and asked for."""

import importlib

import pytest

import facula
from facula import backends


@pytest.mark.promise("U2")
@pytest.mark.parametrize("name", ["xpu", "mps", "mtia"])
def test_devices_that_are_not_there_say_so(name):
    module = importlib.import_module(f"facula.{name}")
    assert module is getattr(facula, name)
    assert not module.is_available() and module.device_count() == 0
    module.manual_seed(1)
    with pytest.raises(RuntimeError, match=rf"torch\.{name}\.synchronize.*no device '{name}'"):
        module.synchronize()


def test_questions_to_intels_gpus():
    assert not facula.xpu.is_current_stream_capturing()
    assert facula.xpu.memory_allocated() == 0 and facula.xpu.memory_stats() == {}
    facula.xpu.empty_cache()
    with facula.xpu.device(None), facula.xpu.stream(None):
        pass
    with pytest.raises(RuntimeError, match="no device"), facula.xpu.device(0):
        pass


@pytest.mark.parametrize("name", ["mkl", "mkldnn", "openmp", "kleidiai", "cusparselt", "nnpack"])
def test_libraries_that_are_not_used(name):
    assert not getattr(backends, name).is_available()


@pytest.mark.promise("U2")
def test_switches_are_kept():
    backends.mkldnn.enabled = False
    with backends.mkldnn.flags(enabled=True):
        assert backends.mkldnn.enabled
    assert not backends.mkldnn.enabled
    with backends.nnpack.flags(True), backends.miopen.flags(True), backends.mkl.verbose(0):
        assert backends.miopen.immediate
    with backends.opt_einsum.flags(strategy="greedy"):
        assert backends.opt_einsum.strategy == "greedy"
    assert backends.opt_einsum.is_available() and backends.opt_einsum.strategy == "auto"
    assert not backends.xnnpack.enabled
    assert not backends.mps.is_macos_or_newer(13, 0)


def test_there_is_no_engine_for_quantized_tensors():
    assert backends.quantized.engine == "none"
    backends.quantized.engine = "none"
    with pytest.raises(RuntimeError, match="no quantized tensors"):
        backends.quantized.engine = "fbgemm"


def test_switches_of_cudnn_hold_in_a_block():
    before = backends.cudnn.benchmark, backends.cudnn.deterministic
    with backends.cudnn.flags(enabled=True, benchmark=True, deterministic=True):
        assert backends.cudnn.benchmark and backends.cudnn.deterministic
    assert (backends.cudnn.benchmark, backends.cudnn.deterministic) == before
    assert not backends.cudnn.is_acceptable(facula.ones(1))


def test_switches_of_attention_and_libraries():
    with backends.cuda.sdp_kernel(enable_math=False):
        assert not backends.cuda.math_sdp_enabled()
    assert backends.cuda.math_sdp_enabled()
    backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    assert backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    assert backends.cuda.preferred_linalg_library("magma") == "magma"
    assert backends.cuda.preferred_linalg_library("default") == "default"
    with pytest.raises(RuntimeError, match="expected one of"):
        backends.cuda.preferred_blas_library("mkl")
    backends.cuda.cufft_plan_cache[0].clear()
    x = facula.ones(1, 1, 2, 2)
    params = backends.cuda.SDPAParams(x, x, x, None, 0.0, False, False)
    assert not backends.cuda.can_use_flash_attention(params)


def test_the_accelerator_answers_without_one():
    accelerator = facula.accelerator
    if accelerator.is_available():
        pytest.skip("there is an accelerator")
    assert accelerator.current_accelerator() is None and accelerator.device_count() == 0
    with accelerator.device_index(None):
        pass
    names = [
        "memory_allocated",
        "max_memory_allocated",
        "memory_reserved",
        "max_memory_reserved",
        "memory_stats",
        "empty_cache",
        "reset_peak_memory_stats",
        "reset_accumulated_memory_stats",
        "get_memory_info",
        "synchronize",
        "current_device_index",
        "current_stream",
        "get_device_capability",
    ]
    calls = [(name, getattr(accelerator, name)) for name in names]
    calls.append(("set_device_index", lambda: accelerator.set_device_index(0)))
    calls.append(("device_index", lambda: accelerator.device_index(0).__enter__()))
    for name, call in calls:
        with pytest.raises(RuntimeError, match=rf"accelerator\.{name}: Cannot access accelerator"):
            call()


def test_switches_can_be_set_in_the_block_that_pytorch_has_for_it():
    before = backends.cudnn.deterministic
    with getattr(backends, "__allow_nonbracketed_mutation")():
        backends.cudnn.deterministic = True
    assert backends.cudnn.deterministic
    backends.cudnn.deterministic = before

"""What every CUDA test compares: the GPU's result with the CPU's."""

import facula
from check_op import assert_close, to_numpy


def assert_agrees(function, *tensors):
    """``function`` gives on the GPU what it gives on the CPU: device, dtype, shape and values."""
    expected = function(*tensors)
    actual = function(*(tensor.to("cuda") for tensor in tensors))
    if isinstance(expected, facula.Tensor):
        expected, actual = [expected], [actual]
    for e, a in zip(expected, actual, strict=True):
        assert a.device.type == "cuda"
        assert a.dtype == e.dtype
        assert_close(a, to_numpy(e), str(e.dtype))

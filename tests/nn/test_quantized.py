"""Models that may be quantized one day run as they are; what would quantize them is refused."""

from importlib import import_module

import pytest

import facula
from facula import nn, quantization
from facula.ao.quantization import DeQuantStub, QuantStub, QuantWrapper


def test_stubs_pass_tensors_on():
    x = facula.ones(2, 3)
    assert QuantStub()(x) is x and DeQuantStub()(x) is x
    layer = nn.Linear(3, 2)
    facula.testing.assert_close(QuantWrapper(layer)(x), layer(x))
    assert [name for name, _ in QuantWrapper(layer).named_children()] == [
        "quant",
        "dequant",
        "module",
    ]


def test_operations_as_modules_take_floats():
    f = nn.quantized.FloatFunctional()
    x, y = facula.tensor([1.0, -3.0]), facula.tensor([2.0, 1.0])
    assert f.add(x, y).tolist() == [3, -2] and f.add_relu(x, y).tolist() == [3, 0]
    assert f.mul(x, y).tolist() == [2, -3] and f.add_scalar(x, 1).tolist() == [2, -2]
    assert f.mul_scalar(x, 2).tolist() == [2, -6] and f.cat([x, y]).tolist() == [1, -3, 2, 1]
    assert f.matmul(x, y).item() == -1
    with pytest.raises(RuntimeError, match="not intended to use the 'forward'"):
        f(x)


@pytest.mark.parametrize("name", ["fake_quantize", "observer", "qconfig", "quantize", "stubs"])
def test_modules_of_quantization_have_both_names(name):
    old, new = (import_module(f"facula.{p}quantization.{name}") for p in ("", "ao."))
    assert old.__all__ == new.__all__
    assert all(getattr(old, n) is getattr(quantization, n) for n in old.__all__)


@pytest.mark.parametrize(
    "make", [quantization.HistogramObserver, nn.quantized.BatchNorm2d, quantization.quantize]
)
def test_what_would_quantize_is_refused(make):
    with pytest.raises(RuntimeError, match="there are no quantized tensors"):
        make(3)

"""Quantized tensors and what makes them, which are not part of the package.

Classes can be named and asked for with isinstance; a call says what to do instead.
"""

from __future__ import annotations

from facula._refusing import refusing, refusing_class
from facula.nn.modules.module import Module

__all__ = [
    "DeQuantStub",
    "FakeQuantize",
    "FakeQuantizeBase",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "ObserverBase",
    "QConfig",
    "QuantStub",
    "QuantWrapper",
    "convert",
    "default_dynamic_qconfig",
    "default_qconfig",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
    "fuse_modules",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "prepare",
    "prepare_qat",
    "quantize",
    "quantize_dynamic",
]

_SENTENCE = (
    "there are no quantized tensors. Use bfloat16 (model.bfloat16(), torch.autocast), or export to "
    "ONNX and quantize there."
)


def _class(name: str, *bases: type) -> type:
    made: type = refusing_class(f"torch.ao.quantization.{name}", _SENTENCE, *bases)
    return made


ObserverBase = _class("ObserverBase", Module)
MinMaxObserver = _class("MinMaxObserver", ObserverBase)
MovingAverageMinMaxObserver = _class("MovingAverageMinMaxObserver", ObserverBase)
FakeQuantizeBase = _class("FakeQuantizeBase", Module)
FakeQuantize = _class("FakeQuantize", FakeQuantizeBase)
QConfig = _class("QConfig")
QuantStub = _class("QuantStub", Module)
DeQuantStub = _class("DeQuantStub", Module)
QuantWrapper = _class("QuantWrapper", Module)
default_qconfig = default_dynamic_qconfig = None

convert = refusing("torch.ao.quantization.convert", _SENTENCE)
disable_fake_quant = refusing("torch.ao.quantization.disable_fake_quant", _SENTENCE)
disable_observer = refusing("torch.ao.quantization.disable_observer", _SENTENCE)
enable_fake_quant = refusing("torch.ao.quantization.enable_fake_quant", _SENTENCE)
enable_observer = refusing("torch.ao.quantization.enable_observer", _SENTENCE)
fuse_modules = refusing("torch.ao.quantization.fuse_modules", _SENTENCE)
get_default_qat_qconfig = refusing("torch.ao.quantization.get_default_qat_qconfig", _SENTENCE)
get_default_qconfig = refusing("torch.ao.quantization.get_default_qconfig", _SENTENCE)
prepare = refusing("torch.ao.quantization.prepare", _SENTENCE)
prepare_qat = refusing("torch.ao.quantization.prepare_qat", _SENTENCE)
quantize = refusing("torch.ao.quantization.quantize", _SENTENCE)
quantize_dynamic = refusing("torch.ao.quantization.quantize_dynamic", _SENTENCE)

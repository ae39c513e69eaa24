"""Quantized tensors and what makes them, which are not part of the package.

Classes can be named and asked for with isinstance; a call says what to do instead. The stubs that
mark where a model would be quantized pass tensors on, as they do in PyTorch before that.
"""

from __future__ import annotations

from typing import Any

from facula._refusing import refusing, refusing_class
from facula.ao.quantization.quantize import (
    _SENTENCE,
    convert,
    prepare,
    prepare_qat,
    quantize,
    quantize_dynamic,
)
from facula.nn.modules.module import Module

__all__ = [
    "DeQuantStub",
    "FakeQuantize",
    "FakeQuantizeBase",
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "QConfig",
    "QConfigMapping",
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


def _class(name: str, *bases: type) -> type:
    made: type = refusing_class(f"torch.ao.quantization.{name}", _SENTENCE, *bases)
    return made


ObserverBase = _class("ObserverBase", Module)
MinMaxObserver = _class("MinMaxObserver", ObserverBase)
MovingAverageMinMaxObserver = _class("MovingAverageMinMaxObserver", MinMaxObserver)
PerChannelMinMaxObserver = _class("PerChannelMinMaxObserver", ObserverBase)
MovingAveragePerChannelMinMaxObserver = _class(
    "MovingAveragePerChannelMinMaxObserver", PerChannelMinMaxObserver
)
HistogramObserver = _class("HistogramObserver", ObserverBase)
PlaceholderObserver = _class("PlaceholderObserver", ObserverBase)
NoopObserver = _class("NoopObserver", ObserverBase)
FakeQuantizeBase = _class("FakeQuantizeBase", Module)
FakeQuantize = _class("FakeQuantize", FakeQuantizeBase)
QConfig = _class("QConfig")
QConfigMapping = _class("QConfigMapping")
default_qconfig = default_dynamic_qconfig = None


class QuantStub(Module):
    """Marks where a model would begin to be quantized; passes tensors on.

    Args:
        qconfig: kept for the program.
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """Marks where a model would end to be quantized; passes tensors on."""


class QuantWrapper(Module):
    """A module between the two stubs.

    Args:
        module: the module.
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))


disable_fake_quant = refusing("torch.ao.quantization.disable_fake_quant", _SENTENCE)
disable_observer = refusing("torch.ao.quantization.disable_observer", _SENTENCE)
enable_fake_quant = refusing("torch.ao.quantization.enable_fake_quant", _SENTENCE)
enable_observer = refusing("torch.ao.quantization.enable_observer", _SENTENCE)
fuse_modules = refusing("torch.ao.quantization.fuse_modules", _SENTENCE)
get_default_qat_qconfig = refusing("torch.ao.quantization.get_default_qat_qconfig", _SENTENCE)
get_default_qconfig = refusing("torch.ao.quantization.get_default_qconfig", _SENTENCE)

"""What would imitate quantized tensors in training."""

from facula.ao.quantization import (
    FakeQuantize,
    FakeQuantizeBase,
    disable_fake_quant,
    disable_observer,
    enable_fake_quant,
    enable_observer,
)

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
]

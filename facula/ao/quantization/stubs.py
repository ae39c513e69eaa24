"""Marks of where a model would be quantized."""

from facula.ao.quantization import (
    DeQuantStub,
    QuantStub,
    QuantWrapper,
)

__all__ = [
    "DeQuantStub",
    "QuantStub",
    "QuantWrapper",
]

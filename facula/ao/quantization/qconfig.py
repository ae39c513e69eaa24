"""What a part of a model would be quantized by."""

from facula.ao.quantization import (
    QConfig,
    default_dynamic_qconfig,
    default_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)

__all__ = [
    "QConfig",
    "default_dynamic_qconfig",
    "default_qconfig",
    "get_default_qat_qconfig",
    "get_default_qconfig",
]

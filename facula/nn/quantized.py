"""Layers on quantized tensors, which are not part of the package, and the one that takes floats.

Models that may be quantized one day have a :class:`FloatFunctional` for each sum and product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import facula
from facula import Tensor
from facula._refusing import refusing_class
from facula.nn.modules.linear import Identity
from facula.nn.modules.module import Module

__all__ = [
    "LSTM",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "DeQuantize",
    "Embedding",
    "EmbeddingBag",
    "FloatFunctional",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "QFunctional",
    "Quantize",
    "ReLU6",
    "Sigmoid",
]


class FloatFunctional(Module):
    """Operations as a module, which quantization could replace.

    Example:
        >>> skip = facula.nn.quantized.FloatFunctional()
        >>> skip.add_relu(facula.tensor([1.0, -3.0]), facula.tensor([1.0, 1.0]))
        tensor([2., 0.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> Any:
        """Refuses: the operations are methods."""
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the underlying "
            "operation"
        )

    def add(self, x: Tensor, y: Tensor) -> Any:
        """``x + y``."""
        return self.activation_post_process(facula.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Any:
        """``x + y`` with a number."""
        return facula.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Any:
        """``x * y``."""
        return self.activation_post_process(facula.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Any:
        """``x * y`` with a number."""
        return facula.mul(x, y)

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Any:
        """The tensors behind each other."""
        return self.activation_post_process(facula.cat(x, dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Any:
        """``relu(x + y)``."""
        return self.activation_post_process(facula.relu(facula.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Any:
        """``x @ y``."""
        return self.activation_post_process(facula.matmul(x, y))


def _class(name: str) -> Any:
    return refusing_class(
        f"torch.nn.quantized.{name}",
        "there are no quantized tensors. Use bfloat16 (model.bfloat16(), torch.autocast), or "
        "export to ONNX and quantize there.",
        Module,
    )


BatchNorm2d, BatchNorm3d = _class("BatchNorm2d"), _class("BatchNorm3d")
Conv1d, Conv2d, Conv3d = _class("Conv1d"), _class("Conv2d"), _class("Conv3d")
ConvTranspose1d, ConvTranspose2d = _class("ConvTranspose1d"), _class("ConvTranspose2d")
ConvTranspose3d, DeQuantize = _class("ConvTranspose3d"), _class("DeQuantize")
Embedding, EmbeddingBag = _class("Embedding"), _class("EmbeddingBag")
GroupNorm, LayerNorm = _class("GroupNorm"), _class("LayerNorm")
InstanceNorm1d, InstanceNorm2d = _class("InstanceNorm1d"), _class("InstanceNorm2d")
InstanceNorm3d, LSTM, LeakyReLU = _class("InstanceNorm3d"), _class("LSTM"), _class("LeakyReLU")
Linear, QFunctional, Quantize = _class("Linear"), _class("QFunctional"), _class("Quantize")
ReLU6, Sigmoid = _class("ReLU6"), _class("Sigmoid")

"""The functions behind the layers of PyTorch 0.1 to 0.4, by the names of their classes.

``backend.ReLU()(x)`` is what ``nn.functional.relu(x)`` is today.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._notes import note
from facula.nn import functional as F

__all__ = ["backend"]

_FUNCTIONS = {
    "BatchNorm": "batch_norm",
    "Conv2d": "conv2d",
    "Dropout": "dropout",
    "ELU": "elu",
    "Embedding": "embedding",
    "Hardtanh": "hardtanh",
    "LeakyReLU": "leaky_relu",
    "Linear": "linear",
    "LogSoftmax": "log_softmax",
    "MSELoss": "mse_loss",
    "MaxPool2d": "max_pool2d",
    "NLLLoss": "nll_loss",
    "Sigmoid": "sigmoid",
    "Softmax": "softmax",
    "Softplus": "softplus",
    "Tanh": "tanh",
    "Threshold": "threshold",
    "ReLU": "relu",
}


class _Backend:
    """Finds functions by the names of their classes."""

    def __getattr__(self, name: str) -> Callable[..., Callable[..., Any]]:
        if name not in _FUNCTIONS:
            raise AttributeError(
                f"torch.nn.backends.thnn.backend.{name} is not part of Facula: layers have no "
                "functions of classes behind them. Use torch.nn.functional."
            )
        function = getattr(F, _FUNCTIONS[name])
        note(f"backend.{name} is an older form of nn.functional.{_FUNCTIONS[name]}.")

        def make(*options: Any) -> Callable[..., Any]:
            return lambda *inputs: function(*inputs, *options)

        return make


backend = _Backend()


def _get_thnn_function_backend() -> None:
    """What layers in files of those versions keep; nothing is needed of it."""

"""Functions of networks, without state."""

from facula._core import gelu, log_softmax, relu, softmax
from facula.nn.functional._linear import bilinear, linear
from facula.nn.functional._padding import pad
from facula.nn.functional._sparse import one_hot

__all__ = [
    "bilinear",
    "gelu",
    "linear",
    "log_softmax",
    "one_hot",
    "pad",
    "relu",
    "softmax",
]

"""Functions of networks, without state."""

from facula._core import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    gelu,
    log_softmax,
    relu,
    softmax,
)
from facula.nn.functional._conv import fold, unfold
from facula.nn.functional._linear import bilinear, linear
from facula.nn.functional._padding import pad
from facula.nn.functional._sparse import one_hot

__all__ = [
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "gelu",
    "linear",
    "log_softmax",
    "one_hot",
    "pad",
    "relu",
    "softmax",
    "unfold",
]

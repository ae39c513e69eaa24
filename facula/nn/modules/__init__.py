"""The layers, one file per family."""

from facula.nn.modules import activation, container, conv, dropout, flatten, fold, linear, rnn
from facula.nn.modules.activation import *  # noqa: F403
from facula.nn.modules.container import *  # noqa: F403
from facula.nn.modules.conv import *  # noqa: F403
from facula.nn.modules.dropout import *  # noqa: F403
from facula.nn.modules.flatten import *  # noqa: F403
from facula.nn.modules.fold import *  # noqa: F403
from facula.nn.modules.linear import *  # noqa: F403
from facula.nn.modules.module import Module
from facula.nn.modules.rnn import *  # noqa: F403

__all__ = [
    "Module",
    *activation.__all__,
    *container.__all__,
    *dropout.__all__,
    *flatten.__all__,
    *conv.__all__,
    *fold.__all__,
    *linear.__all__,
    *rnn.__all__,
]

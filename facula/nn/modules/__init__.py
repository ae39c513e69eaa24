# mypy: implicit-reexport
"""The layers, one file per family."""

from typing import TYPE_CHECKING

from facula.nn.modules import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    linear_cross_entropy_options,
    loss,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from facula.nn.modules.activation import *  # noqa: F403
from facula.nn.modules.adaptive import *  # noqa: F403
from facula.nn.modules.batchnorm import *  # noqa: F403
from facula.nn.modules.channelshuffle import *  # noqa: F403
from facula.nn.modules.container import *  # noqa: F403
from facula.nn.modules.conv import *  # noqa: F403
from facula.nn.modules.distance import *  # noqa: F403
from facula.nn.modules.dropout import *  # noqa: F403
from facula.nn.modules.flatten import *  # noqa: F403
from facula.nn.modules.fold import *  # noqa: F403
from facula.nn.modules.instancenorm import *  # noqa: F403
from facula.nn.modules.linear import *  # noqa: F403
from facula.nn.modules.linear_cross_entropy_options import *  # noqa: F403
from facula.nn.modules.loss import *  # noqa: F403
from facula.nn.modules.module import Module
from facula.nn.modules.normalization import *  # noqa: F403
from facula.nn.modules.padding import *  # noqa: F403
from facula.nn.modules.pixelshuffle import *  # noqa: F403
from facula.nn.modules.pooling import *  # noqa: F403
from facula.nn.modules.rnn import *  # noqa: F403
from facula.nn.modules.sparse import *  # noqa: F403
from facula.nn.modules.transformer import *  # noqa: F403
from facula.nn.modules.upsampling import *  # noqa: F403

if not TYPE_CHECKING:  # mypy reads no computed list; without one, all names are public to it
    __all__ = [
        "Module",
        *activation.__all__,
        *adaptive.__all__,
        *batchnorm.__all__,
        *channelshuffle.__all__,
        *container.__all__,
        *conv.__all__,
        *distance.__all__,
        *dropout.__all__,
        *flatten.__all__,
        *fold.__all__,
        *instancenorm.__all__,
        *linear.__all__,
        *linear_cross_entropy_options.__all__,
        *loss.__all__,
        *normalization.__all__,
        *padding.__all__,
        *pixelshuffle.__all__,
        *pooling.__all__,
        *rnn.__all__,
        *sparse.__all__,
        *transformer.__all__,
        *upsampling.__all__,
    ]

"""The layers, one file per family."""

from facula.nn.modules import container, flatten, linear
from facula.nn.modules.container import *  # noqa: F403
from facula.nn.modules.flatten import *  # noqa: F403
from facula.nn.modules.linear import *  # noqa: F403
from facula.nn.modules.module import Module

__all__ = [
    "Module",
    *container.__all__,
    *flatten.__all__,
    *linear.__all__,
]

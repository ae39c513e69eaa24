"""Copies between devices, by the name that they have beside the devices."""

from facula.nn.parallel.comm import *  # noqa: F403
from facula.nn.parallel.comm import __all__ as __all__

"""The older name of ``distributed.tensor``."""

from facula.distributed.tensor import *  # noqa: F403
from facula.distributed.tensor import __all__ as __all__
from facula.distributed.tensor import placement_types as placement_types

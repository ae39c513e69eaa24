"""The older name of ``ao.quantization.observer``."""

from facula.ao.quantization.observer import *  # noqa: F403
from facula.ao.quantization.observer import __all__ as __all__

"""The older name of ``ao.quantization``."""

from facula.ao.quantization import *  # noqa: F403
from facula.ao.quantization import __all__ as __all__

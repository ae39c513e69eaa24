"""The older name of ``ao.quantization.qconfig``."""

from facula.ao.quantization.qconfig import *  # noqa: F403
from facula.ao.quantization.qconfig import __all__ as __all__

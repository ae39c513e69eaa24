"""The older name of ``ao.quantization.quantize``."""

from facula.ao.quantization.quantize import *  # noqa: F403
from facula.ao.quantization.quantize import __all__ as __all__

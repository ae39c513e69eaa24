"""The older name of ``ao.quantization``."""

# Before the function of the same name, which would be lost when a program imports the module.
import facula.quantization.quantize  # noqa: F401
from facula.ao.quantization import *  # noqa: F403
from facula.ao.quantization import __all__ as __all__

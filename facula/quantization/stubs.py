"""The older name of ``ao.quantization.stubs``."""

from facula.ao.quantization.stubs import *  # noqa: F403
from facula.ao.quantization.stubs import __all__ as __all__

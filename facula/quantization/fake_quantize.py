"""The older name of ``ao.quantization.fake_quantize``."""

from facula.ao.quantization.fake_quantize import *  # noqa: F403
from facula.ao.quantization.fake_quantize import __all__ as __all__

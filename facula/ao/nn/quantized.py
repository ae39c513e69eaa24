"""The newer name of ``nn.quantized``."""

from facula.nn.quantized import *  # noqa: F403
from facula.nn.quantized import __all__ as __all__

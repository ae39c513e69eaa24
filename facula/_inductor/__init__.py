"""The backend of PyTorch's compiler: its settings, for the scripts that set them."""

from facula._inductor import config
from facula.compiler import cudagraph_mark_step_begin

__all__ = ["config", "cudagraph_mark_step_begin"]

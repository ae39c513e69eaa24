"""The backend of PyTorch's compiler: its settings, for the scripts that set them."""

from facula._inductor import config

__all__ = ["config"]

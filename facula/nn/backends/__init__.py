"""Where PyTorch 0.1 to 0.4 kept the functions behind its layers."""

from facula.nn.backends import thnn

__all__ = ["thnn"]

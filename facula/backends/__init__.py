"""What the library found on this machine."""

from facula.backends import cpu

__all__ = ["cpu"]

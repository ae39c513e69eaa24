"""What the library found on this machine."""

from facula.backends import cpu, cudnn, mps

__all__ = ["cpu", "cudnn", "mps"]

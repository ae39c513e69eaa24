"""What the library found on this machine."""

from facula.backends import cpu, cuda, cudnn, mha, mps

__all__ = ["cpu", "cuda", "cudnn", "mha", "mps"]

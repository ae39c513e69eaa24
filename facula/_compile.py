"""What PyTorch's own modules say to its compiler, by the name that packages borrow."""

from facula.compiler import disable as _disable_dynamo

__all__ = ["_disable_dynamo"]

"""Quantization, which is not part of the package: the names, for packages that import them."""

from facula.ao import quantization

__all__ = ["quantization"]

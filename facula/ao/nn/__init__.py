"""Layers on quantized tensors, by their newer name."""

from facula.nn import quantized

__all__ = ["quantized"]

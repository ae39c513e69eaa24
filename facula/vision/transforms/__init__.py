"""Transforms of images."""

from facula.vision.transforms._interpolation import InterpolationMode

__all__ = ["InterpolationMode"]

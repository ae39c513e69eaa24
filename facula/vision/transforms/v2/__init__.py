"""Transforms of images together with their masks, boxes and key points."""

from facula.vision.transforms._interpolation import InterpolationMode
from facula.vision.transforms.v2 import functional

__all__ = ["InterpolationMode", "functional"]

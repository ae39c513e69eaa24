"""Tensors with a meaning: images, videos, masks, bounding boxes and key points.

The transforms of :mod:`facula.vision.transforms.v2` treat each as what it is.
"""

from facula.vision.tv_tensors._tensors import (
    BoundingBoxes,
    BoundingBoxFormat,
    Image,
    KeyPoints,
    Mask,
    TVTensor,
    Video,
    is_rotated_bounding_format,
    set_return_type,
    wrap,
)

__all__ = [
    "BoundingBoxFormat",
    "BoundingBoxes",
    "Image",
    "KeyPoints",
    "Mask",
    "TVTensor",
    "Video",
    "is_rotated_bounding_format",
    "set_return_type",
    "wrap",
]

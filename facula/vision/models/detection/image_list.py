"""Images of different sizes in one tensor."""

from __future__ import annotations

from typing import Any

from facula._core import Tensor

__all__ = ["ImageList"]


class ImageList:
    """Images padded to one size, and the sizes that they had.

    Args:
        tensors: the images, ``(N, C, H, W)``.
        image_sizes: height and width of each image before padding.

    Example:
        >>> from facula.vision.models.detection.image_list import ImageList
        >>> ImageList(facula.zeros(1, 3, 8, 8), [(5, 8)]).image_sizes
        [(5, 8)]
    """

    def __init__(self, tensors: Tensor, image_sizes: list[tuple[int, int]]) -> None:
        self.tensors = tensors
        self.image_sizes = image_sizes

    def to(self, device: Any) -> ImageList:
        """The images on another device."""
        return ImageList(self.tensors.to(device), self.image_sizes)

"""Boxes that detectors begin with, at every place of feature maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.vision.models.detection.image_list import ImageList

__all__ = ["AnchorGenerator", "DefaultBoxGenerator"]


def _grid(height: int, width: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """The row and the column of each place, in order."""
    rows = facula.arange(height, dtype=facula.int32, device=like.device)
    columns = facula.arange(width, dtype=facula.int32, device=like.device)
    y, x = facula.meshgrid(rows, columns, indexing="ij")
    return y.reshape(-1), x.reshape(-1)


class AnchorGenerator(nn.Module):
    """Anchors of several sizes and shapes at each place of each feature map.

    Args:
        sizes: square roots of the areas of the anchors of each feature map.
        aspect_ratios: heights by widths of the anchors of each feature map.

    Shape:
        images and feature maps ``(N, C, H_i, W_i)``; result: for each image all anchors ``(A, 4)``,
        x1, y1, x2, y2 in pixels of the images.

    Example:
        >>> from facula.vision.models.detection.anchor_utils import AnchorGenerator
        >>> from facula.vision.models.detection.image_list import ImageList
        >>> images = ImageList(facula.zeros(1, 3, 8, 8), [(8, 8)])
        >>> AnchorGenerator(((4,),), ((1.0,),))(images, [facula.zeros(1, 5, 1, 2)])
        [tensor([[-2., -2.,  2.,  2.],
                [ 2., -2.,  6.,  2.]])]
    """

    def __init__(
        self, sizes: Any = ((128, 256, 512),), aspect_ratios: Any = ((0.5, 1.0, 2.0),)
    ) -> None:
        super().__init__()
        if not isinstance(sizes[0], (list, tuple)):
            sizes = tuple((s,) for s in sizes)
        if not isinstance(aspect_ratios[0], (list, tuple)):
            aspect_ratios = (aspect_ratios,) * len(sizes)
        self.sizes = sizes
        self.aspect_ratios = aspect_ratios
        self.cell_anchors = [
            self.generate_anchors(size, ratios)
            for size, ratios in zip(sizes, aspect_ratios, strict=False)
        ]

    def generate_anchors(
        self,
        scales: Sequence[float],
        aspect_ratios: Sequence[float],
        dtype: facula.dtype = facula.float32,
        device: Any = "cpu",
    ) -> Tensor:
        """The anchors of one place around 0, ``(ratios * scales, 4)``."""
        sides = facula.tensor(scales, dtype=dtype, device=device)
        heights = facula.tensor(aspect_ratios, dtype=dtype, device=device).sqrt()
        h = (heights[:, None] * sides).reshape(-1)
        w = ((1 / heights)[:, None] * sides).reshape(-1)
        return (facula.stack([-w, -h, w, h], dim=1) / 2).round()

    def num_anchors_per_location(self) -> list[int]:
        """How many anchors a place of each feature map has."""
        return [len(s) * len(a) for s, a in zip(self.sizes, self.aspect_ratios, strict=False)]

    def grid_anchors(
        self, grid_sizes: Sequence[tuple[int, int]], strides: Sequence[tuple[int, int]]
    ) -> list[Tensor]:
        """The anchors of each feature map, given its size and its step in pixels."""
        if not len(grid_sizes) == len(strides) == len(self.cell_anchors):
            raise AssertionError(
                f"AnchorGenerator: there are sizes and aspect_ratios for {len(self.cell_anchors)} "
                f"feature maps, but {len(grid_sizes)} feature maps."
            )
        anchors = []
        for size, stride, cell in zip(grid_sizes, strides, self.cell_anchors, strict=True):
            y, x = _grid(*size, cell)
            y, x = y * stride[0], x * stride[1]
            shifts = facula.stack([x, y, x, y], dim=1)
            anchors.append((shifts[:, None] + cell).reshape(-1, 4))
        return anchors

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        grid_sizes = [(level.shape[-2], level.shape[-1]) for level in feature_maps]
        height, width = image_list.tensors.shape[-2:]
        # Steps in pixels of the padded batch, so that anchors are the same for all of its images.
        strides = [(height // size[0], width // size[1]) for size in grid_sizes]
        like = feature_maps[0]
        self.cell_anchors = [cell.to(like.device, like.dtype) for cell in self.cell_anchors]
        anchors = facula.cat(self.grid_anchors(grid_sizes, strides))
        return [anchors for _ in image_list.image_sizes]


class DefaultBoxGenerator(nn.Module):
    """The default boxes of SSD at each place of each feature map.

    Args:
        aspect_ratios: heights by widths of the boxes of each feature map, besides 1.
        min_ratio: the smallest scale, as part of the image; used without ``scales``.
        max_ratio: the largest scale.
        scales: the scale of each feature map, and one more.
        steps: pixels between the places of each feature map; the size of the image by that of the
            map unless given.
        clip: whether sizes are at most those of the image.

    Shape:
        images and feature maps ``(N, C, H_i, W_i)``; result: for each image all boxes ``(A, 4)``,
        x1, y1, x2, y2 in pixels of the images.

    Example:
        >>> from facula.vision.models.detection.anchor_utils import DefaultBoxGenerator
        >>> DefaultBoxGenerator([[2], [2, 3]]).num_anchors_per_location()
        [4, 6]
    """

    def __init__(
        self,
        aspect_ratios: list[list[int]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: list[float] | None = None,
        steps: list[int] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        n = len(aspect_ratios)
        if steps is not None and len(steps) != n:
            raise ValueError(
                f"DefaultBoxGenerator: expected {n} steps, one per feature map, got {len(steps)}."
            )
        self.aspect_ratios = aspect_ratios
        self.steps = steps
        self.clip = clip
        if scales is None and n > 1:
            span = max_ratio - min_ratio
            scales = [min_ratio + span * k / (n - 1.0) for k in range(n)] + [1.0]
        self.scales = [min_ratio, max_ratio] if scales is None else scales
        self._wh_pairs = [self._shapes(k) for k in range(n)]

    def _shapes(self, level: int) -> Tensor:
        """Width and height of the boxes of a place, as parts of the image."""
        scale, next_scale = self.scales[level], self.scales[level + 1]
        # A second square, of a size between those of this feature map and of the next.
        between = math.sqrt(scale * next_scale)
        pairs = [[scale, scale], [between, between]]
        for ratio in self.aspect_ratios[level]:
            root = math.sqrt(ratio)
            pairs += [[scale * root, scale / root], [scale / root, scale * root]]
        return facula.tensor(pairs)

    def num_anchors_per_location(self) -> list[int]:
        """How many boxes a place of each feature map has."""
        return [2 + 2 * len(ratios) for ratios in self.aspect_ratios]

    def _level(
        self, level: int, grid_size: tuple[int, int], image_size: tuple[int, int], like: Tensor
    ) -> Tensor:
        rows, columns = grid_size
        if self.steps is not None:
            n_y, n_x = (size / self.steps[level] for size in image_size)
        else:
            n_y, n_x = float(rows), float(columns)
        y, x = _grid(rows, columns, like)
        centers = facula.stack([(x + 0.5) / n_x, (y + 0.5) / n_y], dim=1).to(like.dtype)
        sizes = self._wh_pairs[level].to(like.device, like.dtype)
        sizes = sizes.clamp(0, 1) if self.clip else sizes
        half = 0.5 * sizes.repeat(rows * columns, 1)
        centers = centers.repeat_interleave(len(sizes), dim=0)
        return facula.cat([centers - half, centers + half], dim=1)

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        height, width = image_list.tensors.shape[-2:]
        like = feature_maps[0]
        levels = [
            self._level(k, (level.shape[-2], level.shape[-1]), (height, width), like)
            for k, level in enumerate(feature_maps)
        ]
        sides = facula.tensor([width, height] * 2, dtype=like.dtype, device=like.device)
        boxes = facula.cat(levels) * sides
        return [boxes for _ in image_list.image_sizes]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, "
            f"scales={self.scales}, steps={self.steps})"
        )

"""Maxima inside boxes."""

from __future__ import annotations

from collections.abc import Sequence

from facula import _core, nn
from facula._core import Tensor
from facula.vision.ops._utils import Boxes, in_float32, pair, to_rois

__all__ = ["RoIPool", "roi_pool"]


@in_float32
def roi_pool(
    input: Tensor, boxes: Boxes, output_size: int | Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """What is inside boxes, as bins that have their largest element (Fast R-CNN).

    The arguments are those of :func:`roi_align`.

    Shape:
        input ``(N, C, H, W)``; result ``(K, C, rows, columns)``.

    Example:
        >>> from facula.vision.ops import roi_pool
        >>> x = facula.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi_pool(x, [facula.tensor([[0.0, 0.0, 3.0, 3.0]])], 2)
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])
    """
    rows, columns = pair(output_size)
    return _core._roi_pool(input, to_rois("roi_pool", boxes), spatial_scale, rows, columns)


class RoIPool(nn.Module):
    """The layer of :func:`roi_pool`.

    Example:
        >>> from facula.vision.ops import RoIPool
        >>> RoIPool(7, spatial_scale=0.25)
        RoIPool(output_size=7, spatial_scale=0.25)
    """

    def __init__(self, output_size: int | Sequence[int], spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale})"
        )

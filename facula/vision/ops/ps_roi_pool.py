"""Averages of elements inside boxes, of a channel per bin."""

from __future__ import annotations

from collections.abc import Sequence

from facula import _core, nn
from facula._core import Tensor
from facula.vision.ops._utils import Boxes, in_float32, pair, to_rois

__all__ = ["PSRoIPool", "ps_roi_pool"]


@in_float32
def ps_roi_pool(
    input: Tensor, boxes: Boxes, output_size: int | Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """What is inside boxes, as bins that average elements of a channel of their own (R-FCN).

    The arguments are those of :func:`roi_pool`. A box that reaches the last row or column of the
    images averages it too; torchvision leaves it out, though not in its gradient.

    Shape:
        input ``(N, C * rows * columns, H, W)``; result ``(K, C, rows, columns)``.

    Example:
        >>> from facula.vision.ops import ps_roi_pool
        >>> x = facula.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 5, 5)
        >>> ps_roi_pool(x, [facula.tensor([[0.0, 0.0, 4.0, 4.0]])], 2)
        tensor([[[[0., 1.],
                  [2., 3.]]]])
    """
    rows, columns = pair(output_size)
    return _core._ps_roi_pool(input, to_rois("ps_roi_pool", boxes), spatial_scale, rows, columns)


class PSRoIPool(nn.Module):
    """The layer of :func:`ps_roi_pool`.

    Args:
        output_size: the height and width of the result, a number or a pair.
        spatial_scale: the factor from the coordinates of boxes to those of the input.

    Example:
        >>> from facula.vision.ops import PSRoIPool
        >>> PSRoIPool(7, spatial_scale=0.25)
        PSRoIPool(output_size=7, spatial_scale=0.25)
    """

    def __init__(self, output_size: int | Sequence[int], spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale})"
        )

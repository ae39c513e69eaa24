"""Averages of points inside boxes."""

from __future__ import annotations

from collections.abc import Sequence

from facula import _core, nn
from facula._core import Tensor
from facula.vision.ops._utils import Boxes, in_float32, pair, to_rois

__all__ = ["RoIAlign", "roi_align"]


@in_float32
def roi_align(
    input: Tensor,
    boxes: Boxes,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """What is inside boxes, as bins that average points between the elements (Mask R-CNN).

    Args:
        input: feature maps.
        boxes: corners x1, y1, x2, y2: one tensor ``(L, 4)`` per image in a list, or one tensor
            ``(K, 5)`` that has the number of the image before them.
        output_size: bins of a box, rows and columns.
        spatial_scale: factor from the coordinates of the boxes to those of ``input``.
        sampling_ratio: points of a bin in each direction; 0 or less: as many as it has elements.
        aligned: whether the centers of elements are at halves; right, but not the first definition.

    Shape:
        input ``(N, C, H, W)``; result ``(K, C, rows, columns)``.

    Example:
        >>> from facula.vision.ops import roi_align
        >>> x = facula.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi_align(x, [facula.tensor([[0.0, 0.0, 2.0, 2.0]])], 2)
        tensor([[[[2.5000, 3.5000],
                  [6.5000, 7.5000]]]])
    """
    rois = to_rois("roi_align", boxes)
    rows, columns = pair(output_size)
    return _core._roi_align(input, rois, spatial_scale, rows, columns, sampling_ratio, aligned)


class RoIAlign(nn.Module):
    """The layer of :func:`roi_align`.

    Example:
        >>> from facula.vision.ops import RoIAlign
        >>> RoIAlign(7, spatial_scale=0.25, sampling_ratio=2)
        RoIAlign(output_size=7, spatial_scale=0.25, sampling_ratio=2, aligned=False)
    """

    def __init__(
        self,
        output_size: int | Sequence[int],
        spatial_scale: float,
        sampling_ratio: int,
        aligned: bool = False,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return roi_align(
            input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale}, sampling_ratio={self.sampling_ratio}, "
            f"aligned={self.aligned})"
        )

"""Averages of points inside boxes, of a channel per bin."""

from __future__ import annotations

from collections.abc import Sequence

from facula import _core, nn
from facula._core import Tensor
from facula.vision.ops._utils import Boxes, in_float32, pair, to_rois

__all__ = ["PSRoIAlign", "ps_roi_align"]


@in_float32
def ps_roi_align(
    input: Tensor,
    boxes: Boxes,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> Tensor:
    """What is inside boxes, as bins that average points of a channel of their own (R-FCN).

    The arguments are those of :func:`roi_align`; centers of elements are at halves.

    Shape:
        input ``(N, C * rows * columns, H, W)``; result ``(K, C, rows, columns)``.

    Example:
        >>> from facula.vision.ops import ps_roi_align
        >>> x = facula.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 5, 5)
        >>> ps_roi_align(x, [facula.tensor([[0.0, 0.0, 3.0, 3.0]])], 2)
        tensor([[[[0., 1.],
                  [2., 3.]]]])
    """
    rois = to_rois("ps_roi_align", boxes)
    rows, columns = pair(output_size)
    return _core._ps_roi_align(input, rois, spatial_scale, rows, columns, sampling_ratio)


class PSRoIAlign(nn.Module):
    """The layer of :func:`ps_roi_align`.

    Example:
        >>> from facula.vision.ops import PSRoIAlign
        >>> PSRoIAlign(7, spatial_scale=0.25, sampling_ratio=2)
        PSRoIAlign(output_size=7, spatial_scale=0.25, sampling_ratio=2)
    """

    def __init__(
        self, output_size: int | Sequence[int], spatial_scale: float, sampling_ratio: int
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale}, sampling_ratio={self.sampling_ratio})"
        )

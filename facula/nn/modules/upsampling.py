"""Images of another size."""

from __future__ import annotations

from typing import Any

from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]

_Size = int | tuple[int, ...]
_Scale = float | tuple[float, ...]


class Upsample(Module):
    """Resizes images, as :func:`facula.nn.functional.interpolate` does.

    Args:
        size: the size of the result, one number or one for each dimension.
        scale_factor: the ratio of the result's size to the input's, in place of size.
        mode: how to interpolate: ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"`` or
            ``"trilinear"``.
        align_corners: whether the centers of the corner elements, rather than their corners, of
            input and result coincide.
        recompute_scale_factor: whether the ratio of the sizes, which are whole numbers, replaces
            scale_factor.

    Shape:
        input ``(N, C, L)``, ``(N, C, H, W)`` or ``(N, C, D, H, W)``.

    Example:
        >>> facula.nn.Upsample(scale_factor=2)(facula.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    __constants__ = (
        "size",
        "scale_factor",
        "mode",
        "align_corners",
        "name",
        "recompute_scale_factor",
    )

    def __init__(
        self,
        size: _Size | None = None,
        scale_factor: _Scale | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: Any = (
            tuple(float(factor) for factor in scale_factor)
            if isinstance(scale_factor, tuple)
            else float(scale_factor)
            if scale_factor
            else None
        )
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """:class:`Upsample` of images by copies of the nearest pixel.

    Args:
        size: the size of the result, one number or (height, width).
        scale_factor: the ratio of the result's size to the input's, in place of size.

    Shape:
        input ``(N, C, H, W)``.

    Example:
        >>> facula.nn.UpsamplingNearest2d(scale_factor=2)(facula.ones(1, 3, 4, 4)).shape
        torch.Size([1, 3, 8, 8])
    """

    def __init__(self, size: _Size | None = None, scale_factor: _Scale | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """:class:`Upsample` of images by straight lines between pixels, corners aligned.

    Args:
        size: the size of the result, one number or (height, width).
        scale_factor: the ratio of the result's size to the input's, in place of size.

    Shape:
        input ``(N, C, H, W)``.

    Example:
        >>> facula.nn.UpsamplingBilinear2d(size=3)(facula.tensor([[[[0.0, 2.0], [2.0, 4.0]]]]))
        tensor([[[[0., 1., 2.],
                  [1., 2., 3.],
                  [2., 3., 4.]]]])
    """

    def __init__(self, size: _Size | None = None, scale_factor: _Scale | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)

"""Points of an image, and flows at another size."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula.nn import functional as F


def grid_sample(
    img: Tensor, absolute_grid: Tensor, mode: str = "bilinear", align_corners: bool | None = None
) -> Tensor:
    """``nn.functional.grid_sample`` at points ``(x, y)`` counted in pixels."""
    h, w = img.shape[-2:]
    size = facula.tensor([w - 1, h - 1], dtype=absolute_grid.dtype, device=absolute_grid.device)
    grid = 2 * absolute_grid / size - 1
    return F.grid_sample(img, grid, mode=mode, align_corners=align_corners)


def make_coords_grid(batch_size: int, h: int, w: int, device: Any = "cpu") -> Tensor:
    """The pixels' own coordinates ``(x, y)``, as ``(batch_size, 2, h, w)``."""
    y, x = facula.meshgrid(
        facula.arange(h, device=device), facula.arange(w, device=device), indexing="ij"
    )
    return facula.stack([x, y]).float().repeat(batch_size, 1, 1, 1)


def upsample_flow(flow: Tensor, up_mask: Tensor | None = None, factor: int = 8) -> Tensor:
    """A flow ``(N, 2, H, W)`` at ``factor`` times its size, its vectors as much longer.

    Each new vector is a mean of the 9 old ones around it with the softmax of
    ``up_mask`` ``(N, 9 * factor * factor, H, W)`` as weights; without a mask, flows are
    interpolated.
    """
    n, channels, h, w = flow.shape
    if up_mask is None:
        size = (h * factor, w * factor)
        return factor * F.interpolate(flow, size=size, mode="bilinear", align_corners=True)
    weights = up_mask.view(n, 1, 9, factor, factor, h, w).softmax(dim=2)
    around = F.unfold(factor * flow, kernel_size=3, padding=1)
    around = around.view(n, channels, 9, 1, 1, h, w)
    large = (weights * around).sum(dim=2)  # (N, 2, factor, factor, H, W)
    return large.permute(0, 1, 4, 2, 5, 3).reshape(n, channels, h * factor, w * factor)

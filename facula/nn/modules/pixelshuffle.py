"""Elements of channels as pixels, and back."""

from __future__ import annotations

from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Turn channels into pixels.

    Args:
        upscale_factor: the factor r by which height and width grow.

    Shape:
        input ``(*, C * r * r, H, W)``; result ``(*, C, H * r, W * r)``.

    Example:
        >>> facula.nn.PixelShuffle(3)(facula.ones(1, 9, 4, 4)).shape
        torch.Size([1, 1, 12, 12])
    """

    __constants__ = ("upscale_factor",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Turn pixels into channels: the inverse of :class:`PixelShuffle`.

    Args:
        downscale_factor: the factor r by which height and width shrink.

    Shape:
        input ``(*, C, H * r, W * r)``; result ``(*, C * r * r, H, W)``.

    Example:
        >>> facula.nn.PixelUnshuffle(3)(facula.ones(1, 1, 12, 12)).shape
        torch.Size([1, 9, 4, 4])
    """

    __constants__ = ("downscale_factor",)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"

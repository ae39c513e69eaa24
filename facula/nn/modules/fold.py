"""Windows of images as columns, and back."""

from __future__ import annotations

from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]

_Size = int | tuple[int, ...]


class Fold(Module):
    """The sum of windows, given as columns, put in their places in images.

    Args:
        output_size: the height and width of the images.
        kernel_size: the height and width of the windows, or one number for both.
        dilation: the distance between neighbouring elements of a window.
        padding: how many elements are left out at both ends of each dimension.
        stride: the distance between windows.

    Shape:
        input ``(N, C * KH * KW, L)`` or ``(C * KH * KW, L)``; result ``(N, C, H, W)`` or
        ``(C, H, W)``.

    Example:
        >>> facula.nn.Fold((4, 5), (2, 2))(facula.ones(1, 12, 12)).shape
        torch.Size([1, 3, 4, 5])
    """

    __constants__ = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(
        self,
        output_size: _Size,
        kernel_size: _Size,
        dilation: _Size = 1,
        padding: _Size = 0,
        stride: _Size = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)


class Unfold(Module):
    """The windows of images as columns.

    Args:
        kernel_size: the height and width of the windows, or one number for both.
        dilation: the distance between neighbouring elements of a window.
        padding: how many zeros to add at both ends of each dimension.
        stride: the distance between windows.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``; result ``(N, C * KH * KW, L)`` or
        ``(C * KH * KW, L)`` for ``L`` windows.

    Example:
        >>> facula.nn.Unfold((2, 3))(facula.ones(2, 5, 3, 4)).shape
        torch.Size([2, 30, 4])
    """

    __constants__ = ("kernel_size", "dilation", "padding", "stride")

    def __init__(
        self, kernel_size: _Size, dilation: _Size = 1, padding: _Size = 0, stride: _Size = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)

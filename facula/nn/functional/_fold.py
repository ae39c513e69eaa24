"""The windows that convolutions are made of, as columns, and their sum."""

from __future__ import annotations

from collections.abc import Sequence

from facula import _core
from facula._core import Tensor

__all__ = ["fold", "unfold"]


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The windows of images as columns.

    Args:
        input: the images.
        kernel_size: the height and width of the windows, or one number for both.
        dilation: the distance between neighbouring elements of a window.
        padding: how many zeros to add at both ends of each dimension.
        stride: the distance between windows.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``; result ``(N, C * KH * KW, L)`` or
        ``(C * KH * KW, L)`` for ``L`` windows.

    Example:
        >>> facula.nn.functional.unfold(facula.ones(1, 3, 5, 5), 3).shape
        torch.Size([1, 27, 9])
    """
    return _core._im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The sum of windows, given as columns, put in their places in images.

    Args:
        input: the windows as columns, as :func:`unfold` gives them.
        output_size: the height and width of the images.
        kernel_size: the height and width of the windows, or one number for both.
        dilation: the distance between neighbouring elements of a window.
        padding: how many elements are left out at both ends of each dimension.
        stride: the distance between windows.

    Shape:
        input ``(N, C * KH * KW, L)`` or ``(C * KH * KW, L)``; result ``(N, C, H, W)`` or
        ``(C, H, W)``.

    Example:
        >>> facula.nn.functional.fold(facula.ones(1, 4, 4), (3, 3), 2)
        tensor([[[[1., 2., 1.],
                  [2., 4., 2.],
                  [1., 2., 1.]]]])
    """
    return _core._col2im(input, output_size, kernel_size, dilation, padding, stride)

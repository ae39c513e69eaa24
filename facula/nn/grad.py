"""The gradients of convolutions, as functions of their own."""

from __future__ import annotations

from collections.abc import Sequence

from facula import _core
from facula._core import Tensor

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of :func:`facula.nn.functional.conv1d` with respect to its input.

    Args:
        input_size: the shape of the input.
        weight: the kernels.
        grad_output: the gradient of the output.
        stride: the distance between windows, a number.
        padding: how many zeros were added at both ends of each dimension.
        dilation: the distance between neighbouring elements of a window.
        groups: the number of groups of channels.

    Shape:
        weight ``(C_out, C / groups, K)``, grad_output ``(N, C_out, L_out)``; result
        ``(N, C, L)``, as ``input_size`` says.

    Example:
        >>> weight, grad = facula.ones(4, 3, 3), facula.ones(2, 4, 6)
        >>> facula.nn.grad.conv1d_input((2, 3, 8), weight, grad).shape
        torch.Size([2, 3, 8])
    """
    return _core._conv_input(
        "conv1d_input", input_size, weight, grad_output, stride, padding, dilation, groups
    )


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of :func:`facula.nn.functional.conv1d` with respect to its weight.

    Args:
        input: the sequences.
        weight_size: the shape of the weight.
        grad_output: the gradient of the output.
        stride: the distance between windows, a number.
        padding: how many zeros were added at both ends of each dimension.
        dilation: the distance between neighbouring elements of a window.
        groups: the number of groups of channels.

    Shape:
        input ``(N, C, L)``, grad_output ``(N, C_out, L_out)``; result
        ``(C_out, C / groups, K)``, as ``weight_size`` says.

    Example:
        >>> x, grad = facula.ones(2, 3, 8), facula.ones(2, 4, 6)
        >>> facula.nn.grad.conv1d_weight(x, (4, 3, 3), grad).shape
        torch.Size([4, 3, 3])
    """
    return _core._conv_weight(
        "conv1d_weight", input, weight_size, grad_output, stride, padding, dilation, groups
    )


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of :func:`facula.nn.functional.conv2d` with respect to its input.

    Args:
        input_size: the shape of the input.
        weight: the kernels.
        grad_output: the gradient of the output.
        stride: the distance between windows, a number or a pair.
        padding: how many zeros were added at both ends of each dimension.
        dilation: the distance between neighbouring elements of a window.
        groups: the number of groups of channels.

    Shape:
        weight ``(C_out, C / groups, KH, KW)``, grad_output ``(N, C_out, H_out, W_out)``; result
        ``(N, C, H, W)``, as ``input_size`` says.

    Example:
        >>> weight, grad = facula.ones(4, 3, 3, 3), facula.ones(2, 4, 6, 6)
        >>> facula.nn.grad.conv2d_input((2, 3, 8, 8), weight, grad).shape
        torch.Size([2, 3, 8, 8])
    """
    return _core._conv_input(
        "conv2d_input", input_size, weight, grad_output, stride, padding, dilation, groups
    )


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of :func:`facula.nn.functional.conv2d` with respect to its weight.

    Args:
        input: the images.
        weight_size: the shape of the weight.
        grad_output: the gradient of the output.
        stride: the distance between windows, a number or a pair.
        padding: how many zeros were added at both ends of each dimension.
        dilation: the distance between neighbouring elements of a window.
        groups: the number of groups of channels.

    Shape:
        input ``(N, C, H, W)``, grad_output ``(N, C_out, H_out, W_out)``; result
        ``(C_out, C / groups, KH, KW)``, as ``weight_size`` says.

    Example:
        >>> x, grad = facula.ones(2, 3, 8, 8), facula.ones(2, 4, 6, 6)
        >>> facula.nn.grad.conv2d_weight(x, (4, 3, 3, 3), grad).shape
        torch.Size([4, 3, 3, 3])
    """
    return _core._conv_weight(
        "conv2d_weight", input, weight_size, grad_output, stride, padding, dilation, groups
    )


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of :func:`facula.nn.functional.conv3d` with respect to its input.

    Args:
        input_size: the shape of the input.
        weight: the kernels.
        grad_output: the gradient of the output.
        stride: the distance between windows, a number or three.
        padding: how many zeros were added at both ends of each dimension.
        dilation: the distance between neighbouring elements of a window.
        groups: the number of groups of channels.

    Shape:
        weight ``(C_out, C / groups, KD, KH, KW)``, grad_output
        ``(N, C_out, D_out, H_out, W_out)``; result ``(N, C, D, H, W)``, as ``input_size`` says.

    Example:
        >>> weight, grad = facula.ones(4, 3, 3, 3, 3), facula.ones(2, 4, 2, 2, 2)
        >>> facula.nn.grad.conv3d_input((2, 3, 4, 4, 4), weight, grad).shape
        torch.Size([2, 3, 4, 4, 4])
    """
    return _core._conv_input(
        "conv3d_input", input_size, weight, grad_output, stride, padding, dilation, groups
    )


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of :func:`facula.nn.functional.conv3d` with respect to its weight.

    Args:
        input: the volumes.
        weight_size: the shape of the weight.
        grad_output: the gradient of the output.
        stride: the distance between windows, a number or three.
        padding: how many zeros were added at both ends of each dimension.
        dilation: the distance between neighbouring elements of a window.
        groups: the number of groups of channels.

    Shape:
        input ``(N, C, D, H, W)``, grad_output ``(N, C_out, D_out, H_out, W_out)``; result
        ``(C_out, C / groups, KD, KH, KW)``, as ``weight_size`` says.

    Example:
        >>> x, grad = facula.ones(2, 3, 4, 4, 4), facula.ones(2, 4, 2, 2, 2)
        >>> facula.nn.grad.conv3d_weight(x, (4, 3, 3, 3, 3), grad).shape
        torch.Size([4, 3, 3, 3, 3])
    """
    return _core._conv_weight(
        "conv3d_weight", input, weight_size, grad_output, stride, padding, dilation, groups
    )

"""Convolution at places that are computed."""

from __future__ import annotations

import math

import facula
from facula import _core, nn
from facula._core import Tensor
from facula.nn import init
from facula.nn.modules.utils import _pair
from facula.vision.ops._utils import in_float32

__all__ = ["DeformConv2d", "deform_conv2d"]

_Size = int | tuple[int, int]


@in_float32
def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Size = (1, 1),
    padding: _Size = (0, 0),
    dilation: _Size = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """A convolution whose kernel looks at shifted places, between elements (Deformable ConvNets).

    Args:
        input: images.
        offset: the shift of each element of the kernel at each place, y before x. ``G`` groups of
            channels may have shifts of their own.
        weight: the kernels.
        bias: a number per channel of the result.
        stride: distance between places of the kernel.
        padding: zeros around the images.
        dilation: distance between elements of the kernel.
        mask: factors of the elements of the kernel at each place (version 2).

    Shape:
        input ``(N, C, H, W)``, weight ``(O, C / groups, h, w)``, offset
        ``(N, 2 * G * h * w, H_out, W_out)``, mask ``(N, G * h * w, H_out, W_out)``; result
        ``(N, O, H_out, W_out)``.

    Example:
        >>> from facula.vision.ops import deform_conv2d
        >>> x = facula.arange(4.0).reshape(1, 1, 2, 2)
        >>> offset = facula.full((1, 2, 2, 2), 0.5)
        >>> deform_conv2d(x, offset, facula.ones(1, 1, 1, 1))
        tensor([[[[1.5000, 1.0000],
                  [1.2500, 0.7500]]]])
    """
    strides, paddings, dilations = _pair(stride), _pair(padding), _pair(dilation)
    _check(input, offset, weight, bias, strides, paddings, dilations, mask)
    n, n_channels, *sizes = input.shape
    n_out, group_channels, *kernel = weight.shape
    rows, columns = offset.shape[2:]
    n_taps = kernel[0] * kernel[1]
    n_shifts, n_groups = offset.size(1) // (2 * n_taps), n_channels // group_channels
    shifts = offset.reshape(n * n_shifts, *kernel, 2, rows, columns)
    y = shifts[:, :, :, 0] + _grid(0, kernel, rows, strides, paddings, dilations, offset)
    x = shifts[:, :, :, 1] + _grid(1, kernel, columns, strides, paddings, dilations, offset)
    places = facula.stack([x, y], dim=-1).reshape(n * n_shifts, n_taps, rows * columns, 2)
    # Groups of shifts are groups of channels: each becomes an image with places of its own.
    images = input.reshape(n * n_shifts, n_channels // n_shifts, *sizes)
    elements = _core._sample_pixels(images, places)
    if mask is not None:
        elements = elements * mask.reshape(n * n_shifts, 1, n_taps, rows * columns)
    # From here on it is a convolution as a product of matrices, in its own groups of channels.
    elements = elements.reshape(n, n_groups, group_channels * n_taps, rows * columns)
    kernels = weight.reshape(n_groups, n_out // n_groups, group_channels * n_taps)
    result = (kernels @ elements).reshape(n, n_out, rows, columns)
    return result if bias is None else result + bias.reshape(1, n_out, 1, 1)


def _grid(
    dim: int,
    kernel: list[int],
    n_places: int,
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
    dilations: tuple[int, ...],
    like: Tensor,
) -> Tensor:
    """Where the elements of an unshifted kernel look, along rows or along columns."""
    taps = facula.arange(kernel[dim], dtype=like.dtype, device=like.device) * dilations[dim]
    starts = facula.arange(n_places, dtype=like.dtype, device=like.device) * strides[dim]
    grid = taps[:, None] + (starts - paddings[dim])
    return grid[:, None, :, None] if dim == 0 else grid[:, None, :]


def _check(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
    dilations: tuple[int, ...],
    mask: Tensor | None,
) -> None:
    op = "deform_conv2d"
    given = {"input": input, "offset": offset, "weight": weight, "bias": bias, "mask": mask}
    if input.dim() != 4:
        raise ValueError(f"{op}: expected an input (N, C, H, W), got {tuple(input.shape)}.")
    if weight.dim() != 4 or offset.dim() != 4 or (mask is not None and mask.dim() != 4):
        raise RuntimeError(f"{op}: expected weight, offset and mask of 4 dimensions.")
    if not input.is_floating_point() or input.dtype == facula.bfloat16:
        raise NotImplementedError(
            f"{op}: expected a floating-point input (not bfloat16), got {input.dtype}."
        )
    for name, tensor in given.items():
        if tensor is not None and (tensor.dtype, tensor.device) != (input.dtype, input.device):
            raise RuntimeError(
                f"{op}: expected {name} to have the dtype and device of input, "
                f"{input.dtype} on {input.device}, got {tensor.dtype} on {tensor.device}."
            )
    kernel = weight.shape[2:]
    if min(strides) < 1 or min(dilations) < 1 or min(paddings) < 0 or min(kernel) < 1:
        raise RuntimeError(
            f"{op}: expected stride and dilation of at least 1, padding of at least 0 and a "
            f"kernel with elements, got {strides}, {dilations}, {paddings} and {tuple(kernel)}."
        )
    n_taps = kernel[0] * kernel[1]
    n_channels, group_channels = input.size(1), weight.size(1)
    n_groups = n_channels // max(group_channels, 1)
    if n_groups * group_channels != n_channels or n_groups < 1 or weight.size(0) % n_groups:
        raise RuntimeError(
            f"{op}: a weight {tuple(weight.shape)} does not fit an input {tuple(input.shape)}."
        )
    n_shifts = offset.size(1) // (2 * n_taps)
    if n_shifts < 1 or n_shifts * 2 * n_taps != offset.size(1) or n_channels % n_shifts:
        raise RuntimeError(
            f"{op}: expected an offset of 2 * {n_taps} channels for each of its groups, which "
            f"divide the {n_channels} channels of the input, got {tuple(offset.shape)}."
        )
    places = tuple(
        (size + 2 * pad - dilation * (length - 1) - 1) // stride + 1
        for size, pad, dilation, length, stride in zip(
            input.shape[2:], paddings, dilations, kernel, strides, strict=True
        )
    )
    if min(places) < 1:
        raise RuntimeError(
            f"{op}: a kernel {tuple(kernel)} does not fit the input {tuple(input.shape)}."
        )
    if (offset.size(0), *offset.shape[2:]) != (input.size(0), *places):
        raise RuntimeError(
            f"{op}: expected an offset for {input.size(0)} images of {places} places, "
            f"got {tuple(offset.shape)}."
        )
    expected = (input.size(0), n_shifts * n_taps, *places)
    if mask is not None and mask.shape != expected:
        raise RuntimeError(f"{op}: expected a mask {expected}, got {tuple(mask.shape)}.")
    if bias is not None and bias.shape != (weight.size(0),):
        raise RuntimeError(f"{op}: expected a bias ({weight.size(0)},), got {tuple(bias.shape)}.")


class DeformConv2d(nn.Module):
    """The layer of :func:`deform_conv2d`; ``forward`` takes the offset and the mask.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the result.
        kernel_size: the size of the kernels, a number or a pair.
        groups: the number of groups of channels; each output channel sees the inputs of its group
            only.

    Example:
        >>> from facula.vision.ops import DeformConv2d
        >>> DeformConv2d(3, 8, 3)(facula.ones(1, 3, 5, 5), facula.zeros(1, 18, 3, 3)).shape
        torch.Size([1, 8, 3, 3])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Size,
        stride: _Size = 1,
        padding: _Size = 0,
        dilation: _Size = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0 or out_channels % groups != 0:
            raise ValueError(
                f"DeformConv2d: expected groups to divide in_channels={in_channels} and "
                f"out_channels={out_channels}, got {groups}."
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride)
        self.padding = _pair(padding)
        self.dilation = _pair(dilation)
        self.groups = groups
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = nn.Parameter(facula.empty(shape))
        self.bias = nn.Parameter(facula.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, as a convolution does."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        return deform_conv2d(
            input,
            offset,
            self.weight,
            self.bias,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            mask=mask,
        )

    def __repr__(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        for name, default in (("padding", (0, 0)), ("dilation", (1, 1)), ("groups", 1)):
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        if self.bias is None:
            parts.append("bias=False")
        return f"{type(self).__name__}({', '.join(parts)})"

"""Pooling: the largest element, the average or a norm of windows."""

from __future__ import annotations

from typing import Any, ClassVar

from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _ntuple, _single

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

_Size = int | tuple[int, ...]
_OptionalSize = int | None | tuple[int | None, ...]


class _Pool(Module):
    # The name of the operation: programs that count calls put their own into nn.functional.
    _function: ClassVar[str]

    def _call(self, *args: Any) -> Any:
        return getattr(F, self._function)(*args)


class _MaxPoolNd(_Pool):
    __constants__ = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")

    def __init__(
        self,
        kernel_size: _Size,
        stride: _Size | None = None,
        padding: _Size = 0,
        dilation: _Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )

    def forward(self, input: Tensor) -> Any:
        window = self.kernel_size, self.stride, self.padding, self.dilation
        return self._call(input, *window, self.ceil_mode, self.return_indices)


class _MaxUnpoolNd(_Pool):
    _n_dims: ClassVar[int]

    def __init__(self, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0) -> None:
        super().__init__()
        each = _ntuple(self._n_dims)
        self.kernel_size = each(kernel_size)
        self.stride = each(stride if stride is not None else kernel_size)
        self.padding = each(padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        window = self.kernel_size, self.stride, self.padding
        result: Tensor = self._call(input, indices, *window, output_size)
        return result


class _AvgPoolNd(_Pool):
    __constants__: tuple[str, ...] = (
        "kernel_size",
        "stride",
        "padding",
        "ceil_mode",
        "count_include_pad",
    )
    kernel_size: _Size
    stride: _Size
    padding: _Size

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _DividedAvgPoolNd(_AvgPoolNd):
    __constants__ = (*_AvgPoolNd.__constants__, "divisor_override")

    def __init__(
        self,
        kernel_size: _Size,
        stride: _Size | None = None,
        padding: _Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        window = self.kernel_size, self.stride, self.padding, self.ceil_mode
        result: Tensor = self._call(input, *window, self.count_include_pad, self.divisor_override)
        return result


class _FractionalMaxPoolNd(_Pool):
    __constants__ = ("kernel_size", "return_indices", "output_size", "output_ratio")
    _n_dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: _Size,
        output_size: _Size | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        each = _ntuple(self._n_dims)
        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = each(output_size) if output_size is not None else None
        self.output_ratio = each(output_ratio) if output_ratio is not None else None
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name}: expected output_size or output_ratio.")
        if output_size is not None and output_ratio is not None:
            raise ValueError(f"{name}: expected one of output_size and output_ratio, got both.")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"{name}: output_ratio must be between 0 and 1, got {output_ratio}.")

    def forward(self, input: Tensor) -> Any:
        sizes = self.kernel_size, self.output_size, self.output_ratio
        return self._call(input, *sizes, self.return_indices, self._random_samples)


class _LPPoolNd(_Pool):
    __constants__ = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(
        self,
        norm_type: float,
        kernel_size: _Size,
        stride: _Size | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._call(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
        return result


class _AdaptiveMaxPoolNd(_Pool):
    __constants__ = ("output_size", "return_indices")

    def __init__(self, output_size: _OptionalSize, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"

    def forward(self, input: Tensor) -> Any:
        return self._call(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(_Pool):
    __constants__ = ("output_size",)

    def __init__(self, output_size: _OptionalSize) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._call(input, self.output_size)
        return result


class MaxPool1d(_MaxPoolNd):
    """The largest elements of windows over the last dimension.

    Args:
        kernel_size: the size of the windows.
        stride: the distance between windows; by default their size.
        padding: how many elements, less than all others, to add on both sides; at most half a
            window.
        dilation: the distance between neighbouring elements of a window.
        return_indices: whether the places of the largest elements are returned, too.
        ceil_mode: whether a window may begin inside the input and end outside.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> facula.nn.MaxPool1d(2)(facula.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest elements of windows over the last two dimensions.

    The arguments are those of :class:`MaxPool1d`.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.MaxPool2d(2)(facula.arange(16.0).reshape(1, 4, 4))
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest elements of windows over the last three dimensions.

    The arguments are those of :class:`MaxPool1d`.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> facula.nn.MaxPool3d(2)(facula.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[7.]]]])
    """

    _function = "max_pool3d"


class MaxUnpool1d(_MaxUnpoolNd):
    """Put elements back where :class:`MaxPool1d` found them; the others are 0.

    Args:
        kernel_size: the size of the windows of the pooling.
        stride: the distance between the windows of the pooling; by default their size.
        padding: how many elements the pooling added on both sides.

    Shape:
        input and indices ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> values, indices = facula.nn.MaxPool1d(2, return_indices=True)(facula.ones(1, 4))
        >>> facula.nn.MaxUnpool1d(2)(values, indices)
        tensor([[1., 0., 1., 0.]])
    """

    _n_dims = 1
    _function = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Put elements back where :class:`MaxPool2d` found them; the others are 0.

    Args:
        kernel_size: the size of the windows of the pooling.
        stride: the distance between the windows of the pooling; by default their size.
        padding: how many elements the pooling added on both sides.

    Shape:
        input and indices ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.MaxUnpool2d(2)(facula.tensor([[[5.0]]]), facula.tensor([[[2]]]))
        tensor([[[0., 0.],
                 [5., 0.]]])
    """

    _n_dims = 2
    _function = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Put elements back where :class:`MaxPool3d` found them; the others are 0.

    Args:
        kernel_size: the size of the windows of the pooling.
        stride: the distance between the windows of the pooling; by default their size.
        padding: how many elements the pooling added on both sides.

    Shape:
        input and indices ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> place = facula.tensor([[[[3]]]])
        >>> facula.nn.MaxUnpool3d((1, 2, 2))(facula.tensor([[[[5.0]]]]), place)
        tensor([[[[0., 0.],
                  [0., 5.]]]])
    """

    _n_dims = 3
    _function = "max_unpool3d"


class AvgPool1d(_AvgPoolNd):
    """Averages of windows over the last dimension.

    Args:
        kernel_size: the size of the windows.
        stride: the distance between windows; by default their size.
        padding: how many zeros to add on both sides, at most half of the window.
        ceil_mode: whether a window may begin inside the input and end outside.
        count_include_pad: whether the zeros of the padding count in the averages.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> facula.nn.AvgPool1d(2)(facula.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    _function = "avg_pool1d"

    def __init__(
        self,
        kernel_size: _Size,
        stride: _Size | None = None,
        padding: _Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._call(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )
        return result


class AvgPool2d(_DividedAvgPoolNd):
    """Averages of windows over the last two dimensions.

    The other arguments are those of :class:`AvgPool1d`.

    Args:
        divisor_override: what the sums are divided by, in place of the size of the windows.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.AvgPool2d(2)(facula.arange(16.0).reshape(1, 4, 4))
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """

    _function = "avg_pool2d"


class AvgPool3d(_DividedAvgPoolNd):
    """Averages of windows over the last three dimensions; see :class:`AvgPool2d` for the arguments.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> facula.nn.AvgPool3d(2)(facula.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[3.5000]]]])
    """

    _function = "avg_pool3d"


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest elements of windows at random places of the last two dimensions.

    Args:
        kernel_size: the size of the windows, one number or one for each dimension.
        output_size: the size of the result.
        output_ratio: the ratio of the result's size to the input's, in place of output_size.
        return_indices: whether the places of the largest elements are returned, too.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.FractionalMaxPool2d(2, output_ratio=0.7)(facula.rand(1, 3, 10, 10)).shape
        torch.Size([1, 3, 7, 7])
    """

    _n_dims = 2
    _function = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest elements of windows at random places of the last three dimensions.

    The arguments are those of :class:`FractionalMaxPool2d`.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> facula.nn.FractionalMaxPool3d(2, output_size=3)(facula.rand(1, 3, 5, 5, 5)).shape
        torch.Size([1, 3, 3, 3, 3])
    """

    _n_dims = 3
    _function = "fractional_max_pool3d"


class LPPool1d(_LPPoolNd):
    """The norms of windows over the last dimension.

    Args:
        norm_type: the order p of the norm, the p-th root of the sum of p-th powers.
        kernel_size: the size of the windows.
        stride: the distance between windows; by default their size.
        ceil_mode: whether a window may begin inside the input and end outside.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> facula.nn.LPPool1d(2, 2)(facula.tensor([[3.0, 4.0, 0.0, 2.0]]))
        tensor([[5., 2.]])
    """

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The norms of windows over the last two dimensions; see :class:`LPPool1d` for the arguments.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.LPPool2d(2, 2)(facula.tensor([[[3.0, 4.0], [0.0, 0.0]]]))
        tensor([[[5.]]])
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The norms of windows over the last three dimensions; see :class:`LPPool1d` for the arguments.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> facula.nn.LPPool3d(1, 2)(facula.ones(1, 2, 2, 2))
        tensor([[[[8.]]]])
    """

    _function = "lp_pool3d"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of windows that cover the last dimension evenly.

    Args:
        output_size: the number of windows.
        return_indices: whether the places of the largest elements are returned, too.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> facula.nn.AdaptiveMaxPool1d(2)(facula.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of windows that cover the last two dimensions evenly.

    Args:
        output_size: the number of windows, for all dimensions or for each; None stands for the
            input's size.
        return_indices: whether the places of the largest elements are returned, too.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.AdaptiveMaxPool2d((1, None))(facula.arange(4.0).reshape(1, 2, 2))
        tensor([[[2., 3.]]])
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of windows that cover three dimensions evenly.

    The arguments are those of :class:`AdaptiveMaxPool2d`.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> facula.nn.AdaptiveMaxPool3d(1)(facula.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[7.]]]])
    """

    _function = "adaptive_max_pool3d"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Averages of windows that cover the last dimension evenly.

    Args:
        output_size: the number of windows.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> facula.nn.AdaptiveAvgPool1d(2)(facula.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Averages of windows that cover the last two dimensions evenly.

    Args:
        output_size: the number of windows, for all dimensions or for each; None stands for the
            input's size.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.AdaptiveAvgPool2d(1)(facula.arange(16.0).reshape(1, 4, 4))
        tensor([[[7.5000]]])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Averages of windows that cover three dimensions evenly.

    The arguments are those of :class:`AdaptiveAvgPool2d`.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> facula.nn.AdaptiveAvgPool3d(1)(facula.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[3.5000]]]])
    """

    _function = "adaptive_avg_pool3d"

"""Pooling: the largest element, the average or a norm of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._out import into

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

_Ints = int | Sequence[int]

avg_pool1d = _core.avg_pool1d


def max_pool1d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest elements of windows over the last dimension.

    Args:
        input: a tensor of floating-point dtype.
        kernel_size: the size of the windows.
        stride: the distance between windows; by default their size.
        padding: how many elements, less than all others, to add on both sides; at most half a
            window.
        dilation: the distance between neighbouring elements of a window.
        ceil_mode: whether a window may begin inside the input and end outside.
        return_indices: whether the places of the largest elements are returned, too.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``; the result has as many windows as fit in place of L.

    Example:
        >>> import facula.nn.functional as F
        >>> F.max_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
        (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    pool = _core.max_pool1d_with_indices if return_indices else _core.max_pool1d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest elements of windows over the last two dimensions.

    The arguments are those of :func:`max_pool1d`, one number for both dimensions or one for each.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``; indices are flat ones of ``(H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.max_pool2d(facula.arange(16.0).reshape(1, 4, 4), kernel_size=3, stride=1)
        tensor([[[10., 11.],
                 [14., 15.]]])
    """
    pool = _core._max_pool2d_with_indices if return_indices else _core.max_pool2d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest elements of windows over the last three dimensions.

    The arguments are those of :func:`max_pool1d`, one number for all dimensions or one for each.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; indices are flat ones of ``(D, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.max_pool3d(facula.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
    pool = _core._max_pool3d_with_indices if return_indices else _core.max_pool3d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`max_pool1d`, always with indices.

    Example:
        >>> import facula.nn.functional as F
        >>> F.max_pool1d_with_indices(facula.tensor([[1.0, 3.0]]), 2)
        (tensor([[3.]]), tensor([[1]]))
    """
    return _core.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`max_pool2d`, always with indices.

    Example:
        >>> import facula.nn.functional as F
        >>> F.max_pool2d_with_indices(facula.arange(4.0).reshape(1, 2, 2), 2)
        (tensor([[[3.]]]), tensor([[[3]]]))
    """
    return _core._max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`max_pool3d`, always with indices.

    Example:
        >>> import facula.nn.functional as F
        >>> F.max_pool3d_with_indices(facula.arange(8.0).reshape(1, 2, 2, 2), 2)
        (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    return _core._max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool2d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Averages of windows over the last two dimensions.

    Args:
        input: a tensor of floating-point dtype or int64.
        kernel_size: the size of the windows, one number or one for each dimension.
        stride: the distance between windows; by default their size.
        padding: how many zeros to add on all sides, at most half of the window.
        ceil_mode: whether a window may begin inside the input and end outside.
        count_include_pad: whether the zeros of the padding count in the averages.
        divisor_override: what the sums are divided by, in place of the size of the windows.
        out: a tensor to write the result to.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``; the result has windows in place of H and W.

    Example:
        >>> import facula.nn.functional as F
        >>> F.avg_pool2d(facula.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """
    if out is not None:
        _core._check_out_dtype("avg_pool2d", input.dtype, out.dtype)
    result = _core._avg_pool2d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return into("avg_pool2d", out, result)


def avg_pool3d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Averages of windows over the last three dimensions.

    The arguments are those of :func:`avg_pool2d`.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.avg_pool3d(facula.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[3.5000]]]])
    """
    if out is not None:
        _core._check_out_dtype("avg_pool3d", input.dtype, out.dtype)
    result = _core._avg_pool3d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return into("avg_pool3d", out, result)


def _fractional(
    n: int,
    input: Tensor,
    kernel_size: _Ints,
    output_size: _Ints | None,
    output_ratio: Any,
    return_indices: bool,
    samples: Tensor | None,
) -> Any:
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"fractional_max_pool{n}d: expected output_size or output_ratio.")
        ratios = output_ratio if isinstance(output_ratio, Sequence) else [output_ratio] * n
        output_size = [int(input.shape[i - n] * ratios[i]) for i in range(n)]
    if samples is None:
        n_batch = 1 if input.dim() == n + 1 else input.size(0)
        samples = _core.rand(n_batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
    values, indices = _core._fractional_max_pool(
        input, n, kernel_size, output_size, samples, bool(return_indices)
    )
    return (values, indices) if return_indices else values


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: _Ints,
    output_size: _Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows at random places of the last two dimensions.

    Args:
        input: a tensor of floating-point dtype.
        kernel_size: the size of the windows, one number or one for each dimension.
        output_size: the size of the result.
        output_ratio: the ratio of the result's size to the input's, in place of output_size.
        return_indices: whether the places of the largest elements are returned, too.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``; the result has output_size in place of H and W.

    Example:
        >>> import facula.nn.functional as F
        >>> F.fractional_max_pool2d(facula.rand(1, 3, 10, 10), 2, output_ratio=0.7).shape
        torch.Size([1, 3, 7, 7])
    """
    return _fractional(
        2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: _Ints,
    output_size: _Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows at random places of the last three dimensions.

    The arguments are those of :func:`fractional_max_pool2d`.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.fractional_max_pool3d(facula.rand(1, 3, 8, 8, 8), 2, output_size=5).shape
        torch.Size([1, 3, 5, 5, 5])
    """
    return _fractional(
        3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    output_size: _Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """:func:`fractional_max_pool2d`, always with indices.

    Example:
        >>> import facula.nn.functional as F
        >>> F.fractional_max_pool2d_with_indices(facula.rand(1, 9, 9), 2, 3)[1].shape
        torch.Size([1, 3, 3])
    """
    return _fractional(  # type: ignore[no-any-return]
        2, input, kernel_size, output_size, output_ratio, True, _random_samples
    )


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    output_size: _Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """:func:`fractional_max_pool3d`, always with indices.

    Example:
        >>> import facula.nn.functional as F
        >>> F.fractional_max_pool3d_with_indices(facula.rand(1, 9, 9, 9), 2, 3)[1].shape
        torch.Size([1, 3, 3, 3])
    """
    return _fractional(  # type: ignore[no-any-return]
        3, input, kernel_size, output_size, output_ratio, True, _random_samples
    )


def _each(n: int, value: _Ints) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def _norm_of(averages: Tensor, norm_type: float, numel: int) -> Tensor:
    # The product is the average itself, but its gradient is 0 at 0, where that of the root is
    # infinite.
    return (averages.sign() * _core.relu(averages.abs())).mul(numel).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: _Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norms of windows over the last dimension.

    Args:
        input: a tensor of floating-point dtype.
        norm_type: the order p of the norm, the p-th root of the sum of p-th powers.
        kernel_size: the size of the windows.
        stride: the distance between windows; by default their size.
        ceil_mode: whether a window may begin inside the input and end outside.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.lp_pool1d(facula.tensor([[3.0, 4.0, 0.0, 2.0]]), 2, 2)
        tensor([[5., 2.]])
    """
    averages = avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _norm_of(averages, norm_type, kernel_size)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norms of windows over the last two dimensions; see :func:`lp_pool1d` for the arguments.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.lp_pool2d(facula.tensor([[[3.0, 4.0], [0.0, 0.0]]]), 2, 2)
        tensor([[[5.]]])
    """
    height, width = _each(2, kernel_size)
    averages = avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _norm_of(averages, norm_type, height * width)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norms of windows over the last three dimensions; see :func:`lp_pool1d` for the arguments.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.lp_pool3d(facula.ones(1, 2, 2, 2), 1, 2)
        tensor([[[[8.]]]])
    """
    depth, height, width = _each(3, kernel_size)
    averages = avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _norm_of(averages, norm_type, depth * height * width)


def _max_unpool(
    n: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None,
    padding: _Ints,
    output_size: Sequence[int] | None,
) -> Tensor:
    kernel = _each(n, kernel_size)
    step = kernel if stride is None else _each(n, stride)
    around = _each(n, padding)
    sizes = [(input.shape[i - n] - 1) * step[i] - 2 * around[i] + kernel[i] for i in range(n)]
    if output_size is not None:
        wanted = tuple(output_size)
        if len(wanted) == n + 2:
            wanted = wanted[2:]
        if len(wanted) != n:
            raise ValueError(
                f"max_unpool{n}d: expected an output_size of {n} or {n + 2} numbers, "
                f"got {tuple(output_size)}."
            )
        for size, default, s in zip(wanted, sizes, step, strict=True):
            if not default - s < size < default + s:
                raise ValueError(
                    f"max_unpool{n}d: output_size {wanted} is not one that pooling turns into "
                    f"{tuple(input.shape[-n:])}: expected {default - s + 1} to {default + s - 1}, "
                    f"got {size}."
                )
        sizes = list(wanted)
    return _core._max_unpool(input, indices, n, sizes)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put elements back where max pooling found them; the others are 0.

    Args:
        input: the result of max pooling.
        indices: the indices that max pooling returned.
        kernel_size: the size of the windows of the pooling.
        stride: the distance between the windows of the pooling; by default their size.
        padding: how many elements the pooling added on both sides.
        output_size: the size before the pooling, needed where several sizes lead to the same
            result.

    Shape:
        input and indices ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> import facula.nn.functional as F
        >>> values, indices = F.max_pool1d(facula.tensor([[1.0, 3.0]]), 2, return_indices=True)
        >>> F.max_unpool1d(values, indices, 2)
        tensor([[0., 3.]])
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put elements back where max pooling found them; see :func:`max_unpool1d` for the arguments.

    Shape:
        input and indices ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.max_unpool2d(facula.tensor([[[5.0]]]), facula.tensor([[[2]]]), 2)
        tensor([[[0., 0.],
                 [5., 0.]]])
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put elements back where max pooling found them; see :func:`max_unpool1d` for the arguments.

    Shape:
        input and indices ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.max_unpool3d(facula.tensor([[[[5.0]]]]), facula.tensor([[[[3]]]]), (1, 2, 2))
        tensor([[[[0., 0.],
                  [0., 5.]]]])
    """
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)

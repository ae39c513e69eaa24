"""The standard's chapter of creation functions."""

from __future__ import annotations

from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula.array_api._data_types import Device, DType, Number

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

Shape = int | tuple[int, ...]


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """Evenly spaced numbers of the half-open interval from ``start`` to ``stop``.

    Args:
        start: the first number; if ``stop`` is left out this is the stop, and the first is 0.
        stop: where the numbers end; itself not among them.
        step: the distance of neighbours.
        dtype: the dtype; an integer one for integers if left out, else the default one.
        device: where the tensor is made.

    Example:
        >>> facula.array_api.arange(5, 0, -2)
        tensor([5, 3, 1])
    """
    if stop is None:
        start, stop = 0, start
    if step != 0 and (stop - start) / step <= 0:  # empty, which PyTorch takes for a mistake
        start = stop = type(start + stop)(stop)  # a float if either is one
    return _core.arange(start, stop, step, dtype=dtype, device=device)


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool | None = None,
) -> Tensor:
    """A tensor of numbers, nested sequences, arrays, or what has a buffer or DLPack's protocol.

    Args:
        obj: what becomes a tensor; a tensor stays part of its graph.
        dtype: the dtype of the result; that of ``obj`` if left out.
        device: the device of the result; that of ``obj`` if left out.
        copy: True always copies, False raises ``ValueError`` where a copy is needed, None copies
            where needed.

    Example:
        >>> facula.array_api.asarray([[1, 2], [3, 4]], dtype=facula.float64)
        tensor([[1., 2.],
                [3., 4.]], dtype=torch.float64)
    """
    if not isinstance(obj, Tensor):
        if copy is False and isinstance(obj, (bool, int, float, complex, list, tuple)):
            raise ValueError(
                f"asarray: a {type(obj).__name__} cannot become a tensor without a copy. "
                "Leave copy out."
            )
        return _core.asarray(_typed(obj), dtype=dtype, device=device, copy=copy)
    result = obj.to(
        device=obj.device if device is None else device,
        dtype=obj.dtype if dtype is None else dtype,
        copy=copy is True,
    )
    if copy is False and result is not obj:
        raise ValueError(
            f"asarray: {obj.dtype} on {obj.device} cannot become {result.dtype} on "
            f"{result.device} without a copy. Leave copy out."
        )
    return result


def _typed(obj: Any) -> Any:
    """Other objects' memory as an array, because PyTorch would take its bytes for any dtype."""
    if any(hasattr(obj, name) for name in ("__dlpack__", "__array__", "__array_interface__")):
        return obj
    try:
        buffer = memoryview(obj)
    except TypeError:
        return obj
    import numpy  # here, so that only its users pay for the import

    return numpy.asarray(buffer)


def empty(shape: Shape, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor whose elements may have any values.

    Args:
        shape: the sizes of the dimensions.
        dtype: the dtype; the default one if left out.
        device: where the tensor is made.

    Example:
        >>> facula.array_api.empty((2, 3)).shape
        torch.Size([2, 3])
    """
    return _core.empty(shape, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor of the same shape, whose elements may have any values.

    Args:
        x: gives shape, and dtype and device where these are left out.
        dtype: the dtype of the result.
        device: the device of the result.

    Example:
        >>> facula.array_api.empty_like(facula.ones(2, 3)).shape
        torch.Size([2, 3])
    """
    return _core.empty_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """A matrix with ones on one diagonal and zeros elsewhere.

    Args:
        n_rows: the number of rows.
        n_cols: the number of columns; that of the rows if left out.
        k: which diagonal: 0 is the main one, larger numbers are above it, smaller ones below.
        dtype: the dtype; the default one if left out.
        device: where the tensor is made.

    Example:
        >>> facula.array_api.eye(2, 3, k=1)
        tensor([[0., 1., 0.],
                [0., 0., 1.]])
    """
    result = _core.zeros(n_rows, n_rows if n_cols is None else n_cols, dtype=dtype, device=device)
    if -n_rows <= k <= result.shape[1]:
        result.diagonal(k).fill_(1)
    return result


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array.

    Args:
        x: an object with ``__dlpack__``.
        device: where the result is wanted; the array's owner makes the copy if one is needed.
        copy: True always copies, False raises where a copy is needed, None copies where needed.

    Example:
        >>> import numpy
        >>> facula.array_api.from_dlpack(numpy.arange(3))
        tensor([0, 1, 2])
    """
    return facula.from_dlpack(x, device=device, copy=copy)


def full(
    shape: Shape,
    fill_value: Number,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """A tensor of which all elements have one value.

    Args:
        shape: the sizes of the dimensions.
        fill_value: the value.
        dtype: the dtype; the default one of the value's kind if left out.
        device: where the tensor is made.

    Example:
        >>> facula.array_api.full(3, True)
        tensor([True, True, True])
    """
    return _core.full(shape, fill_value, dtype=dtype, device=device)


def full_like(
    x: Tensor,
    /,
    fill_value: Number,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """A tensor of the same shape, of which all elements have one value.

    Args:
        x: gives shape, and dtype and device where these are left out.
        fill_value: the value.
        dtype: the dtype of the result.
        device: the device of the result.

    Example:
        >>> facula.array_api.full_like(facula.ones(2), 7)
        tensor([7., 7.])
    """
    return _core.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(
    start: Number,
    stop: Number,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> Tensor:
    """Evenly spaced numbers from ``start`` to ``stop``.

    Args:
        start: the first number.
        stop: the last number, or, without ``endpoint``, the one that would follow.
        num: how many.
        dtype: the dtype; the default one of the numbers' kind if left out.
        device: where the tensor is made.
        endpoint: whether ``stop`` is the last number.

    Example:
        >>> facula.array_api.linspace(0, 1, 4, endpoint=False)
        tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if endpoint:
        return _core.linspace(start, stop, num, dtype=dtype, device=device)
    return _core.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of all points of a grid, one tensor for each axis.

    Args:
        arrays: the coordinates along each axis, all of one dtype.
        indexing: ``"xy"`` if the first axis goes along the columns, ``"ij"`` if along the rows.

    Example:
        >>> x, y = facula.array_api.meshgrid(facula.arange(2), facula.arange(3))
        >>> x
        tensor([[0, 1],
                [0, 1],
                [0, 1]])
    """
    if len(arrays) < 2:  # there is nothing to swap, which PyTorch does not take
        indexing = "ij"
    return list(facula.meshgrid(*arrays, indexing=indexing)) if arrays else []


def ones(shape: Shape, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor of ones.

    Args:
        shape: the sizes of the dimensions.
        dtype: the dtype; the default one if left out.
        device: where the tensor is made.

    Example:
        >>> facula.array_api.ones(2)
        tensor([1., 1.])
    """
    return _core.ones(shape, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor of ones, of the same shape.

    Args:
        x: gives shape, and dtype and device where these are left out.
        dtype: the dtype of the result.
        device: the device of the result.

    Example:
        >>> facula.array_api.ones_like(facula.zeros(2))
        tensor([1., 1.])
    """
    return _core.ones_like(x, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices with zeros above a diagonal.

    Args:
        x: the matrices, in the last two dimensions.
        k: which diagonal: 0 is the main one, larger numbers are above it, smaller ones below.

    Example:
        >>> facula.array_api.tril(facula.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
    """
    return _core.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The matrices with zeros below a diagonal.

    Args:
        x: the matrices, in the last two dimensions.
        k: which diagonal: 0 is the main one, larger numbers are above it, smaller ones below.

    Example:
        >>> facula.array_api.triu(facula.ones(2, 2))
        tensor([[1., 1.],
                [0., 1.]])
    """
    return _core.triu(x, k)


def zeros(shape: Shape, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor of zeros.

    Args:
        shape: the sizes of the dimensions.
        dtype: the dtype; the default one if left out.
        device: where the tensor is made.

    Example:
        >>> facula.array_api.zeros(2)
        tensor([0., 0.])
    """
    return _core.zeros(shape, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor of zeros, of the same shape.

    Args:
        x: gives shape, and dtype and device where these are left out.
        dtype: the dtype of the result.
        device: the device of the result.

    Example:
        >>> facula.array_api.zeros_like(facula.ones(2))
        tensor([0., 0.])
    """
    return _core.zeros_like(x, dtype=dtype, device=device)

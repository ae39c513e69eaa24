"""The standard's extension of Fourier transforms: ``facula.fft`` with its signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import facula
from facula._core import Tensor
from facula.array_api._data_types import Device, DType

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm: TypeAlias = Literal["backward", "ortho", "forward"]


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Discrete Fourier transform along one dimension.

    Args:
        x: the tensor.
        n: the number of points: the tensor is cut, or zeros follow it.
        axis: the dimension.
        norm: where the number of points divides, as in :func:`facula.fft.fft`.

    Example:
        >>> facula.array_api.fft.fft(facula.tensor([1.0, 0.0]))
        tensor([1.+0.j, 1.+0.j])
    """
    return facula.fft.fft(x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Inverse of ``fft``.

    Args:
        x: the tensor.
        n: the number of points: the tensor is cut, or zeros follow it.
        axis: the dimension.
        norm: where the number of points divides, as in :func:`facula.fft.ifft`.

    Example:
        >>> facula.array_api.fft.ifft(facula.tensor([1 + 0j, 1 + 0j]))
        tensor([1.+0.j, 0.+0.j])
    """
    return facula.fft.ifft(x, n, axis, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Discrete Fourier transform of real numbers: the half that determines the other.

    Args:
        x: the tensor.
        n: the number of points: the tensor is cut, or zeros follow it.
        axis: the dimension.
        norm: where the number of points divides, as in :func:`facula.fft.rfft`.

    Example:
        >>> facula.array_api.fft.rfft(facula.tensor([1.0, 0.0]))
        tensor([1.+0.j, 1.+0.j])
    """
    return facula.fft.rfft(x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Inverse of ``rfft``.

    Args:
        x: the tensor.
        n: the number of points of the result; an even one if left out.
        axis: the dimension.
        norm: where the number of points divides, as in :func:`facula.fft.irfft`.

    Example:
        >>> facula.array_api.fft.irfft(facula.tensor([1 + 0j, 1 + 0j]))
        tensor([1., 0.])
    """
    return facula.fft.irfft(x, n, axis, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Discrete Fourier transform of a signal given by half, as its other half is conjugated.

    Args:
        x: the tensor.
        n: the number of points of the result; an even one if left out.
        axis: the dimension.
        norm: where the number of points divides, as in :func:`facula.fft.hfft`.

    Example:
        >>> facula.array_api.fft.hfft(facula.tensor([1 + 0j, 1 + 0j]))
        tensor([2., 0.])
    """
    return facula.fft.hfft(x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Inverse of ``hfft``.

    Args:
        x: the tensor.
        n: the number of points: the tensor is cut, or zeros follow it.
        axis: the dimension.
        norm: where the number of points divides, as in :func:`facula.fft.ihfft`.

    Example:
        >>> facula.array_api.fft.ihfft(facula.tensor([2.0, 0.0]))
        tensor([1.-0.j, 1.-0.j])
    """
    # Other libraries read the memory, which a conjugate view leaves as it is.
    return facula.fft.ihfft(x, n, axis, norm).resolve_conj()


def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Discrete Fourier transform along several dimensions.

    Args:
        x: the tensor.
        s: the number of points along each of the dimensions; their sizes if left out.
        axes: the dimensions; all, or the last ones of ``s``, if left out.
        norm: where the number of points divides, as in :func:`facula.fft.fftn`.

    Example:
        >>> facula.array_api.fft.fftn(facula.tensor([[1.0, 0.0]]))
        tensor([[1.+0.j, 1.+0.j]])
    """
    return facula.fft.fftn(x, s, axes, norm)


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Inverse of ``fftn``.

    Args:
        x: the tensor.
        s: the number of points along each of the dimensions; their sizes if left out.
        axes: the dimensions; all, or the last ones of ``s``, if left out.
        norm: where the number of points divides, as in :func:`facula.fft.ifftn`.

    Example:
        >>> facula.array_api.fft.ifftn(facula.tensor([[1 + 0j, 1 + 0j]]))
        tensor([[1.+0.j, 0.+0.j]])
    """
    return facula.fft.ifftn(x, s, axes, norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Discrete Fourier transform of real numbers along several dimensions: one half.

    Args:
        x: the tensor.
        s: the number of points along each of the dimensions; their sizes if left out.
        axes: the dimensions; all, or the last ones of ``s``, if left out.
        norm: where the number of points divides, as in :func:`facula.fft.rfftn`.

    Example:
        >>> facula.array_api.fft.rfftn(facula.tensor([[1.0, 0.0]]))
        tensor([[1.+0.j, 1.+0.j]])
    """
    return facula.fft.rfftn(x, s, axes, norm)


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Inverse of ``rfftn``.

    Args:
        x: the tensor.
        s: the number of points along each of the dimensions; their sizes if left out.
        axes: the dimensions; all, or the last ones of ``s``, if left out.
        norm: where the number of points divides, as in :func:`facula.fft.irfftn`.

    Example:
        >>> facula.array_api.fft.irfftn(facula.tensor([[1 + 0j, 1 + 0j]]))
        tensor([[1., 0.]])
    """
    return facula.fft.irfftn(x, s, axes, norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """The frequencies of the elements of ``fft``.

    Args:
        n: the number of points.
        d: the time from one point to the next.
        dtype: the dtype; the default one if left out.
        device: where the tensor is made.

    Example:
        >>> facula.array_api.fft.fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return facula.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """The frequencies of the elements of ``rfft``.

    Args:
        n: the number of points.
        d: the time from one point to the next.
        dtype: the dtype; the default one if left out.
        device: where the tensor is made.

    Example:
        >>> facula.array_api.fft.rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000])
    """
    return facula.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The elements of a transform with frequency 0 in the middle.

    Args:
        x: the tensor.
        axes: the dimension or dimensions; all if left out.

    Example:
        >>> facula.array_api.fft.fftshift(facula.arange(4))
        tensor([2, 3, 0, 1])
    """
    return facula.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Inverse of ``fftshift``.

    Args:
        x: the tensor.
        axes: the dimension or dimensions; all if left out.

    Example:
        >>> facula.array_api.fft.ifftshift(facula.arange(4))
        tensor([2, 3, 0, 1])
    """
    return facula.fft.ifftshift(x, axes)

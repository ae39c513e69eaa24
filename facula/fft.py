"""Discrete Fourier transforms.

The functions of two and of several dimensions differ in their defaults only. The transforms
themselves are in ``core/ops/fft/fft.cpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._mark import operation
from facula._ops._out import into

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_Sizes = int | Sequence[int] | None


@operation(module=__name__)
def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Fourier transform along a dimension.

    Args:
        input: the signal, complex or real.
        n: the size to which the signal is cut or padded with zeros before the transform; its own
            by default.
        dim: the dimension that is transformed.
        norm: the factor of the result: ``"backward"`` is 1 and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is ``1 / n``, for ``n`` points transformed together.
        out: where to put the result.

    Example:
        >>> facula.fft.fft(facula.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return into("fft", out, _core._fft_complex(input, "fft", n, dim, norm, True, True))


@operation(module=__name__)
def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of the Fourier transform ``fft`` along a dimension.

    Args:
        input: the signal, complex or real.
        n: the size to which the signal is cut or padded with zeros before the transform; its own
            by default.
        dim: the dimension that is transformed.
        norm: the factor of the result: ``"backward"`` is ``1 / n`` and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is 1, for ``n`` points transformed together.
        out: where to put the result.

    Example:
        >>> facula.fft.ifft(facula.tensor([10.0, -2 + 2j, -2.0, -2 - 2j]))
        tensor([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j])
    """
    return into("ifft", out, _core._fft_complex(input, "ifft", n, dim, norm, False, True))


@operation(module=__name__)
def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Fourier transform of real numbers, without its redundant half along a dimension.

    Args:
        input: the signal, of real numbers.
        n: the size to which the signal is cut or padded with zeros before the transform; its own
            by default.
        dim: the dimension that is transformed.
        norm: the factor of the result: ``"backward"`` is 1 and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is ``1 / n``, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The result has ``n // 2 + 1`` elements along ``dim``, for ``n`` of the signal.

    Example:
        >>> facula.fft.rfft(facula.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return into("rfft", out, _core._fft_to_half(input, "rfft", n, dim, norm, True, True))


@operation(module=__name__)
def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of ``rfft`` along a dimension.

    Args:
        input: the half of a transform that is not redundant.
        n: the size of the result; ``2 * (m - 1)`` by default for an input of size ``m``.
        dim: the dimension that is transformed.
        norm: the factor of the result: ``"backward"`` is ``1 / n`` and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is 1, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The input needs ``n // 2 + 1`` elements along ``dim``, for ``n`` of the result.

    Example:
        >>> facula.fft.irfft(facula.tensor([10.0, -2 + 2j, -2.0]))
        tensor([1., 2., 3., 4.])
    """
    return into("irfft", out, _core._fft_from_half(input, "irfft", n, dim, norm, False, True))


@operation(module=__name__)
def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Fourier transform, to real numbers, of a signal given by its half along a dimension.

    The other half is its conjugate, as if the signal were the transform of real numbers.

    Args:
        input: the first half of the signal, complex or real.
        n: the size of the result; ``2 * (m - 1)`` by default for an input of size ``m``.
        dim: the dimension that is transformed.
        norm: the factor of the result: ``"backward"`` is 1 and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is ``1 / n``, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The input needs ``n // 2 + 1`` elements along ``dim``, for ``n`` of the result.

    Example:
        >>> facula.fft.hfft(facula.tensor([1.0, 2.0, 1.0]))
        tensor([ 6.,  0., -2.,  0.])
    """
    return into("hfft", out, _core._fft_from_half(input, "hfft", n, dim, norm, True, True))


@operation(module=__name__)
def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of ``hfft`` along a dimension.

    Args:
        input: the signal, of real numbers.
        n: the size to which the signal is cut or padded with zeros before the transform; its own
            by default.
        dim: the dimension that is transformed.
        norm: the factor of the result: ``"backward"`` is ``1 / n`` and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is 1, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The result has ``n // 2 + 1`` elements along ``dim``, for ``n`` of the signal.

    Example:
        >>> facula.fft.ihfft(facula.tensor([6.0, 0.0, -2.0, 0.0]))
        tensor([1.-0.j, 2.-0.j, 1.-0.j])
    """
    return into("ihfft", out, _core._fft_to_half(input, "ihfft", n, dim, norm, False, True))


@operation(module=__name__)
def fft2(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Fourier transform along two dimensions.

    Args:
        input: the signal, complex or real.
        s: the sizes to which the dimensions of ``dim`` are cut or padded with zeros before the
            transform; -1, and the default, keep a size.
        dim: the two dimensions that are transformed.
        norm: the factor of the result: ``"backward"`` is 1 and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is ``1 / n``, for ``n`` points transformed together.
        out: where to put the result.

    Example:
        >>> facula.fft.fft2(facula.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[10.+0.j, -2.+0.j],
                [-4.+0.j,  0.+0.j]])
    """
    return into("fft2", out, _core._fft_complex(input, "fft2", s, dim, norm, True, False))


@operation(module=__name__)
def ifft2(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of the Fourier transform ``fft2`` along two dimensions.

    Args:
        input: the signal, complex or real.
        s: the sizes to which the dimensions of ``dim`` are cut or padded with zeros before the
            transform; -1, and the default, keep a size.
        dim: the two dimensions that are transformed.
        norm: the factor of the result: ``"backward"`` is ``1 / n`` and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is 1, for ``n`` points transformed together.
        out: where to put the result.

    Example:
        >>> facula.fft.ifft2(facula.tensor([[10.0, -2.0], [-4.0, 0.0]]))
        tensor([[1.+0.j, 2.+0.j],
                [3.+0.j, 4.+0.j]])
    """
    return into("ifft2", out, _core._fft_complex(input, "ifft2", s, dim, norm, False, False))


@operation(module=__name__)
def rfft2(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Fourier transform of real numbers, without its redundant half along two dimensions.

    Args:
        input: the signal, of real numbers.
        s: the sizes to which the dimensions of ``dim`` are cut or padded with zeros before the
            transform; -1, and the default, keep a size.
        dim: the two dimensions that are transformed; the last of them is halved.
        norm: the factor of the result: ``"backward"`` is 1 and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is ``1 / n``, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The result has ``n // 2 + 1`` elements along the last of ``dim``, for ``n`` of the signal.

    Example:
        >>> facula.fft.rfft2(facula.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        tensor([[12.+0.0000j,  0.+0.0000j],
                [ 0.+0.0000j, -3.+1.7321j]])
    """
    return into("rfft2", out, _core._fft_to_half(input, "rfft2", s, dim, norm, True, False))


@operation(module=__name__)
def irfft2(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of ``rfft2`` along two dimensions.

    Args:
        input: the half of a transform that is not redundant.
        s: the sizes of the result in the dimensions of ``dim``; by default those of the input, and
            ``2 * (m - 1)`` for size ``m`` in the last of them.
        dim: the two dimensions that are transformed; the last of them is the halved one.
        norm: the factor of the result: ``"backward"`` is ``1 / n`` and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is 1, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The input needs ``n // 2 + 1`` elements along the last of ``dim``, for ``n`` of the result.

    Example:
        >>> facula.fft.irfft2(facula.tensor([[10.0, -2.0], [-4.0, 0.0]]))
        tensor([[1., 2.],
                [3., 4.]])
    """
    return into("irfft2", out, _core._fft_from_half(input, "irfft2", s, dim, norm, False, False))


@operation(module=__name__)
def hfft2(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Fourier transform, to real numbers, of a signal given by its half along two dimensions.

    The other half is its conjugate, as if the signal were the transform of real numbers.

    Args:
        input: the first half of the signal, complex or real.
        s: the sizes of the result in the dimensions of ``dim``; by default those of the input, and
            ``2 * (m - 1)`` for size ``m`` in the last of them.
        dim: the two dimensions that are transformed; the last of them is the halved one.
        norm: the factor of the result: ``"backward"`` is 1 and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is ``1 / n``, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The input needs ``n // 2 + 1`` elements along the last of ``dim``, for ``n`` of the result.

    Example:
        >>> facula.fft.hfft2(facula.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[10., -2.],
                [-4.,  0.]])
    """
    return into("hfft2", out, _core._fft_from_half(input, "hfft2", s, dim, norm, True, False))


@operation(module=__name__)
def ihfft2(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of ``hfft2`` along two dimensions.

    Args:
        input: the signal, of real numbers.
        s: the sizes to which the dimensions of ``dim`` are cut or padded with zeros before the
            transform; -1, and the default, keep a size.
        dim: the two dimensions that are transformed; the last of them is halved.
        norm: the factor of the result: ``"backward"`` is ``1 / n`` and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is 1, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The result has ``n // 2 + 1`` elements along the last of ``dim``, for ``n`` of the signal.

    Example:
        >>> facula.fft.ihfft2(facula.tensor([[10.0, -2.0], [-4.0, 0.0]])).real
        tensor([[1., 2.],
                [3., 4.]])
    """
    return into("ihfft2", out, _core._fft_to_half(input, "ihfft2", s, dim, norm, False, False))


@operation(module=__name__)
def fftn(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Fourier transform along several dimensions.

    Args:
        input: the signal, complex or real.
        s: the sizes to which the dimensions of ``dim`` are cut or padded with zeros before the
            transform; -1, and the default, keep a size.
        dim: the dimensions that are transformed. By default the
            last ``len(s)``, or all.
        norm: the factor of the result: ``"backward"`` is 1 and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is ``1 / n``, for ``n`` points transformed together.
        out: where to put the result.

    Example:
        >>> facula.fft.fftn(facula.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
        tensor([[ 4.+0.j,  6.+0.j],
                [-2.+0.j, -2.+0.j]])
    """
    return into("fftn", out, _core._fft_complex(input, "fftn", s, dim, norm, True, False))


@operation(module=__name__)
def ifftn(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of the Fourier transform ``fftn`` along several dimensions.

    Args:
        input: the signal, complex or real.
        s: the sizes to which the dimensions of ``dim`` are cut or padded with zeros before the
            transform; -1, and the default, keep a size.
        dim: the dimensions that are transformed. By default the
            last ``len(s)``, or all.
        norm: the factor of the result: ``"backward"`` is ``1 / n`` and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is 1, for ``n`` points transformed together.
        out: where to put the result.

    Example:
        >>> facula.fft.ifftn(facula.tensor([[4.0, 6.0], [-2.0, -2.0]]), dim=0)
        tensor([[1.+0.j, 2.+0.j],
                [3.+0.j, 4.+0.j]])
    """
    return into("ifftn", out, _core._fft_complex(input, "ifftn", s, dim, norm, False, False))


@operation(module=__name__)
def rfftn(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Fourier transform of real numbers, without its redundant half along several dimensions.

    Args:
        input: the signal, of real numbers.
        s: the sizes to which the dimensions of ``dim`` are cut or padded with zeros before the
            transform; -1, and the default, keep a size.
        dim: the dimensions that are transformed; the last of them is halved. By default the
            last ``len(s)``, or all.
        norm: the factor of the result: ``"backward"`` is 1 and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is ``1 / n``, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The result has ``n // 2 + 1`` elements along the last of ``dim``, for ``n`` of the signal.

    Example:
        >>> facula.fft.rfftn(facula.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[10.+0.j, -2.+0.j],
                [-4.+0.j,  0.+0.j]])
    """
    return into("rfftn", out, _core._fft_to_half(input, "rfftn", s, dim, norm, True, False))


@operation(module=__name__)
def irfftn(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of ``rfftn`` along several dimensions.

    Args:
        input: the half of a transform that is not redundant.
        s: the sizes of the result in the dimensions of ``dim``; by default those of the input, and
            ``2 * (m - 1)`` for size ``m`` in the last of them.
        dim: the dimensions that are transformed; the last of them is the halved one. By default the
            last ``len(s)``, or all.
        norm: the factor of the result: ``"backward"`` is ``1 / n`` and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is 1, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The input needs ``n // 2 + 1`` elements along the last of ``dim``, for ``n`` of the result.

    Example:
        >>> facula.fft.irfftn(facula.tensor([[10.0, -2.0], [-4.0, 0.0]]))
        tensor([[1., 2.],
                [3., 4.]])
    """
    return into("irfftn", out, _core._fft_from_half(input, "irfftn", s, dim, norm, False, False))


@operation(module=__name__)
def hfftn(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Fourier transform, to real numbers, of a signal given by its half along several dimensions.

    The other half is its conjugate, as if the signal were the transform of real numbers.

    Args:
        input: the first half of the signal, complex or real.
        s: the sizes of the result in the dimensions of ``dim``; by default those of the input, and
            ``2 * (m - 1)`` for size ``m`` in the last of them.
        dim: the dimensions that are transformed; the last of them is the halved one. By default the
            last ``len(s)``, or all.
        norm: the factor of the result: ``"backward"`` is 1 and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is ``1 / n``, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The input needs ``n // 2 + 1`` elements along the last of ``dim``, for ``n`` of the result.

    Example:
        >>> facula.fft.hfftn(facula.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[10., -2.],
                [-4.,  0.]])
    """
    return into("hfftn", out, _core._fft_from_half(input, "hfftn", s, dim, norm, True, False))


@operation(module=__name__)
def ihfftn(
    input: Tensor,
    s: _Sizes = None,
    dim: _Sizes = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of ``hfftn`` along several dimensions.

    Args:
        input: the signal, of real numbers.
        s: the sizes to which the dimensions of ``dim`` are cut or padded with zeros before the
            transform; -1, and the default, keep a size.
        dim: the dimensions that are transformed; the last of them is halved. By default the
            last ``len(s)``, or all.
        norm: the factor of the result: ``"backward"`` is ``1 / n`` and the default, ``"ortho"`` is
            ``1 / sqrt(n)``, ``"forward"`` is 1, for ``n`` points transformed together.
        out: where to put the result.

    Shape:
        The result has ``n // 2 + 1`` elements along the last of ``dim``, for ``n`` of the signal.

    Example:
        >>> facula.fft.ihfftn(facula.tensor([[10.0, -2.0], [-4.0, 0.0]])).real
        tensor([[1., 2.],
                [3., 4.]])
    """
    return into("ihfftn", out, _core._fft_to_half(input, "ihfftn", s, dim, norm, False, False))


@operation(module=__name__)
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that belong to the elements of ``fft``, those below zero last.

    Args:
        n: the number of points of the signal.
        d: the distance between two points.
        out: where to put the result.
        dtype: the dtype of the result; by default the default dtype.
        layout: always ``facula.strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.fft.fftfreq(5)
        tensor([ 0.0000,  0.2000,  0.4000, -0.4000, -0.2000])
    """
    options = {"dtype": _frequency_dtype("fftfreq", dtype, out), "device": device}
    first, later = _core.arange((n + 1) // 2, **options), _core.arange(-(n // 2), 0, **options)
    result = into("fftfreq", out, _core.cat([first, later]).mul_(_spacing(n, d)))
    return result.requires_grad_() if requires_grad else result


@operation(module=__name__)
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that belong to the elements of ``rfft``.

    Args:
        n: the number of points of the signal.
        d: the distance between two points.
        out: where to put the result.
        dtype: the dtype of the result; by default the default dtype.
        layout: always ``facula.strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.fft.rfftfreq(5)
        tensor([0.0000, 0.2000, 0.4000])
    """
    dtype = _frequency_dtype("rfftfreq", dtype, out)
    steps = _core.arange(n // 2 + 1, dtype=dtype, device=device)
    result = into("rfftfreq", out, steps.mul_(_spacing(n, d)))
    return result.requires_grad_() if requires_grad else result


def _frequency_dtype(name: str, dtype: Any, out: Tensor | None) -> Any:
    if dtype is None:
        dtype = _core.get_default_dtype() if out is None else out.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype, got {dtype}.")
    return dtype


def _spacing(n: int, d: float) -> float:
    return 1.0 / (n * d) if n * d else float("inf")


@operation(module=__name__)
def fftshift(input: Tensor, dim: _Sizes = None) -> Tensor:
    """Move the zero frequency of a transform to the middle.

    Args:
        input: the result of a transform.
        dim: the dimensions to shift; all by default.

    Example:
        >>> facula.fft.fftshift(facula.fft.fftfreq(5))
        tensor([-0.4000, -0.2000,  0.0000,  0.2000,  0.4000])
    """
    dims = _shifted_dims(input, dim)
    return input.roll([input.size(d) // 2 for d in dims], dims)


@operation(module=__name__)
def ifftshift(input: Tensor, dim: _Sizes = None) -> Tensor:
    """Inverse of ``fftshift``.

    Args:
        input: a transform with the zero frequency in the middle.
        dim: the dimensions to shift; all by default.

    Example:
        >>> facula.fft.ifftshift(facula.tensor([-2, -1, 0, 1, 2]))
        tensor([ 0,  1,  2, -2, -1])
    """
    dims = _shifted_dims(input, dim)
    return input.roll([(input.size(d) + 1) // 2 for d in dims], dims)


def _shifted_dims(x: Tensor, dim: _Sizes) -> list[int]:
    if dim is None:
        return list(range(x.dim()))
    return [dim] if isinstance(dim, int) else list(dim)

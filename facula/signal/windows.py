"""Windows: the weights that the points of a piece of a signal get."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from facula import _core
from facula._core import Tensor
from facula._ops import spectral
from facula._ops._mark import operation

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


@operation(module=__name__)
def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Bartlett's window: a triangle.

    Args:
        M: the number of points.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = _Options(dtype, layout, device, requires_grad)
    return _window("bartlett", M, sym, spectral.triangle, options)


@operation(module=__name__)
def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman's window: a sum of two cosines.

    Args:
        M: the number of points.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.blackman(5)[1:4]
        tensor([0.3400, 1.0000, 0.3400])
    """
    options = _Options(dtype, layout, device, requires_grad)
    return _window("blackman", M, sym, spectral.cosine_sum([0.42, 0.5, 0.08]), options)


@operation(module=__name__)
def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of a sine.

    Args:
        M: the number of points.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.cosine(5)
        tensor([0.3090, 0.8090, 1.0000, 0.8090, 0.3090])
    """
    options = _Options(dtype, layout, device, requires_grad)

    def formula(positions: Tensor) -> Tensor:
        return (positions * math.pi).sin()

    # The ends lie half a point outside.
    n_steps = M if sym or M <= 1 else M + 1
    return _window("cosine", M, sym, formula, options, start=0.5, n_steps=n_steps)


@operation(module=__name__)
def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """An exponential that falls off to both sides of the centre.

    Args:
        M: the number of points.
        center: the position of the largest weight, in points, for windows that are not symmetric;
            the middle by default.
        tau: the distance in which weights fall by the factor ``e``.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.exponential(5)
        tensor([0.1353, 0.3679, 1.0000, 0.3679, 0.1353])
    """
    options = _Options(dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"exponential: Tau must be positive, got {tau}.")
    if sym and center is not None:
        raise ValueError("exponential: Center must be None for symmetric windows.")
    middle = (M - 1 if sym or M <= 1 else M) / 2 if center is None else center

    def formula(points: Tensor) -> Tensor:
        return (-(points - middle).abs() / tau).exp()

    return _window("exponential", M, sym, formula, options, n_steps=1)


@operation(module=__name__)
def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The bell of a normal distribution.

    Args:
        M: the number of points.
        std: the standard deviation, in points.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.gaussian(5)
        tensor([0.1353, 0.6065, 1.0000, 0.6065, 0.1353])
    """
    options = _Options(dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"gaussian: Standard deviation must be positive, got {std}.")
    middle = (M - 1 if sym or M <= 1 else M) / 2

    def formula(points: Tensor) -> Tensor:
        return (((points - middle) / std).square() * -0.5).exp()

    return _window("gaussian", M, sym, formula, options, n_steps=1)


@operation(module=__name__)
def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of cosines of multiples, their signs in turn plus and minus.

    Args:
        M: the number of points.
        a: the heights of the cosines, from the constant one on.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.general_cosine(5, a=[0.5, 0.5])
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = _Options(dtype, layout, device, requires_grad)
    if not isinstance(a, Iterable):
        raise TypeError(f"general_cosine: Coefficients must be a list/tuple, got {a!r}.")
    coefficients = list(a)
    if not coefficients:
        raise ValueError("general_cosine: Coefficients cannot be empty.")
    return _window("general_cosine", M, sym, spectral.cosine_sum(coefficients), options)


@operation(module=__name__)
def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One period of a cosine on a pedestal.

    Args:
        M: the number of points.
        alpha: the constant; the height of the cosine is ``1 - alpha``.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.general_hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    options = _Options(dtype, layout, device, requires_grad)
    return _window("general_hamming", M, sym, spectral.cosine_sum([alpha, 1 - alpha]), options)


@operation(module=__name__)
def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Hamming's window: one period of a cosine on a low pedestal.

    Args:
        M: the number of points.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    options = _Options(dtype, layout, device, requires_grad)
    return _window("hamming", M, sym, spectral.cosine_sum([0.54, 0.46]), options)


@operation(module=__name__)
def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Hann's window: one period of a cosine, raised to lie between 0 and 1.

    Args:
        M: the number of points.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.hann(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = _Options(dtype, layout, device, requires_grad)
    return _window("hann", M, sym, spectral.cosine_sum([0.5, 0.5]), options)


@operation(module=__name__)
def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window: a bell whose width is a parameter.

    Args:
        M: the number of points.
        beta: how narrow the bell is; at 0 it is flat.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.kaiser(5)
        tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01, 5.2773e-05])
    """
    options = _Options(dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"kaiser: beta must be non-negative, got {beta}.")
    return _window("kaiser", M, sym, spectral.kaiser(beta), options)


@operation(module=__name__)
def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Nuttall's window: a sum of three cosines with little leakage.

    Args:
        M: the number of points.
        sym: whether the window is symmetric; otherwise it is the period of a periodic function.
        dtype: the dtype of the result, float32 or float64; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.signal.windows.nuttall(5)
        tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04])
    """
    options = _Options(dtype, layout, device, requires_grad)
    return _window(
        "nuttall",
        M,
        sym,
        spectral.cosine_sum([0.3635819, 0.4891775, 0.1365995, 0.0106411]),
        options,
    )


class _Options(NamedTuple):
    """The arguments that all windows have."""

    dtype: Any
    layout: Any
    device: Any
    requires_grad: bool


def _window(
    name: str,
    n_points: int,
    is_symmetric: bool,
    formula: Callable[[Tensor], Tensor],
    options: _Options,
    **scale: float,
) -> Tensor:
    dtype = options.dtype or _core.get_default_dtype()
    if options.layout not in (None, _core.strided):
        raise ValueError(f"{name}: is implemented for strided tensors only, got {options.layout}.")
    if n_points < 0:
        raise ValueError(f"{name}: requires non-negative window length, got M={n_points}.")
    if dtype not in (_core.float32, _core.float64):
        raise ValueError(f"{name}: expects float32 or float64 dtypes, got {dtype}.")
    made = {"dtype": dtype, "device": options.device, "requires_grad": options.requires_grad}
    return spectral.made_window(name, n_points, not is_symmetric, formula, made, **scale)

"""Prints the coefficients that the headers of ``core/math/`` use. Needs mpmath and NumPy.

Each polynomial is fitted in 80 digits by Lawson's method: least squares, with the weights
multiplied by the errors until these are level, which brings it close to the best possible one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
from mpmath import (
    asin,
    atan,
    atanh,
    besseli,
    cos,
    erf,
    erfc,
    erfinv,
    exp,
    expm1,
    log,
    log1p,
    loggamma,
    mp,
    mpf,
    pi,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)

mp.dps = 80
TINY = mpf(10) ** -30
LN2 = log(mpf(2))

_Function = Callable[[Any], Any]  # of numbers of mpmath, which has no types


def fit(
    f: _Function,
    a: Any,
    b: Any,
    n_coefficients: int,
    weight: _Function = lambda x: mpf(1),
    n_rounds: int = 6,
) -> tuple[Any, Any]:
    """The polynomial in ascending order, and the largest weighted error on the sample points."""
    n_points = 4 * n_coefficients
    a, b = mpf(a), mpf(b)
    angles = [pi * (k + mpf(1) / 2) / n_points for k in range(n_points)]
    xs = [(a + b) / 2 + (b - a) / 2 * cos(angle) for angle in angles]
    xs = [x if abs(x) > TINY else TINY for x in xs]
    ys = [f(x) for x in xs]
    wanted = [weight(x) for x in xs]
    lawson = [mpf(1)] * n_points
    best, best_error = None, mpmath.inf
    for _ in range(n_rounds):
        w = [v**2 * u for v, u in zip(wanted, lawson, strict=True)]
        powers = [
            [wi * x**k for wi, x in zip(w, xs, strict=True)] for k in range(2 * n_coefficients)
        ]
        left = mpmath.matrix(n_coefficients, n_coefficients)
        right = mpmath.matrix(n_coefficients, 1)
        for i in range(n_coefficients):
            right[i] = sum(p * y for p, y in zip(powers[i], ys, strict=True))
            for j in range(n_coefficients):
                left[i, j] = sum(powers[i + j])
        c = list(mpmath.lu_solve(left, right))
        fitted = [mpmath.polyval(c[::-1], x) for x in xs]
        errors = [abs(v * (p - y)) for v, p, y in zip(wanted, fitted, ys, strict=True)]
        if max(errors) < best_error:
            best, best_error = c, max(errors)
        total = sum(u * e for u, e in zip(lawson, errors, strict=True))
        lawson = [u * e / total for u, e in zip(lawson, errors, strict=True)]
    return best, best_error


def even(f: _Function) -> _Function:
    """f as a function of the square of its argument."""
    return lambda z: f(sqrt(z))


def scaled_erfc(q: Any) -> Any:
    x = 4 * (1 + q) / (1 - q)
    return (1 + 2 * x) * exp(x * x) * erfc(x)


def scaled_erfc_tail(x: Any) -> Any:
    return (x + 3) * exp(x * x) * erfc(x)


def stirling(z: Any) -> Any:
    x = 1 / sqrt(z)
    return (loggamma(x) - (x - mpf(1) / 2) * log(x) + x - log(2 * pi) / 2) * x


def stirling_weight(z: Any) -> Any:
    return sqrt(z) / loggamma(1 / sqrt(z))


def erfinv_over_x(w: Any) -> Any:
    x = sqrt(-expm1(-w))
    return erfinv(x) / x


def scaled_i0(u: Any) -> Any:
    x = 8 / u
    return besseli(0, x) * exp(-x) * sqrt(x)


def normal_tail(x: Any) -> Any:
    """The probability beyond x."""
    return erfc(x / sqrt(mpf(2))) / 2


exp_tail: _Function = lambda r: (expm1(r) - r) / r**2  # noqa: E731
log1p_tail: _Function = lambda x: (log1p(x) - x) / x**2  # noqa: E731
sin_tail = even(lambda x: (sin(x) / x - 1) / x**2)
cos_tail = even(lambda x: (cos(x) - 1 + x * x / 2) / x**4)
R = LN2 / 2 * mpf("1.01")
QUARTER = (pi / 4) ** 2 * mpf("1.01")

# name: function, interval, number of coefficients, weight of the error
# _f is for formulas in float, _short for those in double whose result is rounded to float.
FITS: dict[str, tuple[Any, ...]] = {
    "exp_f": (exp_tail, -R, R, 5, lambda r: r**2),
    "exp_d": (exp_tail, -R, R, 10, lambda r: r**2),
    "log_f": (log1p_tail, -1 / mpf(3), 1 / mpf(3), 9, lambda f: f),
    "log1p_unit_f": (lambda t: log1p_tail(t + 0.5), -0.5, 0.5, 9, lambda t: t + 0.5),
    "log_d": (even(lambda s: (2 * atanh(s) / s - 2) / s**2), 0, ".0296", 7, lambda z: z),
    "log2_short": (even(lambda s: 2 * atanh(s) / s / LN2), 0, ".0296", 6, lambda z: mpf(1)),
    "exp2_short": (lambda r: expm1(r * LN2) / r, -0.505, 0.505, 7, lambda r: r),
    "sin_f": (sin_tail, 0, QUARTER, 3, lambda z: z),
    "sin_short": (sin_tail, 0, QUARTER, 4, lambda z: z),
    "sin_d": (sin_tail, 0, QUARTER, 6, lambda z: z),
    "cos_f": (cos_tail, 0, QUARTER, 3, lambda z: z**2),
    "cos_short": (cos_tail, 0, QUARTER, 3, lambda z: z**2),
    "cos_d": (cos_tail, 0, QUARTER, 6, lambda z: z**2),
    "tan_f": (even(lambda x: (tan(x) / x - 1) / x**2), 0, QUARTER, 7, lambda z: z),
    "sinpi": (even(lambda x: sin(pi * x) / x), 0, ".25", 9),
    "asin_f": (even(lambda x: (asin(x) / x - 1) / x**2), 0, ".25", 5, lambda z: z),
    "asin_d": (even(lambda x: (asin(x) / x - 1) / x**2), 0, ".25", 13, lambda z: z),
    "atan_f": (even(lambda x: (atan(x) / x - 1) / x**2), 0, 1, 9, lambda z: z),
    "atan_d": (even(lambda x: (atan(x) / x - 1) / x**2), 0, ".1717", 11, lambda z: z),
    "tanh_f": (even(lambda x: (tanh(x) / x - 1) / x**2), 0, ".303", 5, lambda z: z),
    "tanh_d": (even(lambda x: (tanh(x) / x - 1) / x**2), 0, ".36", 11, lambda z: z),
    "sinh_d": (even(lambda x: (sinh(x) / x - 1) / x**2), 0, 1, 8, lambda z: z),
    "erf_f": (even(lambda x: erf(x) / x - 1), 0, 1, 7),
    "erf_d": (even(lambda x: erf(x) / x - 1), 0, 1, 12),
    "erf_large_f": (lambda x: -log(erfc(x)) / x, 1, "3.95", 6, lambda x: x * erfc(x)),
    "erfcx": (scaled_erfc, -1, mpf(24) / 32, 24),
    "erfc_short": (lambda t: scaled_erfc_tail(1 / t - 3), 1 / mpf("13.5"), 1 / mpf(3), 12),
    "exp_short": (exp_tail, -R, R, 6, lambda r: r**2),
    "erfinv_central_short": (erfinv_over_x, 0, 5, 12),
    "erfinv_tail_short": (lambda s: erfinv_over_x(s * s), sqrt(mpf(5)), 4, 12),
    "erfinv_central": (erfinv_over_x, 0, 5, 9),
    "erfinv_tail": (lambda s: erfinv_over_x(s * s), sqrt(mpf(5)), "6.01", 12),
    "lgamma_short": (lambda t: loggamma(2 + t) / t, -0.5, 0.5, 11),
    "stirling_short": (stirling, mpf(10) ** -8, ".16", 7, stirling_weight),
    "i0_small": (even(lambda x: (besseli(0, 2 * x) - 1) / x**2), 0, 16, 16, lambda z: z),
    "i0_large": (scaled_i0, mpf(8) / 720, 1, 23),
    "gelu_f": (
        lambda x: -log(normal_tail(x)),
        0,
        "5.8",
        11,
        lambda x: sqrt(normal_tail(x)) + mpf(2) ** -10,
    ),
}  # fmt: skip


TANH_EDGES = [0, "1/8", "3/16", "1/4", "3/8", "1/2", "3/4", 1, "3/2", 2, 3, 4, 6, 8, "9.2"]


def to_float(x: Any) -> Any:
    return mpf(float(np.float32(float(x))))


def rounding_error(x: Any) -> Any:
    """How far tanh(x) is from a float, in units of the last place."""
    y = tanh(x)
    return abs(y - to_float(y)) / mpf(float(np.spacing(np.float32(float(y)))))


def tanh_piece(low: Any, high: Any) -> list[Any]:
    """A point in the middle where tanh is all but a float, tanh there, and six coefficients."""
    center = mpf(0)
    if low != 0:
        middle = np.float32((low + high) / 2)
        near = [mpf(float(middle + np.float32(k) * np.spacing(middle))) for k in range(-400, 400)]
        center = min(near, key=rounding_error)
    value = to_float(tanh(center))
    slope = lambda d: (tanh(center + d) - value) / d  # noqa: E731
    weight = lambda d: d / tanh(center + d)  # noqa: E731
    start = low - center if low != 0 else mpf(10) ** -6
    return [center, value, *fit(slope, start, high - center, 6, weight)[0]]


def print_tanh_tables() -> None:
    edges = [mpmath.mpmathify(edge) for edge in TANH_EDGES]
    pieces = [tanh_piece(low, high) for low, high in pairwise(edges)]
    pieces += [pieces[-1]] * (16 - len(pieces))
    pieces = pieces[-7:] + pieces[:-7]  # the first in column 7
    for table in zip(*pieces, strict=True):
        print("  {" + ", ".join(f"{float(to_float(x)):.9g}f" for x in table) + "},")


def normal_tail_piece(center: Any, width: Any) -> Any:
    """Six coefficients around the center; the error is weighted as gelu does it."""
    tail = lambda d: normal_tail(center + d)  # noqa: E731
    weight = lambda d: max(center + d, mpf(1))  # noqa: E731
    return fit(tail, max(-center, -width / 2), width / 2, 6, weight)[0]


def print_normal_tail_tables() -> None:
    width = mpf(25) / 64
    pieces = [normal_tail_piece(k * width, width) for k in range(16)]
    for table in zip(*pieces, strict=True):
        print("  {" + ", ".join(f"{float(to_float(x)):.9g}f" for x in table) + "},")


def main() -> None:
    print_tanh_tables()
    print_normal_tail_tables()
    for name, spec in FITS.items():
        coefficients, error = fit(*spec)
        digits = 9 if name.endswith("_f") else 17
        print(f"{name}  // error 2^{float(log(error, 2)):.1f}")
        print("  " + ", ".join(f"{float(c):.{digits}g}" for c in coefficients))


if __name__ == "__main__":
    main()

"""Affine and perspective maps as numbers."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import facula


def affine_matrix(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    inverted: bool = True,
) -> list[float]:
    """The two rows of the map that shears, scales and rotates about a center, then translates.

    It is ``T(translate) C R(angle) Shear(shear) scale C^-1``, with ``C`` the translation to the
    center; inverted, which is what images need: for each pixel of the result, its origin.
    """
    rotation, shear_x, shear_y = (math.radians(x) for x in (angle, *shear))
    center_x, center_y = center
    translate_x, translate_y = translate
    a = math.cos(rotation - shear_y) / math.cos(shear_y)
    b = -a * math.tan(shear_x) - math.sin(rotation)
    c = math.sin(rotation - shear_y) / math.cos(shear_y)
    d = -c * math.tan(shear_x) + math.cos(rotation)
    if inverted:
        # The determinant of R and Shear together is 1.
        a, b, c, d = (x / scale for x in (d, -b, -c, a))
        from_x, from_y = center_x + translate_x, center_y + translate_y
        to_x, to_y = center_x, center_y
    else:
        a, b, c, d = (x * scale for x in (a, b, c, d))
        from_x, from_y = center_x, center_y
        to_x, to_y = center_x + translate_x, center_y + translate_y
    return [a, b, to_x - a * from_x - b * from_y, c, d, to_y - c * from_x - d * from_y]


def expanded_size(matrix: Sequence[float], width: int, height: int) -> tuple[int, int]:
    """Width and height of what holds an image after a map given about its center."""
    sizes: list[int] = []
    corners = [(x, y) for x in (-0.5 * width, 0.5 * width) for y in (-0.5 * height, 0.5 * height)]
    for length, (a, b, c) in ((width, matrix[:3]), (height, matrix[3:])):
        ends = [a * x + b * y + c + 0.5 * length for x, y in corners]
        # In ten thousandths of a pixel, of which parts are due to rounding.
        parts = [math.trunc(1e4 * end + math.copysign(1e-6, end)) for end in ends]
        low, high = min(parts), max(parts)
        sizes.append(-(-high // 10000) - low // 10000)
    return sizes[0], sizes[1]


def check_affine(
    angle: Any, translate: Any, scale: Any, shear: Any, center: Any
) -> tuple[float, list[float], list[float], list[float] | None]:
    """Angle, translation, shear and center of an affine map, each in one form."""
    if not isinstance(angle, (int, float)):
        raise TypeError(f"affine: angle is a number, got {angle!r}.")
    if not isinstance(translate, (list, tuple)):
        raise TypeError(f"affine: translate is a sequence of two numbers, got {translate!r}.")
    if len(translate) != 2:
        raise ValueError(f"affine: translate is a sequence of two numbers, got {translate!r}.")
    if scale <= 0.0:
        raise ValueError(f"affine: scale is positive, got {scale}.")
    if not isinstance(shear, (numbers.Number, list, tuple)):
        raise TypeError(f"affine: shear is a number or two, got {shear!r}.")
    if isinstance(shear, numbers.Number):
        shear = [shear, 0.0]
    elif len(shear) == 1:
        shear = [shear[0], shear[0]]
    if len(shear) != 2:
        raise ValueError(f"affine: shear is a number or two, got {shear!r}.")
    if center is not None:
        center = check_center("affine", center)
    return angle, list(translate), list(shear), center


def check_center(name: str, center: Any) -> list[float]:
    """A center as x and y."""
    if not isinstance(center, (list, tuple)):
        raise TypeError(f"{name}: center is a sequence of two numbers, got {center!r}.")
    if len(center) != 2:
        raise ValueError(f"{name}: center is a sequence of two numbers, got {center!r}.")
    return [float(x) for x in center]


def perspective_coefficients(
    startpoints: Any, endpoints: Any, coefficients: Sequence[float] | None = None
) -> list[float]:
    """The eight numbers of the map from the result to the image: see :func:`perspective`."""
    if coefficients is not None:
        if startpoints is not None and endpoints is not None:
            raise ValueError("perspective: expected points or coefficients, got both.")
        if len(coefficients) != 8:
            raise ValueError(f"perspective: expected 8 coefficients, got {len(coefficients)}.")
        return list(coefficients)
    if startpoints is None or endpoints is None:
        raise ValueError("perspective: expected startpoints and endpoints, or coefficients.")
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"perspective: expected four startpoints and endpoints, got {len(startpoints)} and "
            f"{len(endpoints)}."
        )
    # From (a x + b y + c) / (g x + h y + 1) = u and the same for v.
    rows: list[list[float]] = []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y, u])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y, v])
    # Rounded as PyTorch rounds them, for nearest pixels depend on the last digit.
    rounded: list[float] = facula.tensor(_solve(rows), dtype=facula.float32).tolist()
    return rounded


def _solve(rows: list[list[float]]) -> list[float]:
    """The solution of linear equations, each with its right side last, by elimination."""
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda row: abs(rows[row][i]))
        if abs(rows[pivot][i]) < 1e-9:
            raise RuntimeError(
                "perspective: the points give no map; no three of them may be on one line."
            )
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for row in range(n):
            if row != i:
                factor = rows[row][i] / rows[i][i]
                rows[row] = [p - factor * q for p, q in zip(rows[row], rows[i], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]

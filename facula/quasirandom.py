"""Sobol's sequences: points that fill a cube more evenly than random ones.

The direction numbers (Joe and Kuo) are those of SciPy, which must be installed.
"""

from __future__ import annotations

import operator
from importlib import import_module
from typing import Any

from facula import _core
from facula._core import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of a Sobol sequence in a cube.

    Args:
        dimension: the number of dimensions, up to 21201.
        scramble: whether the points are scrambled, by random numbers.
        seed: the seed of those, by default the default generator.

    Example:
        >>> facula.quasirandom.SobolEngine(2).draw(4)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500],
                [0.2500, 0.7500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                "Supported range of dimensionality for SobolEngine is "
                f"[1, {self.MAXDIM}], got {dimension}."
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = _directions(dimension, self.MAXBIT)
        self.shift = _core.zeros(dimension, dtype=_core.int64)
        if scramble:
            self._scramble()
        self.reset()

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: _core.dtype | None = None
    ) -> Tensor:
        """The next points.

        Args:
            n: how many.
            out: the tensor to write to.
            dtype: the dtype of the result.

        Shape:
            result ``(n, dimension)``.
        """
        points = self._points(*self._take("draw", n))
        result = (points.to(_core.float64) / 2**self.MAXBIT).to(dtype or _core.get_default_dtype())
        return result if out is None else out.resize_(result.shape).copy_(result)

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: _core.dtype | None = None
    ) -> Tensor:
        """The next ``2**m`` points, of which the sequence must have a power of two afterwards.

        Args:
            m: the power.
            out: the tensor to write to.
            dtype: the dtype of the result.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2: "
                f"{self.num_generated} points have been generated, and {total} is none."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin anew."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave points out.

        Args:
            n: how many.
        """
        self._take("fast_forward", n)
        return self

    def _take(self, name: str, n: int) -> tuple[int, int]:
        """The numbers of the next ``n`` points: the first, and that behind the last."""
        start, stop = self.num_generated, self.num_generated + operator.index(n)
        if not start <= stop <= 2**self.MAXBIT:
            raise RuntimeError(
                f"SobolEngine.{name}: expected n from 0 to {2**self.MAXBIT - start}, as many as "
                f"the sequence has left, got {n}."
            )
        self.num_generated = stop
        if stop > start:
            self.quasi = self._points(stop - 1, stop)[0]
        return start, stop

    def _points(self, start: int, stop: int) -> Tensor:
        # Each point differs from the one before by the direction of one bit. So point i is the
        # exclusive or of the directions of the bits in the Gray code of i.
        numbers = _core.arange(start, stop).unsqueeze(1)
        codes = numbers ^ (numbers >> 1)
        points = self.shift.expand(stop - start, self.dimension).clone()
        for bit in range(max(stop - 1, 0).bit_length()):
            points ^= ((codes >> bit) & 1) * self.sobolstate[:, bit]
        return points

    def _scramble(self) -> None:
        generator = None
        if self.seed is not None:
            generator = _core.Generator()
            generator.manual_seed(self.seed)
        bits = self.MAXBIT
        powers = 2 ** _core.arange(bits)
        flips = _core.randint(2, (self.dimension, bits), generator=generator)
        self.shift = (flips * powers).sum(1)
        # A random lower triangular matrix of bits for each dimension, with ones on its diagonal:
        # each direction number is multiplied by it, modulo 2.
        size = (self.dimension, bits, bits)
        matrix = _core.randint(2, size, generator=generator).tril()
        matrix.diagonal(0, -2, -1).fill_(1)
        # The highest bit is the first.
        digits = (self.sobolstate.unsqueeze(-1) >> _core.arange(bits - 1, -1, -1)) & 1
        product = (digits.double() @ matrix.mT.double()).long() % 2
        self.sobolstate = (product * powers.flip(0)).sum(-1)

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _directions(dimension: int, bits: int) -> Tensor:
    try:
        import numpy

        sobol = import_module("scipy.stats._sobol")
    except ImportError as error:
        raise ImportError(
            "SobolEngine: the direction numbers are SciPy's, which is not installed: "
            "pip install scipy"
        ) from error
    table: Any = numpy.zeros((dimension, bits), dtype=numpy.uint32)
    sobol._initialize_v(table, dimension, bits)
    return _core.from_numpy(table.astype(numpy.int64))

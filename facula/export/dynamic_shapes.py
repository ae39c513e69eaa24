"""Sizes that may vary: by a name, or by a hint."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["Dim", "dims"]


class _DimHint:
    """What is known of a size that has no name.

    Args:
        kind: ``"AUTO"``, ``"DYNAMIC"`` or ``"STATIC"``.
    """

    def __init__(self, kind: str) -> None:
        self.type = kind

    def __repr__(self) -> str:
        return f"DimHint({self.type})"


class Dim:
    """A size that may vary, by name: equal names are equal sizes.

    ``Dim.AUTO`` and ``Dim.DYNAMIC`` stand for a size of any name, ``Dim.STATIC`` for one that is
    that of the example.

    Args:
        name: an identifier.
        min: the least size.
        max: the largest size.

    Example:
        >>> facula.export.Dim("batch", max=8)
        Dim('batch', min=0, max=8)
    """

    AUTO: ClassVar[_DimHint] = _DimHint("AUTO")
    DYNAMIC: ClassVar[_DimHint] = _DimHint("DYNAMIC")
    STATIC: ClassVar[_DimHint] = _DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise AssertionError(f"Dim: expected an identifier as name, got {name!r}.")
        self.__name__ = name
        self.min = 0 if min is None else min
        self.max = max
        if max is not None and self.min > max:
            raise AssertionError(f"Dim: expected min up to max, got {self.min} and {max}.")

    def __repr__(self) -> str:
        # PyTorch takes sizes from 2 on for the usual case, which it does not print.
        least = "" if self.min == 2 else f", min={self.min}"
        most = "" if self.max is None else f", max={self.max}"
        return f"Dim({self.__name__!r}{least}{most})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several sizes with the same limits.

    Args:
        names: their names.
        min: the least size.
        max: the largest size.

    Example:
        >>> facula.export.dims("a", "b", min=1)
        (Dim('a', min=1), Dim('b', min=1))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)

"""Types of results with several named parts: tuples whose items are attributes, too."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

__all__ = [
    "aminmax",
    "cummax",
    "cummin",
    "frexp",
    "histogram",
    "histogramdd",
    "kthvalue",
    "max",
    "median",
    "min",
    "mode",
    "nanmedian",
    "sort",
    "topk",
]


class _NamedResult(tuple[Any, ...]):
    """A tuple with a name for each item."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *items: Any) -> _NamedResult:
        # Of one sequence, as PyTorch's; or of the items, as any named tuple is made.
        self = super().__new__(cls, items[0] if len(items) == 1 else items)
        if len(self) != len(cls._fields):
            raise TypeError(f"{cls.__name__}: expected {len(cls._fields)} items, got {len(self)}.")
        return self

    def __repr__(self) -> str:
        parts = ",\n".join(
            f"{name}={item!r}" for name, item in zip(self._fields, self, strict=True)
        )
        return f"facula.return_types.{type(self).__name__}(\n{parts})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


def _make(name: str, *fields: str) -> type[_NamedResult]:
    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": __name__,
        "__doc__": f"The result of ``facula.{name}``: {' and '.join(fields)}.",
        "_fields": fields,
        "n_fields": len(fields),
        "n_sequence_fields": len(fields),
        "n_unnamed_fields": 0,
    }
    for i, field in enumerate(fields):
        body[field] = property(itemgetter(i), doc=f"Item {i}.")
    return type(name, (_NamedResult,), body)


aminmax = _make("aminmax", "min", "max")
cummax = _make("cummax", "values", "indices")
cummin = _make("cummin", "values", "indices")
frexp = _make("frexp", "mantissa", "exponent")
histogram = _make("histogram", "hist", "bin_edges")
histogramdd = _make("histogramdd", "hist", "bin_edges")
kthvalue = _make("kthvalue", "values", "indices")
max = _make("max", "values", "indices")
median = _make("median", "values", "indices")
min = _make("min", "values", "indices")
mode = _make("mode", "values", "indices")
nanmedian = _make("nanmedian", "values", "indices")
sort = _make("sort", "values", "indices")
topk = _make("topk", "values", "indices")

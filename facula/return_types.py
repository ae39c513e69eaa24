"""Types of results with several named parts: tuples whose items are attributes, too."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

__all__ = [
    "aminmax",
    "cummax",
    "cummin",
    "frexp",
    "geqrf",
    "histogram",
    "histogramdd",
    "kthvalue",
    "linalg_cholesky_ex",
    "linalg_eig",
    "linalg_eigh",
    "linalg_inv_ex",
    "linalg_ldl_factor",
    "linalg_ldl_factor_ex",
    "linalg_lstsq",
    "linalg_lu",
    "linalg_lu_factor",
    "linalg_lu_factor_ex",
    "linalg_qr",
    "linalg_slogdet",
    "linalg_solve_ex",
    "linalg_svd",
    "lu_unpack",
    "max",
    "median",
    "min",
    "mode",
    "nanmedian",
    "qr",
    "slogdet",
    "sort",
    "svd",
    "topk",
    "triangular_solve",
]


class _NamedResult(tuple[Any, ...]):
    """A tuple with a name for each item."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *items: Any) -> _NamedResult:
        # Of one sequence, as PyTorch's, whose pickles have a dict beside it; or of the items, as
        # any named tuple is made.
        is_sequence = len(items) == 1 or (len(items) == 2 and isinstance(items[1], dict))
        self = super().__new__(cls, items[0] if is_sequence else items)
        if len(self) != len(cls._fields):
            raise TypeError(f"{cls.__name__}: expected {len(cls._fields)} items, got {len(self)}.")
        return self

    def __repr__(self) -> str:
        parts = ",\n".join(
            f"{name}={item!r}" for name, item in zip(self._fields, self, strict=True)
        )
        return f"{type(self).__module__}.{type(self).__name__}(\n{parts})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


def _make(name: str, *fields: str) -> type[_NamedResult]:
    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": __name__,
        "__doc__": f"The result of ``facula.{name.replace('linalg_', 'linalg.')}``: "
        f"{', '.join(fields)}.",
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
geqrf = _make("geqrf", "a", "tau")
histogram = _make("histogram", "hist", "bin_edges")
histogramdd = _make("histogramdd", "hist", "bin_edges")
kthvalue = _make("kthvalue", "values", "indices")
linalg_cholesky_ex = _make("linalg_cholesky_ex", "L", "info")
linalg_eig = _make("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _make("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _make("linalg_inv_ex", "inverse", "info")
linalg_ldl_factor = _make("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _make("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lstsq = _make("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _make("linalg_lu", "P", "L", "U")
linalg_lu_factor = _make("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _make("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _make("linalg_qr", "Q", "R")
linalg_slogdet = _make("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _make("linalg_solve_ex", "result", "info")
linalg_svd = _make("linalg_svd", "U", "S", "Vh")
lu_unpack = _make("lu_unpack", "P", "L", "U")
max = _make("max", "values", "indices")
median = _make("median", "values", "indices")
min = _make("min", "values", "indices")
mode = _make("mode", "values", "indices")
nanmedian = _make("nanmedian", "values", "indices")
qr = _make("qr", "Q", "R")
slogdet = _make("slogdet", "sign", "logabsdet")
sort = _make("sort", "values", "indices")
svd = _make("svd", "U", "S", "V")
topk = _make("topk", "values", "indices")
triangular_solve = _make("triangular_solve", "solution", "cloned_coefficient")

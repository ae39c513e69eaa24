"""How losses are reduced: by name, by PyTorch's number, or by the two flags it had before."""

from __future__ import annotations

from facula._notes import note
from facula._warnings import warn_user

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction given by name."""
    if reduction == "elementwise_mean":  # the name in 0.4.1
        note("reduction='elementwise_mean' is now reduction='mean'.")
        reduction = "mean"
    number = _NUMBERS.get(reduction) if isinstance(reduction, str) else None
    if number is None:
        raise ValueError(f"reduction: expected 'none', 'mean' or 'sum', got {reduction!r}.")
    return number


def resolve(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction by name, also where one of the deprecated flags says it, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction by name that the deprecated flags say; losses of programs call it, too."""
    of_sum = "mean" if size_average is None or size_average else "sum"
    reduction = of_sum if reduce is None or reduce else "none"
    if emit_warning:
        warn_user(
            f"reduction: size_average and reduce are its older forms; pass "
            f"reduction={reduction!r} instead."
        )
    return reduction

"""The checks: one file per family of mistakes, one class per mistake."""

from __future__ import annotations

from facula.doctor._checks import (
    data,
    gradients,
    history,
    losses,
    modes,
    modules,
    numbers,
    optimisers,
    saving,
)
from facula.doctor._checks._check import Check

_FAMILIES = (losses, modes, gradients, optimisers, history, modules, numbers, data, saving)

CHECKS: list[type[Check]] = [
    kind
    for family in _FAMILIES
    for kind in vars(family).values()
    if isinstance(kind, type) and issubclass(kind, Check) and hasattr(kind, "id")
]

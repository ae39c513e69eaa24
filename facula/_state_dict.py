"""What every ``load_state_dict`` asks before it changes anything."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any


def check_keys(op: str, what: str, given: Any, needed: tuple[str, ...] = ()) -> None:
    """Raise unless ``given``, which the user knows as ``what``, is a dict with these keys."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{op}: expected {what} as a dict, got {type(given).__name__}.")
    missing = ", ".join(repr(key) for key in needed if key not in given)
    if missing:
        raise KeyError(
            f"{op}: {what} has no {missing}, which state_dict() gives; its keys are "
            f"{reprlib.repr(list(given))}."
        )

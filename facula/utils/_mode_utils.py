"""Questions about modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core

__all__ = ["all_same_mode", "no_dispatch"]

no_dispatch = _core._DisableTorchFunction


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether all modes are one.

    Args:
        modes: the modes.
    """
    return all(mode == modes[0] for mode in modes)

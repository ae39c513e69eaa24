"""What PyTorch's compiler counts, nothing, since nothing is compiled; and its warnings."""

from __future__ import annotations

import functools
import warnings
from collections import Counter, defaultdict

__all__ = ["counters", "warn_once"]

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn of something once in the process.

    Args:
        msg: what is said.
        stacklevel: how far above the caller the line that is shown is.
    """
    warnings.warn(msg, stacklevel=stacklevel + 1)

"""What PyTorch's compiler counts: nothing, since nothing is compiled."""

from __future__ import annotations

from collections import Counter, defaultdict

__all__ = ["counters"]

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)

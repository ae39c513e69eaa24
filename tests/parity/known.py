"""An entry of the lists of known differences."""

from __future__ import annotations

from typing import NamedTuple

from .compare import Difference
from .frameworks import DTYPES

ALL = ("float32", *(name for name in DTYPES if name != "float32"))  # likely ones first


class Known(NamedTuple):
    """An excuse, see ``known_differences.py``."""

    op: str
    dtypes: tuple[str, ...]
    category: str
    text: str
    reason: str
    anywhere: bool = False  # excuses every operation; ``op`` is one that shows it
    by_chance: bool = False  # PyTorch's value is noise, or memory it did not write: it may agree

    def excuses(self, op: str, dtype: str, difference: Difference) -> bool:
        return (
            (self.anywhere or op == self.op)
            and dtype in self.dtypes
            and difference.category == self.category
            and self.text in difference.text
        )


def each(ops: str, category: str, text: str, reason: str) -> list[Known]:
    """An entry for each of the operations, for all dtypes."""
    return [Known(op, ALL, category, text, reason) for op in ops.split()]


COMPOSED = "Composed of other operations, whose nodes the graph shows."

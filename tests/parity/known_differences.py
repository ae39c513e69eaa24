"""Where Facula differs from PyTorch on purpose, and why.

An entry excuses one category of difference of one operation, for the dtypes it names, where the
description of the difference contains ``text``. An entry that excuses nothing any more fails a
test of its own: the list cannot rot.
"""

from __future__ import annotations

from typing import NamedTuple

from .compare import Difference
from .frameworks import DTYPES

ALL = ("float32", *(name for name in DTYPES if name != "float32"))  # likely ones first


class Known(NamedTuple):
    op: str
    dtypes: tuple[str, ...]
    category: str
    text: str
    reason: str

    def excuses(self, op: str, dtype: str, difference: Difference) -> bool:
        return (
            op == self.op
            and dtype in self.dtypes
            and difference.category == self.category
            and self.text in difference.text
        )


def _each(ops: str, category: str, text: str, reason: str) -> list[Known]:
    return [Known(op, ALL, category, text, reason) for op in ops.split()]


KNOWN: list[Known] = []


def unexcused(op: str, dtype: str, differences: list[Difference]) -> list[Difference]:
    """The differences that no entry explains."""
    return [d for d in differences if not any(k.excuses(op, dtype, d) for k in KNOWN)]

"""Where Facula differs from PyTorch on purpose, and why.

An entry excuses one category of difference of one operation for the dtypes it names. An entry that
no longer describes a difference fails the test of each such dtype: the list cannot rot.
"""

from __future__ import annotations

from typing import NamedTuple

from .frameworks import DTYPES

ALL = tuple(DTYPES)


class Known(NamedTuple):
    op: str
    dtypes: tuple[str, ...]
    category: str
    reason: str


KNOWN: list[Known] = []


def known(op: str, dtype: str) -> dict[str, str]:
    """Category to reason, of the entries for one test."""
    return {k.category: k.reason for k in KNOWN if k.op == op and dtype in k.dtypes}

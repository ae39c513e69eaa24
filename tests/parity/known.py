"""An entry of the lists of known differences, and how the lists are held to what they excuse."""

from __future__ import annotations

import functools
import math
import re
from typing import NamedTuple

import torch

from .compare import Difference
from .frameworks import COMPLEX, DTYPES, FLOATING, INTEGERS, facula

ALL = tuple(DTYPES)
BOOL = ("bool",)
SMALL_INTEGERS, INT64 = ("uint8", "int8", "int16", "int32"), ("int64",)
FLOAT16, BFLOAT16 = ("float16",), ("bfloat16",)
HALF = FLOAT16 + BFLOAT16
SINGLE, DOUBLE = ("float32",), ("float64",)
COMPLEX64, COMPLEX128 = ("complex64",), ("complex128",)
DIFFERENTIABLE = FLOATING + COMPLEX
NOT_FLOATING = BOOL + INTEGERS + COMPLEX

OVERLAP = (
    "A write in place to elements that share memory is refused by every operation, before "
    "anything else is looked at. PyTorch lets a few through: the last write wins."
)
MORE = "Has the half dtypes too, and derivatives of any order."
COMPLEX_GRAD = "PyTorch leaves the derivative out for complex numbers, where it is the same."

Ops = dict[tuple[str, ...], str]  # the names of operations, by their dtypes


class Known(NamedTuple):
    """An excuse, see ``known_differences.py``."""

    op: str
    dtypes: tuple[str, ...]
    category: str
    text: str  # the whole difference; "..." stands for what changes from case to case
    reason: str
    case: str = ""  # a part of the description of the case
    within: float = math.inf  # how many tolerances the values may be apart
    # PyTorch's value is noise, memory that it did not write, or depends on the processor.
    by_chance: bool = False

    def excuses(self, difference: Difference) -> bool:
        message, _, case = difference.text.partition(" | ")
        return (
            difference.category == self.category
            and difference.apart <= self.within
            and self.case in case
            and _pattern(self.text).fullmatch(message) is not None
        )


@functools.cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.split("..."))), re.DOTALL)


def each(
    category: str,
    text: str,
    reason: str,
    ops: Ops,
    case: str = "",
    within: float = math.inf,
    by_chance: bool = False,
) -> list[Known]:
    """An entry for each operation, with the dtypes that it is listed under."""
    return [
        Known(op, dtypes, category, text, reason, case, within, by_chance)
        for dtypes, names in ops.items()
        for op in names.split()
    ]


def unexcused(
    known: list[Known], op: str, dtype: str, differences: list[Difference]
) -> list[Difference]:
    """The differences that no entry explains, and the entries that explain none."""
    mine = [k for k in known if k.op == op and dtype in k.dtypes]
    unneeded = [
        Difference("excuse", f"excuses nothing: {k}")
        for k in mine
        if not k.by_chance and facula is not torch and not any(map(k.excuses, differences))
    ]
    return [d for d in differences if not any(k.excuses(d) for k in mine)] + unneeded

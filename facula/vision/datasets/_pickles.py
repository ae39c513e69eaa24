"""Datasets that come as pickles: read as data, so that no code of the archive is run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def read_pickle(path: str | os.PathLike[str]) -> Any:
    """The object of a file that Python 2 or 3 pickled: containers, numbers, strings, arrays."""
    from facula.serialization._source import Budget
    from facula.serialization._unpickle import Unpickle

    data = Path(path).read_bytes()
    # Byte strings of Python 2 are counted at four bytes a letter, and become arrays after that.
    budget = Budget(8 * len(data) + (40 << 20))
    return Unpickle(False, None, "latin1").plain(data, 0, budget, os.fspath(path))[0]

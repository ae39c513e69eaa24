"""One pickle at a place in some bytes: by the interpreter, or for real in a trusted file."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from facula.serialization._errors import CheckpointError, shown
from facula.serialization._interpreter import Interpreter
from facula.serialization._source import Budget
from facula.serialization._trusted import load_trusted


def _no_ids(saved: Any) -> Any:
    raise CheckpointError(f"there is a persistent id {shown(saved)}, where none belongs")


class Unpickle:
    """Reads the pickles of one file.

    Args:
        trusted: whether the object may run code.
        pickle_module: what unpickles then; None for ``pickle``.
        encoding: of the byte strings of Python 2.
    """

    def __init__(self, trusted: bool, pickle_module: Any, encoding: str) -> None:
        self._trusted = trusted
        self._pickle_module = pickle_module
        self._encoding = encoding

    def __call__(
        self,
        data: bytes,
        start: int,
        persistent_load: Callable[[Any], Any],
        budget: Budget,
        where: str,
        has_bytes: bool = True,
    ) -> tuple[Any, int]:
        """The object of the pickle at ``start``, and where the pickle ends."""
        if not self._trusted:
            args = persistent_load, budget, self._encoding, where, has_bytes
            return Interpreter(data, start, *args).load()
        file = io.BytesIO(data)
        file.seek(start)
        args_for_real = persistent_load, self._pickle_module, self._encoding, has_bytes
        return load_trusted(file, *args_for_real), file.tell()

    def plain(self, data: bytes, start: int, budget: Budget, where: str) -> tuple[Any, int]:
        """As above for what the format itself writes: never more than data."""
        return Interpreter(data, start, _no_ids, budget, self._encoding, where).load()

"""One pickle at a place in some bytes: by the interpreter, or for real in a trusted file."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import IO, Any

from facula.serialization._errors import CheckpointError, shown
from facula.serialization._interpreter import Interpreter
from facula.serialization._source import Budget
from facula.serialization._torch_names import find_ours, is_torch_module


class Unpickle:
    """Reads the pickles of one file.

    Args:
        trusted: whether the object may run code.
        pickle_module: the module whose ``Unpickler`` reads a trusted file; None for ``pickle``.
        encoding: how the byte strings of Python 2 are decoded.
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
        return self._run(file, persistent_load), file.tell()

    def plain(self, data: bytes, start: int, budget: Budget, where: str) -> tuple[Any, int]:
        """The object of a pickle that the format itself has: data, never code, also if trusted."""
        return Interpreter(data, start, _no_ids, budget, self._encoding, where).load()

    def _run(self, file: IO[bytes], persistent_load: Callable[[Any], Any]) -> Any:
        """Unpickle with PyTorch's names taken for ours. This runs what the file asks for."""
        base = (pickle if self._pickle_module is None else self._pickle_module).Unpickler

        class Unpickler(base):  # type: ignore[misc, valid-type]
            def find_class(self, module: str, name: str) -> Any:
                if not is_torch_module(module):
                    return super().find_class(module, name)
                return find_ours(module, name)

            def persistent_load(self, saved: Any) -> Any:
                return persistent_load(saved)

        return Unpickler(file, encoding=self._encoding).load()


def _no_ids(saved: Any) -> Any:
    raise CheckpointError(f"there is a persistent id, {shown(saved)}, where none belongs")

"""Which types of a checkpoint would be refused, found without making any object of it."""

from __future__ import annotations

import os
import pickletools
from typing import IO, Any

from facula.serialization._errors import CheckpointError
from facula.serialization._load import open_file
from facula.serialization._source import Budget, FileSource, StreamSource
from facula.serialization._types import Types, full_name
from facula.serialization._zip_reader import ZipReader

__all__ = ["get_unsafe_globals_in_checkpoint"]

_ALLOWANCE = 1 << 30  # bytes: the list of records is all that is kept


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The classes and functions of a checkpoint that :func:`facula.load` would refuse.

    Args:
        f: a path, or a file-like object, of a checkpoint in PyTorch's zip format.

    Returns:
        Their full names, which :func:`add_safe_globals` can allow after a look at what they do.

    Example:
        >>> import io, fractions
        >>> file = io.BytesIO()
        >>> facula.save([fractions.Fraction(1, 2), facula.ones(2)], file)
        >>> _ = file.seek(0)
        >>> facula.serialization.get_unsafe_globals_in_checkpoint(file)
        ['fractions.Fraction']
    """
    with open_file(f, "rb") as file:
        is_path = isinstance(f, (str, os.PathLike))
        source = FileSource(file) if is_path else StreamSource(file)
        if source.read(0, min(source.size, 4)) != b"PK\3\4":
            raise ValueError(
                "get_unsafe_globals_in_checkpoint: expected a checkpoint in PyTorch's zip format."
            )
        data = ZipReader(source, Budget(_ALLOWANCE)).read("data.pkl")
    types = Types(Budget(_ALLOWANCE), has_bytes=True)
    refused = set()
    for module, name in _names(data):
        try:
            types.find(module, name)
        except CheckpointError:
            refused.add(full_name(module, name))
    return sorted(refused)


def _names(data: bytes) -> list[tuple[str, str]]:
    """Every module and name that the pickle asks for, by its text alone."""
    found = []
    strings: list[Any] = [None, None]  # the last two that were put on the stack
    memo: dict[int, Any] = {}
    try:
        argument: Any
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in ("GLOBAL", "INST"):
                found.append(tuple(argument.split(" ", 1)))
            elif opcode.name == "STACK_GLOBAL":
                found.append((str(strings[-2]), str(strings[-1])))
            elif opcode.name == "MEMOIZE":
                memo[len(memo)] = strings[-1]
            elif "PUT" in opcode.name:
                memo[argument] = strings[-1]
            elif "GET" in opcode.name:
                strings.append(memo.get(argument))
            elif isinstance(argument, str):
                strings.append(argument)
    except Exception as error:
        raise CheckpointError(f"load: the pickle of the checkpoint is damaged: {error}") from None
    return found

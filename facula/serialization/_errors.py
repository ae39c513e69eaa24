"""The one exception that a bad file raises."""

from __future__ import annotations

import pickle
from typing import Any

__all__ = ["CheckpointError", "SourceChangeWarning"]


class CheckpointError(pickle.UnpicklingError):
    """A checkpoint is damaged, truncated, hostile, or has what the reader does not make.

    Args:
        message: what was expected and what was found.
        offset: the byte at which it was found, counted in the record that is named; None where no
            single byte is to blame.
        found: what was found at that byte.

    Example:
        >>> import io
        >>> try:
        ...     facula.load(io.BytesIO(b"not a checkpoint"))
        ... except facula.serialization.CheckpointError as error:
        ...     print(error.offset)
        0
    """

    def __init__(self, message: str, offset: int | None = None, found: Any = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.found = found


class MissingDeviceError(CheckpointError, RuntimeError):
    """The file has tensors of a device that is not here; PyTorch raises a RuntimeError for that."""


class EmptyFileError(CheckpointError, EOFError):
    """There is nothing in the file; PyTorch raises an EOFError for that."""


class MissingFolderError(FileNotFoundError, RuntimeError):
    """There is no folder to save into; PyTorch raises a RuntimeError for that."""


class FolderError(IsADirectoryError, RuntimeError):
    """There is a folder where a file should be saved; PyTorch raises a RuntimeError for that."""


class CallerError(Exception):
    """Carries, as its cause, an error that is not the file's: of a device, or of map_location."""


def shown(value: Any) -> str:
    """A short text for an object of a file, made in bounded time whatever the object is."""
    if isinstance(value, (str, bytes)):
        return repr(value[:60])
    if isinstance(value, int) and value.bit_length() <= 128:
        return str(value)
    if value is None or isinstance(value, float):
        return repr(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"an object of type {type(value).__name__}"


class SourceChangeWarning(Warning):
    """The warning of old that the source of a saved class has changed; it is never given."""

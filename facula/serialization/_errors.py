"""The one exception that a bad file raises."""

from __future__ import annotations

import pickle
from typing import Any

__all__ = ["CheckpointError"]


class CheckpointError(pickle.UnpicklingError):
    """A checkpoint is damaged, truncated, hostile, or has what the reader does not make.

    Args:
        message: what was expected and what was found.
        offset: the byte at which it was found, counted in the record that is named; None where no
            single byte is to blame.
        found: what was found there.

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

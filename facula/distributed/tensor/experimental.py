"""Contexts for tensors on several devices, of which there are none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["implicit_replication"]


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """A block in which tensors of one device meet those of several; it does nothing here."""
    yield

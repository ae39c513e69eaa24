"""Handles for hooks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

__all__ = ["RemovableHandle"]

_next_id = itertools.count()


class RemovableHandle:
    """Takes a hook away again: ``handle.remove()``, or at the end of a ``with`` block."""

    def __init__(self, hooks: dict[int, Callable[..., Any]]) -> None:
        self.id = next(_next_id)
        self._hooks: dict[int, Callable[..., Any]] | None = hooks

    @classmethod
    def add(cls, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> RemovableHandle:
        """Put ``hook`` last into ``hooks`` and return the handle that removes it."""
        handle = cls(hooks)
        hooks[handle.id] = hook
        return handle

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        if self._hooks is not None:
            self._hooks.pop(self.id, None)
            self._hooks = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()

"""Handles for hooks."""

from __future__ import annotations

import itertools
from typing import Any

__all__ = ["RemovableHandle"]

_next_id = itertools.count()


class RemovableHandle:
    """Takes a hook away again: ``handle.remove()``, or at the end of a ``with`` block.

    Args:
        hooks_dict: the table that has the hook under the handle's ``id``.
        extra_dict: a table, or a list of them, that may have more about the hook.
    """

    def __init__(self, hooks_dict: dict[int, Any], *, extra_dict: Any = None) -> None:
        self.id = next(_next_id)
        while self.id in hooks_dict:  # an unpickled table has ids of another process
            self.id = next(_next_id)
        more = extra_dict if isinstance(extra_dict, list) else [extra_dict or {}]
        self._tables: list[dict[int, Any]] = [hooks_dict, *more]

    @classmethod
    def add(cls, hooks: dict[int, Any], hook: Any) -> RemovableHandle:
        """Put ``hook`` last into ``hooks`` and return the handle that removes it."""
        handle = cls(hooks)
        hooks[handle.id] = hook
        return handle

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for table in self._tables:
            table.pop(self.id, None)
        self._tables.clear()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()

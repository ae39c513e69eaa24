"""Handles for hooks."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from facula._warnings import warn_user

if TYPE_CHECKING:
    from facula.nn.modules._hooks import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

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


def unserializable_hook(f: Any) -> Any:
    """Mark a hook that is lost without a warning where its tensor is saved.

    Args:
        f: the hook.
    """
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of the hooks of a tensor, which are not saved with it.

    Args:
        tensor: the tensor.
    """
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn_user(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
            )


def __getattr__(name: str) -> Any:
    if name != "BackwardHook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from facula.nn.modules._hooks import BackwardHook  # which imports this module

    return BackwardHook

"""Batches in page-locked memory, from which copies to a GPU run beside computation."""

from __future__ import annotations

from typing import Any

from facula.utils import _pytree

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """Copy tensors to page-locked memory, in whatever containers they are.

    What is no tensor may know by itself how it is pinned: its method ``pin_memory`` is called.

    Args:
        data: a tensor, or nested containers with tensors.
        device: accepted as in PyTorch; nothing depends on it.
    """
    return _pytree.tree_map(_pinned, data)


def _pinned(part: Any) -> Any:
    return part.pin_memory() if hasattr(part, "pin_memory") else part

"""Batches in page-locked memory, from which copies to a GPU run beside computation."""

from __future__ import annotations

import queue
from typing import Any

from facula._utils import ExceptionWrapper
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


def _pin_memory_loop(
    in_queue: Any, out_queue: Any, device_id: Any, done_event: Any, device: Any = None
) -> None:
    """Pin batches on their way between two queues, in a thread, until the event is set."""
    while not done_event.is_set():
        try:
            n, data = in_queue.get(timeout=0.1)
        except queue.Empty:
            continue
        if not isinstance(data, ExceptionWrapper):
            try:
                data = pin_memory(data, device)
            except Exception:
                data = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        while not done_event.is_set():
            try:
                out_queue.put((n, data), timeout=0.1)
            except queue.Full:
                continue
            break


def _pinned(part: Any) -> Any:
    return part.pin_memory() if hasattr(part, "pin_memory") else part

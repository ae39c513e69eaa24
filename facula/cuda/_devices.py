"""Which GPU is meant by an argument."""

from __future__ import annotations

from typing import TypeAlias

from facula import _core

DeviceLike: TypeAlias = "int | str | _core.device | None"


def device_index(device: DeviceLike) -> int:
    """The number of a GPU; None and ``"cuda"`` mean the current one. Raises without a GPU."""
    current = _core._cuda_current_device()
    if device is None:
        return current
    if isinstance(device, str):
        device = _core.device(device)
    if isinstance(device, int):
        index = device
    elif device.type != "cuda":
        raise ValueError(f"cuda: expected a cuda device, got {device}.")
    else:
        index = current if device.index is None else device.index
    if not 0 <= index < _core._cuda_device_count():
        raise RuntimeError(
            f"cuda: there is no device cuda:{index}; the driver sees {_core._cuda_device_count()}."
        )
    return index

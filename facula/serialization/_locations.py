"""On which device the storages of a file are put."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import facula
from facula import _core
from facula._core import UntypedStorage
from facula.serialization._errors import CallerError, MissingDeviceError
from facula.storage import TypedStorage

MapLocation = (
    Callable[[UntypedStorage, str], Any] | _core.device | str | Mapping[str, str | _core.device]
)


class Locations:
    """Moves storages to where ``map_location`` says.

    Args:
        map_location: None for where they were saved from, a device, a dict from the device in the
            file to the one wanted, or a function of the storage in main memory and its place in
            the file that returns a storage, or None for that place.
    """

    def __init__(self, map_location: MapLocation | None) -> None:
        self._map = map_location

    def place(self, storage: UntypedStorage, location: str) -> UntypedStorage:
        """The storage on its device; itself if that is main memory."""
        try:
            return self._place(storage, location)
        except Exception as error:
            raise CallerError from error

    def _place(self, storage: UntypedStorage, location: str) -> UntypedStorage:
        wanted = self._map
        if callable(wanted):
            placed = wanted(storage, location)
            if placed is not None:
                return placed.untyped() if isinstance(placed, TypedStorage) else placed
            wanted = None
        if wanted is None:
            return _move(storage, location)
        if isinstance(wanted, Mapping):
            return _move(storage, wanted.get(location, location))
        return _move(storage, wanted)


def _move(storage: UntypedStorage, location: str | _core.device) -> UntypedStorage:
    kind = str(location).partition(":")[0]
    if kind == "cpu":
        return storage
    if kind != "cuda":
        raise MissingDeviceError(
            f"load: the file has tensors of {location!r}, and there is no such device here. Pass "
            "map_location='cpu' to load them into main memory."
        )
    if not facula.cuda.is_available():
        raise MissingDeviceError(
            f"load: the file has tensors of the CUDA device {str(location)!r}, but "
            "facula.cuda.is_available() is False. Pass map_location='cpu' to load them into main "
            "memory."
        )
    device = _core.device(location)
    if device.index is not None and device.index >= facula.cuda.device_count():
        raise MissingDeviceError(
            f"load: the file has tensors of {device}, but there are {facula.cuda.device_count()} "
            "CUDA devices. Pass map_location to choose one of them."
        )
    return facula.storage._bytes(storage).to(device).untyped_storage()

"""On which device the storages of a file are put."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import facula
from facula import _core, cuda
from facula._core import UntypedStorage
from facula.serialization._errors import CallerError, MissingDeviceError
from facula.storage import TypedStorage

__all__ = [
    "MAP_LOCATION",
    "default_restore_location",
    "location_tag",
    "register_package",
    "validate_cuda_device",
]

MapLocation = (
    Callable[[UntypedStorage, str], Any] | _core.device | str | Mapping[str, str | _core.device]
)
MAP_LOCATION = MapLocation | None


class Locations:
    """Moves storages to where ``map_location`` says.

    Args:
        map_location: None for the devices that storages were saved from, a device, a dict from the
            device in the file to the one wanted, or a function of the storage in main memory and
            its place in the file that returns a storage, or None for that place.
    """

    def __init__(self, map_location: MapLocation | None) -> None:
        self._map = map_location

    def place(self, storage: UntypedStorage, location: str) -> UntypedStorage:
        """The storage on its device; itself if that is main memory."""
        try:
            return self._place(storage, location)
        except Exception as error:  # wrapped, or the interpreter would blame the file for it
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


Tagger = Callable[[UntypedStorage], str | None]
Deserializer = Callable[[UntypedStorage, str], UntypedStorage | None]


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Add a place where storages can be: how files name it, and how storages get there.

    Args:
        priority: when this package is asked: the lowest is first; main memory has 10, CUDA 20.
        tagger: function that gives the name of a storage's place, or None if it is not one of this
            package's.
        deserializer: function that brings a storage in main memory to the place of a name; it gives
            None if the name is not one of this package's.

    Example:
        >>> facula.serialization.register_package(30, lambda s: None, lambda s, location: None)
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: UntypedStorage | TypedStorage) -> str:
    """The name that files have for a storage's place.

    Example:
        >>> facula.serialization.location_tag(facula.ones(2).untyped_storage())
        'cpu'
    """
    untyped = storage.untyped() if isinstance(storage, TypedStorage) else storage
    for _, tagger, _ in _packages:
        tag = tagger(untyped)
        if tag is not None:
            return tag
    raise RuntimeError(f"save: no package knows a name for the place {untyped.device}.")


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """A storage in main memory, brought to the place that a file names."""
    for _, _, deserializer in _packages:
        placed = deserializer(storage, location)
        if placed is not None:
            return placed
    raise MissingDeviceError(
        f"load: the file has tensors of {location!r}, and there is no such device here. Pass "
        "map_location='cpu' to load them into main memory."
    )


def _move(storage: UntypedStorage, location: str | _core.device) -> UntypedStorage:
    return default_restore_location(storage, str(location))


def _cpu_tag(storage: UntypedStorage) -> str | None:
    return "cpu" if storage.device.type == "cpu" else None


def _to_cpu(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return storage if location.partition(":")[0] == "cpu" else None


def _cuda_tag(storage: UntypedStorage) -> str | None:
    return str(storage.device) if storage.device.type == "cuda" else None


def _to_cuda(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    if location.partition(":")[0] != "cuda":
        return None
    if not facula.cuda.is_available():
        raise MissingDeviceError(
            f"load: the file has tensors of the CUDA device {location!r}, but "
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


def _meta_tag(storage: UntypedStorage) -> str | None:
    return "meta" if storage.device.type == "meta" else None


def _to_meta(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


_packages: list[tuple[int, Tagger, Deserializer]] = [
    (10, _cpu_tag, _to_cpu),
    (20, _cuda_tag, _to_cuda),
    (22, _meta_tag, _to_meta),
]


def validate_cuda_device(location: str) -> int:
    """The number of the GPU that a place in a file means; raises where there is none.

    Args:
        location: such as ``"cuda:0"``.
    """
    device = _core.device(location).index or 0
    if not cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            f"False: {cuda.unavailable_reason()}. Load with map_location=torch.device('cpu')."
        )
    if device >= cuda.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {device} but there are "
            f"{cuda.device_count()}. Load with map_location."
        )
    return device

"""The GPUs of this machine: which there are, and which one is meant by an argument."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from facula import _core

__all__ = [
    "current_device",
    "device",
    "device_count",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "set_device",
    "synchronize",
    "unavailable_reason",
]

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


class _Properties(NamedTuple):
    """What :func:`get_device_properties` returns; memory is in bytes."""

    name: str
    total_memory: int
    major: int
    minor: int
    multi_processor_count: int


def is_initialized() -> bool:
    """Whether the GPUs were found out about: they are, when first asked for.

    Example:
        >>> facula.cuda.is_initialized() == facula.cuda.is_available()
        True
    """
    return is_available()


def init() -> None:
    """Find out about the GPUs now, not at first use; raises where there are none.

    Example:
        >>> if facula.cuda.is_available():
        ...     facula.cuda.init()
    """
    _core._cuda_current_device()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current GPU computes in bfloat16, which those before 8.0 do in float32.

    Args:
        including_emulation: whether conversion from and to float32 counts too.

    Example:
        >>> facula.cuda.is_bf16_supported() == facula.cuda.is_available()
        True
    """
    if not is_available():
        return False
    return including_emulation or get_device_capability()[0] >= 8


def is_available() -> bool:
    """Whether tensors can be moved to an NVIDIA GPU.

    Example:
        >>> isinstance(facula.cuda.is_available(), bool)
        True
    """
    return not _core._cuda_unavailable_reason()


def unavailable_reason() -> str:
    """Why :func:`is_available` is False; empty if it is True.

    Example:
        >>> bool(facula.cuda.unavailable_reason()) == (not facula.cuda.is_available())
        True
    """
    return _core._cuda_unavailable_reason()


def device_count() -> int:
    """The number of GPUs that the driver shows; ``CUDA_VISIBLE_DEVICES`` chooses among them.

    Example:
        >>> facula.cuda.device_count() >= 0
        True
    """
    return _core._cuda_device_count()


def current_device() -> int:
    """The number of the GPU that ``"cuda"`` means in this thread."""
    return _core._cuda_current_device()


def set_device(device: DeviceLike) -> None:
    """Makes ``"cuda"`` mean this GPU in this thread; a negative number changes nothing."""
    if not isinstance(device, int) or device >= 0:
        _core._cuda_set_device(device_index(device))


class device:
    """A block in which ``"cuda"`` means this GPU: ``with facula.cuda.device(1): ...``."""

    def __init__(self, device: DeviceLike) -> None:
        self.idx = device if isinstance(device, int) else device_index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current_device()
        set_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        set_device(self.prev_idx)


def synchronize(device: DeviceLike = None) -> None:
    """Waits until all work that was queued on the GPU is done."""
    _core._cuda_synchronize(device_index(device))


def get_device_properties(device: DeviceLike = None) -> _Properties:
    """The properties of a GPU.

    Returns:
        ``name``, ``total_memory`` in bytes, ``major`` and ``minor`` of the compute capability, and
        ``multi_processor_count``.
    """
    return _Properties(*_core._cuda_properties(device_index(device)))


def get_device_name(device: DeviceLike = None) -> str:
    """The name of a GPU, such as ``"NVIDIA H200"``."""
    return get_device_properties(device).name


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """The compute capability of a GPU, such as ``(9, 0)``."""
    properties = get_device_properties(device)
    return properties.major, properties.minor

"""The GPUs of this machine: which there are, and which one is meant by an argument."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from facula import _core

__all__ = [
    "CudaError",
    "DeferredCudaCallError",
    "OutOfMemoryError",
    "can_device_access_peer",
    "check_error",
    "cudaStatus",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "has_half",
    "has_magma",
    "init",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "set_device",
    "synchronize",
    "unavailable_reason",
]

OutOfMemoryError = _core.OutOfMemoryError
has_half = True
has_magma = False


class CudaError(RuntimeError):
    """A call of the CUDA runtime that failed.

    Args:
        code: its number.

    Example:
        >>> str(facula.cuda.CudaError(2))
        'CUDA error 2'
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error {code}")


class cudaStatus:
    """Numbers with which functions of CUDA end.

    Example:
        >>> facula.cuda.cudaStatus.SUCCESS
        0
    """

    SUCCESS = 0
    ERROR_NOT_READY = 34


def check_error(res: int) -> None:
    """Raise :class:`CudaError` unless a function of CUDA ended well.

    Args:
        res: what it returned.

    Example:
        >>> facula.cuda.check_error(facula.cuda.cudaStatus.SUCCESS)
    """
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)


class DeferredCudaCallError(Exception):
    """Raised when work that waited for the first use of a GPU failed; nothing waits here."""


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


class device_of(device):
    """A block in which ``"cuda"`` means the GPU of a tensor; nothing changes for one of the CPU.

    Args:
        obj: a tensor or a storage.

    Example:
        >>> with facula.cuda.device_of(facula.ones(2)):
        ...     pass
    """

    def __init__(self, obj: Any) -> None:
        self.idx = obj.get_device() if obj.is_cuda else -1
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            super().__enter__()

    def __exit__(self, *exception: object) -> None:
        if self.idx >= 0:
            super().__exit__(*exception)


def can_device_access_peer(device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether a GPU reads the memory of another directly.

    Args:
        device: the GPU that reads.
        peer_device: the other one.
    """
    return _core._cuda_can_access_peer(device_index(device), device_index(peer_device))


def get_arch_list() -> list[str]:
    """The architectures of GPUs for which there are programs: that of each GPU that is there.

    Programs are compiled where they run, so that it is no list of the build's.

    Example:
        >>> facula.cuda.get_arch_list() if not facula.cuda.is_available() else []
        []
    """
    capabilities = {get_device_capability(i) for i in range(device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(capabilities)]


def get_gencode_flags() -> str:
    """The architectures of :func:`get_arch_list` as options of NVIDIA's compiler.

    Example:
        >>> facula.cuda.get_gencode_flags() if not facula.cuda.is_available() else ""
        ''
    """
    numbers = [name.removeprefix("sm_") for name in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{n},code=sm_{n}" for n in numbers)


def is_tf32_supported() -> bool:
    """Whether the current GPU multiplies in tf32, which those since 8.0 do.

    Example:
        >>> isinstance(facula.cuda.is_tf32_supported(), bool)
        True
    """
    return is_available() and get_device_capability()[0] >= 8


def ipc_collect() -> None:
    """Frees GPU memory that other processes gave back; none is shared with them here."""


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

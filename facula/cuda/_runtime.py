"""What programs ask of CUDA's own libraries, by their names there."""

from __future__ import annotations

from facula._refusing import refusing, refusing_class
from facula.cuda._devices import init
from facula.cuda.memory import mem_get_info

__all__ = [
    "GreenContext",
    "cudart",
    "current_blas_handle",
    "current_solver_handle",
    "get_sync_debug_mode",
    "set_sync_debug_mode",
]

_SYNC_MODES = ("default", "warn", "error")
_NO_HANDLES = "handles of libraries are not given away. Call torch.matmul and torch.linalg."

GreenContext = refusing_class(
    "torch.cuda.GreenContext",
    "a GPU is not divided. Streams share it: torch.cuda.Stream.",
)
current_blas_handle = refusing("torch.cuda.current_blas_handle", _NO_HANDLES)
current_solver_handle = refusing("torch.cuda.current_solver_handle", _NO_HANDLES)


def get_sync_debug_mode() -> int:
    """What happens where the program waits for the GPU: 0, it waits.

    Example:
        >>> facula.cuda.get_sync_debug_mode() if facula.cuda.is_available() else 0
        0
    """
    init()
    return 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Choose what happens where the program waits for the GPU.

    Args:
        debug_mode: ``"default"`` or 0, to wait. PyTorch also has ``"warn"`` or 1 and ``"error"``
            or 2, which are refused: what waits is not watched.

    Example:
        >>> if facula.cuda.is_available():
        ...     facula.cuda.set_sync_debug_mode("default")
    """
    modes = _SYNC_MODES if isinstance(debug_mode, str) else range(len(_SYNC_MODES))
    if debug_mode not in modes:
        raise RuntimeError(
            f"set_sync_debug_mode: expected one of {', '.join(map(repr, _SYNC_MODES))}, or its "
            f"number, got {debug_mode!r}: invalid value of debug_mode."
        )
    if debug_mode not in ("default", 0):
        raise RuntimeError(
            f"set_sync_debug_mode: the mode {debug_mode!r} is not part of Facula: what waits for "
            "the GPU is not watched. torch.profiler shows which operations take long."
        )
    init()


class _Runtime:
    """The functions of CUDA's runtime that programs call; each returns a status, 0 if all is well.

    The methods have the names of the library.
    """

    def cudaProfilerStart(self) -> int:
        """``facula.cuda.profiler.start()``."""
        from facula.cuda import profiler

        profiler.start()
        return 0

    def cudaProfilerStop(self) -> int:
        """``facula.cuda.profiler.stop()``."""
        from facula.cuda import profiler

        profiler.stop()
        return 0

    def cudaMemGetInfo(self, device: int) -> tuple[int, int]:
        """``facula.cuda.mem_get_info(device)``."""
        return mem_get_info(device)


def cudart() -> _Runtime:
    """The functions of CUDA's runtime that can be called: profilers and free memory.

    Example:
        >>> if facula.cuda.is_available():
        ...     facula.cuda.cudart().cudaProfilerStart()
    """
    init()
    return _Runtime()

"""Switches that scripts set: determinism, anomalies, precision, older names of autocast's."""

from __future__ import annotations

from facula import _core
from facula._warnings import warn_user

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_autocast_cpu_dtype",
    "get_autocast_gpu_dtype",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "init_num_threads",
    "is_autocast_cpu_enabled",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_anomaly_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_gpu_dtype",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}
_debug_mode = 0
_matmul_precision = "highest"
_n_interop_threads: int | None = None
_warns_always = False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for the same bits at every run; they are the same in any case.

    Args:
        mode: what :func:`are_deterministic_algorithms_enabled` will say.
        warn_only: what :func:`is_deterministic_algorithms_warn_only_enabled` will say.

    Example:
        >>> facula.use_deterministic_algorithms(True)
        >>> facula.are_deterministic_algorithms_enabled()
        True
        >>> facula.use_deterministic_algorithms(False)
    """
    set_deterministic_debug_mode(0 if not mode else 1 if warn_only else 2)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` was asked for.

    Example:
        >>> facula.are_deterministic_algorithms_enabled()
        False
    """
    return _debug_mode != 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` was asked for with ``warn_only``.

    Example:
        >>> facula.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return _debug_mode == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Choose how strictly the same bits are asked for: 0 "default", 1 "warn" or 2 "error".

    Args:
        debug_mode: one of the numbers or names.

    Example:
        >>> facula.set_deterministic_debug_mode("warn")
        >>> facula.get_deterministic_debug_mode()
        1
        >>> facula.set_deterministic_debug_mode(0)
    """
    global _debug_mode
    if not isinstance(debug_mode, (int, str)):
        name = type(debug_mode).__name__
        raise TypeError(f"set_deterministic_debug_mode: expected an int or a str, got {name}.")
    mode = _DEBUG_MODES.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if mode not in _DEBUG_MODES.values():
        raise RuntimeError(
            "set_deterministic_debug_mode: expected 0 'default', 1 'warn' or 2 'error', "
            f"got {debug_mode!r}."
        )
    _debug_mode = mode


def get_deterministic_debug_mode() -> int:
    """The position that :func:`set_deterministic_debug_mode` set.

    Example:
        >>> facula.get_deterministic_debug_mode()
        0
    """
    return _debug_mode


def set_float32_matmul_precision(precision: str) -> None:
    """Allows products of float32 on a GPU to use TF32; on the CPU they stay in float32.

    Args:
        precision: ``"highest"``, ``"high"`` or ``"medium"``; another is ignored with a warning.

    Example:
        >>> facula.set_float32_matmul_precision("high")
        >>> facula.get_float32_matmul_precision()
        'high'
        >>> facula.set_float32_matmul_precision("highest")
    """
    global _matmul_precision
    if precision not in ("highest", "high", "medium"):
        warn_user(
            "set_float32_matmul_precision: expected 'highest', 'high' or 'medium', "
            f"got {precision!r}; nothing is changed.",
        )
        return
    _matmul_precision = precision
    _core._set_cuda_matmul_allow_tf32(precision != "highest")


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` set.

    Example:
        >>> facula.get_float32_matmul_precision()
        'highest'
    """
    return _matmul_precision


def _warn(old: str, new: str) -> None:
    warn_user(
        f"facula.{old} is deprecated. Please use facula.{new} instead.",
        DeprecationWarning,
    )


def is_autocast_cpu_enabled() -> bool:
    """The older name of ``is_autocast_enabled("cpu")``.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.is_autocast_cpu_enabled()
        False
    """
    _warn("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return _core.is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """The older name of ``set_autocast_enabled("cpu", enabled)``.

    Args:
        enabled: whether operations on the CPU choose their dtype.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.set_autocast_cpu_enabled(False)
    """
    _warn("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    _core.set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> _core.dtype:
    """The older name of ``get_autocast_dtype("cpu")``.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.get_autocast_cpu_dtype()
        torch.bfloat16
    """
    _warn("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return _core.get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: _core.dtype) -> None:
    """The older name of ``set_autocast_dtype("cpu", dtype)``.

    Args:
        dtype: what operations on the CPU compute in under autocast.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.set_autocast_cpu_dtype(facula.bfloat16)
    """
    _warn("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    _core.set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> _core.dtype:
    """The older name of ``get_autocast_dtype("cuda")``.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.get_autocast_gpu_dtype()
        torch.float16
    """
    _warn("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return _core.get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: _core.dtype) -> None:
    """The older name of ``set_autocast_dtype("cuda", dtype)``.

    Args:
        dtype: what operations on a GPU compute in under autocast.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.set_autocast_gpu_dtype(facula.float16)
    """
    _warn("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    _core.set_autocast_dtype("cuda", dtype)


def set_warn_always(b: bool, /) -> None:
    """Asks for every warning each time; here Python's filters of warnings decide.

    Args:
        b: what :func:`is_warn_always_enabled` will say.

    Example:
        >>> facula.set_warn_always(False)
    """
    global _warns_always
    _warns_always = b


def is_warn_always_enabled() -> bool:
    """What was last given to :func:`set_warn_always`.

    Example:
        >>> facula.is_warn_always_enabled()
        False
    """
    return _warns_always


def set_num_interop_threads(n: int, /) -> None:
    """Sets the number of threads for operations beside each other; here they run one after another.

    Args:
        n: what :func:`get_num_interop_threads` will say, at least 1; it can be set once.

    Example:
        >>> facula.get_num_interop_threads() >= 1
        True
    """
    global _n_interop_threads
    if n <= 0:
        raise RuntimeError(f"set_num_interop_threads: expects a positive integer, got {n}.")
    if _n_interop_threads is not None:
        raise RuntimeError("set_num_interop_threads: it was set before, and can be set once only.")
    _n_interop_threads = n


def get_num_interop_threads() -> int:
    """What was given to :func:`set_num_interop_threads`; by default the number of threads.

    Example:
        >>> facula.get_num_interop_threads() >= 1
        True
    """
    return _n_interop_threads or _core.get_num_threads()


def init_num_threads() -> None:
    """Prepare a new thread for operations; none needs it.

    Example:
        >>> facula.init_num_threads()
    """


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch the detection of anomalies on or off; ``autograd.set_detect_anomaly`` is a context.

    Args:
        enabled: whether errors in backward name the operation of forward.
        check_nan: whether NaN in a gradient is an error.

    Example:
        >>> facula.set_anomaly_enabled(False)
    """
    from facula.autograd import set_detect_anomaly

    set_detect_anomaly(enabled, check_nan)

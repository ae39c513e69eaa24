"""Switches of CUDA's matrix products and attention, for the scripts that set them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from facula import _core

__all__ = [
    "SDPAParams",
    "allow_fp16_bf16_reduction_math_sdp",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]


class _FftPlans:
    """The plans that transforms on a GPU keep: ``size`` of them, at most ``max_size``."""

    def __init__(self, device: int | None = None) -> None:
        self._device = device

    def _index(self) -> int:
        return _core._cuda_current_device() if self._device is None else self._device

    @property
    def size(self) -> int:
        """How many there are."""
        return _core._fft_plans(self._index())[0]

    @property
    def max_size(self) -> int:
        """How many there may be; that which was not used for the longest goes first."""
        return _core._fft_plans(self._index())[1]

    @max_size.setter
    def max_size(self, value: int) -> None:
        if value < 0:
            raise RuntimeError(f"cufft_plan_cache: expected a max_size of at least 0, got {value}.")
        _core._set_fft_plan_limit(self._index(), value)

    def clear(self) -> None:
        """Forgets all of them."""
        _core._clear_fft_plans(self._index())

    def __getitem__(self, device: int | str | _core.device) -> _FftPlans:
        if isinstance(device, int):
            return _FftPlans(device)
        index = _core.device(device).index
        return _FftPlans(_core._cuda_current_device() if index is None else index)


cufft_plan_cache = _FftPlans()


class _Matmul:
    """Which shortcuts matrix products may take: TF32 alone is taken."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 may round to 10 bits of mantissa for the tensor cores."""
        return _core._cuda_matmul_allow_tf32()

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        _core._set_cuda_matmul_allow_tf32(bool(value))


matmul = _Matmul()
_enabled = {"cudnn": True, "flash": True, "math": True, "mem_efficient": True}


def is_built() -> bool:
    """Whether tensors can be on a GPU where there is one: yes, the build needs no CUDA.

    Example:
        >>> facula.backends.cuda.is_built()
        True
    """
    return True


def enable_flash_sdp(enabled: bool) -> None:
    """Keep whether attention may use PyTorch's flash kernels; there is one for all inputs here."""
    _enabled["flash"] = enabled


def flash_sdp_enabled() -> bool:
    """What :func:`enable_flash_sdp` was given last.

    Example:
        >>> facula.backends.cuda.flash_sdp_enabled()
        True
    """
    return _enabled["flash"]


def enable_math_sdp(enabled: bool) -> None:
    """Keep whether attention may be composed of other operations."""
    _enabled["math"] = enabled


def math_sdp_enabled() -> bool:
    """What :func:`enable_math_sdp` was given last."""
    return _enabled["math"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keep whether attention may use PyTorch's kernels that save memory."""
    _enabled["mem_efficient"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """What :func:`enable_mem_efficient_sdp` was given last."""
    return _enabled["mem_efficient"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keep whether attention may use cuDNN."""
    _enabled["cudnn"] = enabled


def cudnn_sdp_enabled() -> bool:
    """What :func:`enable_cudnn_sdp` was given last."""
    return _enabled["cudnn"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Keep whether composed attention may sum in 16 bits; sums are in 32 bits in any case."""
    _enabled["reduced"] = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What :func:`allow_fp16_bf16_reduction_math_sdp` was given last."""
    return _enabled.get("reduced", False)


def is_flash_attention_available() -> bool:
    """Whether PyTorch's flash kernels are there: no, one of our own serves all inputs.

    Example:
        >>> facula.backends.cuda.is_flash_attention_available()
        False
    """
    return False


class SDPAParams(NamedTuple):
    """The arguments of an attention, for the questions which kernel can take them."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any
    dropout: float
    is_causal: bool
    enable_gqa: bool


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether PyTorch's flash kernels could take the arguments: there are none.

    Args:
        params: the arguments.
        debug: accepted for compatibility.
    """
    return False


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether PyTorch's kernels that save memory could take the arguments: there are none.

    Args:
        params: the arguments.
        debug: accepted for compatibility.
    """
    return False


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether cuDNN's attention could take the arguments: it is not used.

    Args:
        params: the arguments.
        debug: accepted for compatibility.
    """
    return False


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """A block in which attention may use only some kernels; an older form of ``sdpa_kernel``.

    Args:
        enable_flash: whether flash kernels may be used.
        enable_math: whether attention may be composed of other operations.
        enable_mem_efficient: whether kernels that save memory may be used.
        enable_cudnn: whether cuDNN may be used.

    Example:
        >>> with facula.backends.cuda.sdp_kernel(enable_flash=False):
        ...     facula.backends.cuda.flash_sdp_enabled()
        False
    """
    before = dict(_enabled)
    _enabled.update(
        flash=enable_flash,
        math=enable_math,
        mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
    )
    try:
        yield
    finally:
        _enabled.update(before)


def _kept(name: str, choices: tuple[str, ...], backend: str | None) -> str:
    if backend is not None:
        if backend not in choices:
            raise RuntimeError(f"{name}: expected one of {choices}, got {backend!r}.")
        _preferred[name] = backend
    return _preferred.get(name, "default")


_preferred: dict[str, str] = {}


def preferred_linalg_library(backend: str | None = None) -> str:
    """Keep which library factorises matrices; cuSOLVER does. Returns what is kept.

    Args:
        backend: ``"default"``, ``"cusolver"`` or ``"magma"``; None to ask only.

    Example:
        >>> facula.backends.cuda.preferred_linalg_library()
        'default'
    """
    return _kept("preferred_linalg_library", ("default", "cusolver", "magma"), backend)


def preferred_blas_library(backend: str | None = None) -> str:
    """Keep which library multiplies matrices; cuBLASLt does. Returns what is kept.

    Args:
        backend: ``"default"``, ``"cublas"``, ``"cublaslt"`` or ``"ck"``; None to ask only.

    Example:
        >>> facula.backends.cuda.preferred_blas_library()
        'default'
    """
    choices = ("default", "cublas", "cublaslt", "hipblaslt", "ck")
    return _kept("preferred_blas_library", choices, backend)

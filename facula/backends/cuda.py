"""Switches of CUDA's matrix products and attention, for the scripts that set them."""

from __future__ import annotations

from facula import _core

__all__ = [
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
]


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

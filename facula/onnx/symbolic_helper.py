"""What packages mark their own translations to ONNX with, for PyTorch's older exporter.

Such a translation is kept and never called: :func:`facula.onnx.export` takes those of operations of
one's own as ``custom_translation_table``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["parse_args", "quantized_args"]

_F = TypeVar("_F", bound=Callable[..., Any])


def parse_args(*arg_descriptors: str) -> Callable[[_F], _F]:
    """Mark a translation with the kinds of its arguments, and leave it as it is.

    Args:
        arg_descriptors: a letter for each argument.
    """
    return lambda translation: translation


def quantized_args(
    *arg_q_descriptors: bool,
    scale: float | None = None,
    zero_point: int | None = None,
    quantize_output: bool = True,
) -> Callable[[_F], _F]:
    """Mark a translation with its arguments that may be quantized, and leave it as it is.

    Args:
        arg_q_descriptors: whether each argument may be quantized.
        scale: the scale of the result.
        zero_point: the zero of the result.
        quantize_output: whether the result is quantized.
    """
    return lambda translation: translation

"""The layout of convolution weights in memory."""

from __future__ import annotations

from typing import Any, TypeVar

from facula.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

_M = TypeVar("_M", bound=Module)


def _convert(module: Module, n: int, memory_format: Any) -> None:
    from facula.nn.modules import conv

    kinds = getattr(conv, f"Conv{n}d"), getattr(conv, f"ConvTranspose{n}d")
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().contiguous(memory_format=memory_format)


def convert_conv2d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """Lay out the weights of all 2d convolutions in a module in ``memory_format``.

    Args:
        module: the module, which is changed and returned.
        memory_format: the order of the weights, such as ``facula.channels_last``.

    Example:
        >>> from facula import nn
        >>> m = nn.Sequential(nn.Conv2d(3, 4, 2))
        >>> _ = nn.utils.convert_conv2d_weight_memory_format(m, facula.channels_last)
        >>> m[0].weight.is_contiguous(memory_format=facula.channels_last)
        True
    """
    _convert(module, 2, memory_format)
    return module


def convert_conv3d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """Lay out the weights of all 3d convolutions in a module in ``memory_format``.

    Args:
        module: the module, which is changed and returned.
        memory_format: the order of the weights, such as ``facula.channels_last_3d``.

    Example:
        >>> from facula import nn
        >>> m = nn.Sequential(nn.Conv3d(3, 4, 2))
        >>> _ = nn.utils.convert_conv3d_weight_memory_format(m, facula.channels_last_3d)
        >>> m[0].weight.is_contiguous(memory_format=facula.channels_last_3d)
        True
    """
    _convert(module, 3, memory_format)
    return module

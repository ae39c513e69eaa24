"""Lists of tensors in groups, for ``_foreach_`` functions."""

from __future__ import annotations

from facula import _core
from facula._core import Tensor
from facula.nn.parameter import Parameter

__all__: list[str] = []

_foreach_supported_types = [Tensor, Parameter]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The kinds of devices on which one call for many tensors saves time: all."""
    return ["cpu", "cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The kinds of devices on which an optimiser's step is one kernel: all."""
    return ["cpu", "cuda"]


def _device_has_foreach_support(device: _core.device) -> bool:
    return device.type in _get_foreach_kernels_supported_devices()


def _has_foreach_support(tensors: list[Tensor | None], device: _core.device) -> bool:
    """Whether ``_foreach_`` functions take all of the tensors."""
    supported = all(t is None or type(t) in _foreach_supported_types for t in tensors)
    return _device_has_foreach_support(device) and supported


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Tensor | None]], with_indices: bool = False
) -> dict[tuple[_core.device, _core.dtype], tuple[list[list[Tensor | None]], list[int]]]:
    """Lists of the same length, split by device and dtype of the tensors in the first.

    Args:
        tensorlistlist: the lists; the second tensors belong to the first ones, and so on.
        with_indices: whether the places in the lists are returned too.
    """
    groups: dict[tuple[_core.device, _core.dtype], tuple[list[list[Tensor | None]], list[int]]] = {}
    for i, tensors in enumerate(zip(*tensorlistlist, strict=True)):
        first = tensors[0]
        if first is None:
            raise RuntimeError("the first list must have no None.")
        key = (first.device, first.dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for each, tensor in zip(lists, tensors, strict=True):
            each.append(tensor)
        if with_indices:
            indices.append(i)
    return groups

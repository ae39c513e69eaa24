"""Tensors of other libraries over the same memory, by DLPack."""

from __future__ import annotations

import enum
from typing import Any

from facula import _core
from facula._core import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """The kinds of device that DLPack numbers and tensors can be on."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLCUDAManaged = 13


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule with the tensor's memory, for another library's ``from_dlpack``.

    Example:
        >>> x = facula.ones(2)
        >>> facula.utils.dlpack.from_dlpack(facula.utils.dlpack.to_dlpack(x))
        tensor([1., 1.])
    """
    _check_memory(tensor)
    return _core._to_dlpack(tensor, False)


def _check_memory(tensor: Tensor) -> None:
    if hasattr(tensor, "_wrapper_strides"):
        raise BufferError(
            f"__dlpack__: the elements of {type(tensor).__name__} are where its "
            "__torch_dispatch__ finds them, not in memory of its own."
        )


def from_dlpack(
    ext_tensor: Any, *, device: _core.device | str | int | None = None, copy: bool | None = None
) -> Tensor:
    """A tensor over the memory of another library's array.

    Args:
        ext_tensor: an object with ``__dlpack__``, or the capsule that this gives.
        device: where the result is wanted; the array's owner makes the copy if one is needed.
        copy: True always copies, False raises where a copy is needed, None copies where needed.

    Example:
        >>> import numpy
        >>> facula.from_dlpack(numpy.arange(3))
        tensor([0, 1, 2])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError("from_dlpack: device and copy need an object with __dlpack__.")
        return _core._from_dlpack(ext_tensor)
    options: dict[str, Any] = {"max_version": (1, 0)}
    if copy is not None:
        options["copy"] = copy
    if device is not None:
        options["dl_device"] = dlpack_device(_core.device(device))
    kind, index = ext_tensor.__dlpack_device__()
    if kind == DLDeviceType.kDLCUDA:
        # The producer makes its stream's work visible to ours; 1 is the default stream's number.
        options["stream"] = _core._current_stream(_core.device("cuda", index)) or 1
    try:
        capsule = ext_tensor.__dlpack__(**options)
    except TypeError:
        # Producers from before version 1 do not know the argument.
        del options["max_version"]
        capsule = ext_tensor.__dlpack__(**options)
    return _core._from_dlpack(capsule)


def dlpack_device(where: _core.device) -> tuple[DLDeviceType, int]:
    """The device as DLPack numbers it.

    Example:
        >>> facula.utils.dlpack.dlpack_device(facula.device("cpu")) == (1, 0)
        True
    """
    if where.type == "cpu":
        return DLDeviceType.kDLCPU, 0
    if where.type == "meta":
        raise ValueError("dlpack: Unknown device type meta for Dlpack; it has no memory.")
    return DLDeviceType.kDLCUDA, where.index or 0


def export(
    tensor: Tensor,
    *,
    stream: int | None = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """``Tensor.__dlpack__``: a capsule for ``from_dlpack`` of another library.

    Example:
        >>> type(facula.ones(2).__dlpack__()).__name__
        'PyCapsule'
    """
    _check_memory(tensor)
    if tensor.requires_grad:
        raise BufferError(
            "__dlpack__: expected a tensor that does not require grad. Use tensor.detach()."
        )
    if tensor.is_meta:
        raise BufferError("__dlpack__: Cannot pack tensors on meta, which have no elements.")
    if stream is not None and type(stream) is not int:
        raise TypeError(f"__dlpack__: expected an int or None as stream, got {stream!r}.")
    if not tensor.is_cuda and stream not in (None, -1):
        raise AssertionError(f"__dlpack__: expected None as stream on the CPU, got {stream}.")
    target = tensor.device
    if dl_device is not None and tuple(dl_device) != dlpack_device(tensor.device):
        if copy is False:
            raise ValueError(
                f"__dlpack__: cannot move {tensor.device} to {dl_device} without a copy."
            )
        target = device_from_dlpack(dl_device)
    if copy or target != tensor.device:
        tensor = tensor.to(target, copy=True)
    versioned = max_version is not None and max_version[0] >= 1
    return _core._to_dlpack(tensor, versioned)


def device_from_dlpack(dl_device: tuple[int, int]) -> _core.device:
    """The device of a pair of DLPack's numbers.

    Example:
        >>> facula.utils.dlpack.device_from_dlpack((1, 0))
        device(type='cpu')
    """
    kind, index = dl_device
    if kind in (DLDeviceType.kDLCPU, DLDeviceType.kDLCUDAHost):
        return _core.device("cpu")
    if kind in (DLDeviceType.kDLCUDA, DLDeviceType.kDLCUDAManaged):
        return _core.device("cuda", index)
    raise BufferError(f"__dlpack__: expected a CPU (1) or CUDA (2) device, got {dl_device}.")

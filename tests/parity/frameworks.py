"""The two frameworks, and tensors with the same bytes, strides and offset in both."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

import numpy as np
import torch

facula: Any = importlib.import_module(os.environ.get("FACULA_PARITY_MODULE", "facula"))

torch.set_num_threads(1)

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name) for name in ("bool", *INTEGERS, *FLOATING, *COMPLEX)
}
# With few operations in PyTorch: test_unsigned.py has them.
UNSIGNED: dict[str, torch.dtype] = {
    name: getattr(torch, name) for name in ("uint16", "uint32", "uint64")
}
COMPARED = {**DTYPES, **UNSIGNED}

# NumPy has no bfloat16: its bits travel as int16.
_NUMPY = {name: np.dtype("int16" if name == "bfloat16" else name) for name in COMPARED}


# Of each storage, by its address in PyTorch: the dtype of the first tensor seen on it, its memory,
# and a tensor of the framework on it.
Buffers = dict[int, tuple[str, np.ndarray, Any]]


def dtype_name(dtype: Any) -> str:
    return str(dtype).rsplit(".", 1)[-1]


def convert(lib: Any, value: Any, buffers: Buffers | None = None) -> Any:
    """``value`` (tensors, dtypes, sizes, containers of PyTorch) as ``lib`` has it.

    Tensors that share a storage in PyTorch share one in the result. ``buffers`` collects the
    memory of every storage made, in order: whatever an operation writes can be seen there.
    """
    buffers = {} if buffers is None else buffers
    if isinstance(value, torch.Tensor):
        return _convert_tensor(lib, value, buffers)
    if isinstance(value, torch.dtype):
        return getattr(lib, dtype_name(value))
    if isinstance(value, (torch.memory_format, torch.layout)):
        return getattr(lib, dtype_name(value))
    if isinstance(value, torch.device):
        return lib.device(str(value))
    if isinstance(value, torch.Size):
        return lib.Size(tuple(value))
    if isinstance(value, slice):
        return slice(*(convert(lib, v, buffers) for v in (value.start, value.stop, value.step)))
    if isinstance(value, (list, tuple)):
        items = [convert(lib, v, buffers) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: convert(lib, v, buffers) for key, v in value.items()}
    return value


def _convert_tensor(lib: Any, t: torch.Tensor, buffers: Buffers, number: int = 0) -> Any:
    if t.layout == torch.sparse_coo:
        parts = convert(lib, (t._indices(), t._values().detach()), buffers)
        out = lib.sparse_coo_tensor(*parts, tuple(t.shape), is_coalesced=t.is_coalesced())
        return out.requires_grad_(t.requires_grad)
    name = dtype_name(t.dtype)
    if t.device.type == "meta":
        geometry = tuple(t.shape), t.stride()
        out = lib.empty_strided(*geometry, dtype=getattr(lib, name), device="meta")
        return out.requires_grad_(t.requires_grad)
    # Tensors with the bits of lazy views are given as views of the same memory.
    if t.is_conj() or t.is_neg():
        view = "_conj" if t.is_conj() else "_neg_view"
        plain = _convert_tensor(lib, getattr(t.detach(), view)(), buffers, id(t))
        return getattr(plain, view)().requires_grad_(t.requires_grad)
    base = t.detach()
    storage = base.untyped_storage()
    key = storage.data_ptr() or number or id(t)
    geometry = tuple(base.shape), base.stride(), base.storage_offset()
    if key in buffers and dtype_name(buffers[key][2].dtype) == name:
        out = buffers[key][2].as_strided(*geometry)
        return out.requires_grad_() if t.requires_grad else out
    if key in buffers:
        array = buffers[key][1].view(_NUMPY[name])
    else:
        flat = torch.empty(0, dtype=torch.uint8).set_(storage).numpy().copy()
        array = flat[: flat.nbytes // t.itemsize * t.itemsize].view(_NUMPY[name])
    whole = base.is_contiguous() and base.storage_offset() == 0 and array.size == base.numel()
    if array.size == 0 and base.is_contiguous():
        out = lib.empty(tuple(base.shape), dtype=getattr(lib, name))  # which out= may resize
    else:
        out = lib.from_numpy(array.reshape(tuple(base.shape)) if whole else array)
        out = out.view(lib.bfloat16) if name == "bfloat16" else out
    buffers.setdefault(key, (name, array, out.detach()))
    if not whole:
        out = out.as_strided(*geometry)
    return out.requires_grad_() if t.requires_grad else out


def seed(lib: Any) -> None:
    # torch.manual_seed also queues a seed for every kind of device, and so grows with each call.
    (torch.default_generator if lib is torch else lib).manual_seed(0)


def is_tensor(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, facula.Tensor))


def lib_of(tensor: Any) -> Any:
    return facula if isinstance(tensor, facula.Tensor) else torch


def to_numpy(tensor: Any) -> np.ndarray:
    """The values, bfloat16 widened to float32."""
    tensor = tensor.detach().to_dense()
    lib = lib_of(tensor)
    # Conjugates, negatives and zeros may not be there in memory yet.
    if lib is torch and tensor._is_zerotensor():
        tensor = torch.zeros_like(tensor)
    tensor = tensor.resolve_conj().resolve_neg()
    if dtype_name(tensor.dtype) == "bfloat16":
        return widen_bfloat16(tensor.view(lib.int16).numpy())
    return tensor.numpy()


def widen_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)


def outcome_of(
    call: Any, warned: list[warnings.WarningMessage] | None = None
) -> tuple[Any, Exception | None]:
    """``(result, None)`` or ``(None, exception)`` of ``call()``.

    Its warnings are silenced, and appended to ``warned`` where that is a list.
    """
    with warnings.catch_warnings(record=warned is not None) as caught:
        warnings.simplefilter("ignore" if warned is None else "always")
        try:
            return call(), None
        except Exception as error:  # the exception is the result to compare
            return None, error
        finally:
            if warned is not None and caught is not None:
                warned += caught


def same_exception_type(expected: Exception, actual: Exception) -> bool:
    """By name: the classes of PyTorch's own exceptions cannot be the same objects."""
    return type(expected).__name__.lstrip("_") == type(actual).__name__.lstrip("_")

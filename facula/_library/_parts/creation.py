"""Rules of what makes a tensor of another one."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula._library._parts import aten, rule_of
from facula._transform import tensors_in


def _copy(dispatch: Any, x: Tensor, dtype: Any, device: Any) -> Any:
    place = x.device if device is None else facula.device(device)
    return dispatch(aten("_to_copy"), x, dtype=dtype or x.dtype, device=place)


def _refuse_wrappers(name: str, data: Any) -> Any:
    """Numbers are read from memory, and wrappers have none."""
    for x in tensors_in([data]):
        if hasattr(x, "_wrapper_strides"):
            raise RuntimeError(
                f"{name}: the elements of {type(x).__name__} are where its __torch_dispatch__ "
                "finds them. Join tensors with torch.stack."
            )
    return NotImplemented


@rule_of("tensor")
def _tensor(
    dispatch: Any,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    if not isinstance(data, Tensor):
        return _refuse_wrappers("tensor", data)
    made = _copy(dispatch, data.detach(), dtype, device)
    return made.requires_grad_() if requires_grad else made


@rule_of("new_tensor")
def _new_tensor(
    dispatch: Any,
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    if not isinstance(data, Tensor):
        return _refuse_wrappers("new_tensor", data)
    made = _copy(dispatch, data.detach(), dtype or self.dtype, device or self.device)
    return made.requires_grad_() if requires_grad else made


@rule_of("as_tensor")
def _as_tensor(dispatch: Any, data: Any, dtype: Any = None, device: Any = None) -> Any:
    if not isinstance(data, Tensor):
        return _refuse_wrappers("as_tensor", data)
    is_there = device is None or facula.device(device) == data.device
    is_same = dtype is None or dtype == data.dtype
    return data if is_there and is_same else _copy(dispatch, data, dtype, device)


@rule_of("asarray")
def _asarray(
    dispatch: Any,
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    if not isinstance(obj, Tensor):
        return _refuse_wrappers("asarray", obj)
    if requires_grad or copy is False:
        return NotImplemented
    made = _as_tensor(dispatch, obj, dtype, device)
    return obj.clone() if copy and made is obj else made

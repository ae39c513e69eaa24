"""What pickled objects are rebuilt by. The names are those that PyTorch's files have."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor, UntypedStorage
from facula.storage import TypedStorage


def _rebuild_tensor(
    storage: TypedStorage, storage_offset: int, size: Sequence[int], stride: Sequence[int]
) -> Tensor:
    return _core._tensor_over(storage, storage.dtype, storage_offset, tuple(size), tuple(stride))


def _rebuild_tensor_v2(
    storage: TypedStorage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return _finished(tensor, requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: UntypedStorage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    dtype: _core.dtype,
    metadata: Any = None,
) -> Tensor:
    tensor = _core._tensor_over(storage, dtype, storage_offset, tuple(size), tuple(stride))
    return _finished(tensor, requires_grad, metadata)


def _finished(tensor: Tensor, requires_grad: bool, metadata: Any) -> Tensor:
    # PyTorch's tensors may say that they are to be conjugated or negated when they are read.
    for name, change in (metadata or {}).items():
        tensor = tensor if not change else tensor.conj() if name == "conj" else tensor.neg()
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_sparse_tensor(layout: _core.layout, data: Sequence[Any]) -> Tensor:
    from facula.sparse import _construct

    return _construct.rebuilt(layout, data)


def _rebuild_from_type_v2(
    func: Callable[..., Tensor], new_type: type[Tensor], args: tuple[Any, ...], state: Any
) -> Tensor:
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = _core._make_subclass(new_type, tensor, tensor.requires_grad)
    if state:
        tensor.__dict__.update(state)
    return tensor


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Tensor:
    from facula.nn.parameter import Parameter

    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: Any, state: dict[str, Any]
) -> Tensor:
    parameter = _rebuild_parameter(data, requires_grad, backward_hooks)
    parameter.__dict__.update(state)
    return parameter


def _global_name(function: Callable[..., Any]) -> str:
    return function.__qualname__


# The core's functions and methods are copied and pickled by their name, as those of Python: a
# module may have one as an attribute, such as self.act = facula.relu.
for _kind in (type(_core.relu), type(Tensor.relu)):
    copyreg.pickle(_kind, _global_name)
del _kind

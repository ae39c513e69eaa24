"""What pickled objects are rebuilt by, and small helpers: the names are those of PyTorch."""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NoReturn, cast

from facula import _core
from facula._core import Tensor, UntypedStorage
from facula.storage import TypedStorage


def _element_size(dtype: _core.dtype) -> int:
    return dtype.itemsize


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


def _rebuild_meta_tensor_no_storage(
    dtype: _core.dtype, size: Sequence[int], stride: Sequence[int], requires_grad: bool
) -> Tensor:
    return _core.empty_strided(
        tuple(size), tuple(stride), dtype=dtype, device="meta", requires_grad=requires_grad
    )


def make_wrapper(
    cls: type[Tensor],
    size: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: _core.dtype | None = None,
    layout: Any = _core.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: int | None = None,
) -> Tensor:
    """A tensor that has a form and no elements: ``__torch_dispatch__`` does its operations.

    Args:
        cls: the class.
        size: its size.
        strides: its strides, by default those of contiguous memory.
        storage_offset: must be 0 or None.
        memory_format: accepted for compatibility.
        dtype: its dtype.
        layout: accepted for compatibility.
        device: the device that it says it is on.
        pin_memory: accepted for compatibility.
        requires_grad: whether it says that it requires gradients.
        dispatch_sizes_strides_policy: accepted for compatibility.
        dispatch_device: accepted for compatibility.
        dispatch_layout: accepted for compatibility.
        storage_size: accepted for compatibility.
    """
    if cls.__torch_dispatch__ is Tensor.__torch_dispatch__:
        raise RuntimeError(
            f"_make_wrapper_subclass: {cls.__name__} must define __torch_dispatch__, since its "
            "objects have no elements that operations could read."
        )
    dtype = dtype or _core.get_default_dtype()
    is_number = dtype.is_floating_point or dtype.is_complex
    # Nothing reads it; if something ever did, NaN would tell.
    element = _core._resume(
        _core.full,
        ((), float("nan") if is_number else 0),
        {"dtype": dtype, "device": device or _core.get_default_device()},
    )
    memory = _core._resume(Tensor.expand, (element, tuple(size)), {})
    made: Any = _core._make_subclass(cls, memory, requires_grad)
    made._wrapper_strides = None if strides is None else tuple(strides)
    return cast(Tensor, made)


def form_of(wrapper: Any) -> Tensor:
    """A tensor on the device meta with the size and the strides of a wrapper."""
    size, strides = tuple(wrapper.shape), wrapper._wrapper_strides
    if strides is None:
        return cast(Tensor, _core._resume(_core.empty, (size,), {"device": "meta"}))
    return cast(Tensor, _core._resume(_core.empty_strided, (size, strides), {"device": "meta"}))


def _rebuild_wrapper_subclass(
    cls: type[Tensor],
    dtype: _core.dtype,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int,
    layout: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    return make_wrapper(
        cls, size, strides=stride, dtype=dtype, device=device, requires_grad=requires_grad
    )


def _finished(tensor: Tensor, requires_grad: bool, metadata: Any) -> Tensor:
    for name, is_marked in (metadata or {}).items():
        if is_marked:
            tensor = tensor._conj() if name == "conj" else tensor._neg_view()
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


class ExceptionWrapper:
    """An exception of another thread or process, which is raised again with its traceback.

    Args:
        exc_info: the type, the exception and its traceback, by default what is being handled.
        where: the place, which the message names.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        import traceback  # here, so that only those with an error pay for the import

        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        # As a text: the frames would keep alive all that they hold.
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type, whose message has the first one's traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)  # KeyError shows the repr of its argument
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None  # its constructor takes something else
        raise error


class KeyErrorMessage(str):
    """A text whose repr is the text itself."""

    def __repr__(self) -> str:
        return str(self)


def _get_available_device_type() -> str | None:
    """The kind of accelerator that there is: ``"cuda"`` or None."""
    from facula import cuda

    return "cuda" if cuda.is_available() else None


def _get_device_module(device_type: str) -> ModuleType:
    """The module of a kind of device, ``facula.cuda`` or ``facula.cpu`` for example."""
    import facula

    module = getattr(facula, device_type, None)
    if not isinstance(module, ModuleType):
        raise AssertionError(f"there is no module of the device {device_type!r}.")
    return module


def _get_device_attr(get_member: Callable[[ModuleType], Any]) -> Any:
    kind = _get_available_device_type()
    return None if kind is None else get_member(_get_device_module(kind))


def _get_all_device_indices() -> list[int] | None:
    """The numbers of all accelerators."""
    return _get_device_attr(lambda module: list(range(module.device_count())))  # type: ignore[no-any-return]


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a GPU, -1 for the CPU where that is allowed.

    Args:
        device: a device, its name or its number.
        optional: whether a device without a number, or None, means the current one.
        allow_cpu: whether the CPU is a possible answer.
    """
    if isinstance(device, str):
        device = _core.device(device)
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    index = None
    if isinstance(device, _core.device):
        if device.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"expected a device other than the CPU, got {device}.")
            return -1 if device.index is None else device.index
        index = device.index
    elif device is not None:
        raise ValueError(f"expected a device, its name or its number, got {device!r}.")
    if index is not None:
        return int(index)
    if not optional:
        raise ValueError(f"expected a device with a number, such as 'cuda:0', got {device}.")
    from facula import cuda

    return cuda.current_device()


def _handle_complex(tensor: Tensor) -> Tensor:
    """A complex tensor as real pairs; others as they are."""
    return _core.view_as_real(tensor) if tensor.is_complex() else tensor


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of tensors of one dtype, in one tensor of one dimension."""
    return _core.cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a tensor of one dimension, in the shapes of others."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors, strict=True))


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Tensors in groups of one dtype, each of about ``size_limit`` bytes."""
    groups: dict[_core.dtype, list[Tensor]] = {}
    sizes: dict[_core.dtype, int] = {}
    for tensor in tensors:
        group = groups.setdefault(tensor.dtype, [])
        group.append(tensor)
        sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + tensor.nbytes
        if sizes[tensor.dtype] >= size_limit:
            yield groups.pop(tensor.dtype)
            del sizes[tensor.dtype]
    yield from groups.values()


def _reorder_tensors_as(tensors: list[Tensor], ordered: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors in the order in which others have the same dtypes, as :func:`_take_tensors` mixes."""
    queues: dict[_core.dtype, Iterator[Tensor]] = {
        dtype: iter([t for t in tensors if t.dtype == dtype])
        for dtype in {t.dtype for t in tensors}
    }
    return tuple(next(queues[tensor.dtype]) for tensor in ordered)


def classproperty(func: Any) -> Any:
    """A property of a class, as a decorator of a method that takes the class."""
    return _ClassProperty(
        func if isinstance(func, (classmethod, staticmethod)) else classmethod(func)
    )


class _ClassProperty:
    def __init__(self, function: Any) -> None:
        self._function = function

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self._function.__get__(instance, owner)()

"""The parts of ``Tensor`` that are written in Python, attached to the core's type."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from facula import _core, _legacy, _utils
from facula._core import Tensor
from facula._core import _Node as Node
from facula._ops._mark import LOOPED, METHODS
from facula._tensor_str import tensor_format, tensor_repr
from facula.storage import STORAGE_NAMES, TypedStorage
from facula.utils import dlpack
from facula.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    import numpy

    from facula.cuda import Stream


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call ``hook(grad)`` whenever a gradient for this tensor is computed.

    A tensor that it returns replaces the gradient. ``handle.remove()`` takes the hook away.

    Example:
        >>> x = facula.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 2)
        >>> x.sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """
    return RemovableHandle.add(self._tensor_hooks(), hook)


def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call ``hook(tensor)`` after a gradient was added to this leaf's ``.grad``.

    Example:
        >>> x = facula.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
        >>> x.sum().backward()
        tensor([1., 1.])
    """
    return RemovableHandle.add(self._post_accumulate_hooks(), hook)


def _register_node_hook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call ``fn(grad_inputs, grad_outputs)`` after this node has run in backward.

    A tuple that it returns replaces ``grad_inputs``.
    """
    return RemovableHandle.add(self._hooks(), fn)


def _register_node_prehook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call ``fn(grad_outputs)`` before this node runs in backward.

    A tuple that it returns replaces ``grad_outputs``.
    """
    return RemovableHandle.add(self._prehooks(), fn)


def numpy_array(self: Tensor, *, force: bool = False) -> numpy.ndarray:
    """A NumPy array over the tensor's memory: writes to one are seen in the other.

    ``force=True`` also takes tensors that require grad or are on another device, by a copy if one
    is needed.

    Example:
        >>> facula.ones(2).numpy().tolist()
        [1.0, 1.0]
    """
    import numpy  # here, so that only its users pay for the import

    if force:
        self = self.detach().cpu()
    if self.requires_grad:
        raise RuntimeError(
            "numpy: expected a tensor that does not require grad. Use tensor.detach().numpy()."
        )
    if self.is_cuda:
        raise TypeError(
            f"numpy: expected a tensor on the CPU, got one on {self.device}. "
            "Copy it with tensor.cpu() first."
        )
    if self.dtype == _core.bfloat16 or str(self.dtype).startswith("torch.float8"):
        raise TypeError(f"numpy: NumPy has no {self.dtype}. Convert it with tensor.float() first.")
    if self.dtype == _core.complex32:
        raise TypeError("numpy: NumPy has no complex32. Convert it with tensor.cfloat() first.")
    array = numpy.asarray(memoryview(self))
    # An array without elements is made by NumPy, which gives it other strides than the tensor has.
    return array if array.size else numpy.empty(array.shape, array.dtype)


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
    import numpy

    return numpy.array(numpy_array(self), dtype=dtype, copy=copy)


def _array_wrap(
    self: Tensor, array: numpy.ndarray, context: Any = None, return_scalar: bool = False
) -> Tensor:
    # As in PyTorch, the True and False of NumPy's functions come back as 1 and 0 of uint8.
    return _core.from_numpy(array.astype("uint8") if array.dtype == bool else array)


def _dlpack_device(self: Tensor) -> tuple[dlpack.DLDeviceType, int]:
    return dlpack.dlpack_device(self.device)


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    from facula import array_api

    versions = "2021.12", "2022.12", "2023.12", array_api.__array_api_version__
    if api_version is not None and api_version not in versions:
        raise ValueError(
            f"__array_namespace__: expected one of {', '.join(versions)}, got {api_version!r}."
        )
    return array_api


def to_device(
    self: Tensor, device: _core.device | str | int, /, *, stream: Stream | None = None
) -> Tensor:
    """The tensor on a device, by the name that the array API standard has for ``to``.

    Args:
        device: where the tensor is wanted.
        stream: the CUDA stream that copies; the current one if left out.

    Example:
        >>> facula.ones(2).to_device("cpu")
        tensor([1., 1.])
    """
    from facula import cuda  # which needs Tensor complete

    with cuda.stream(stream):
        return self.to(device)


def storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor looks at, as elements of its dtype.

    Example:
        >>> facula.arange(4).narrow(0, 2, 2).storage().tolist()
        [0, 1, 2, 3]
    """
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


def is_shared(self: Tensor) -> bool:
    """Whether other processes can use the tensor's memory, which is always so on a CUDA device.

    Example:
        >>> facula.ones(2).is_shared()
        False
    """
    return self.untyped_storage().is_shared()


def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor, with all that share its storage, to memory that other processes can use.

    Example:
        >>> facula.ones(2).share_memory_().is_shared()
        True
    """
    self.untyped_storage().share_memory_()
    return self


def _reduce_ex(self: Tensor, protocol: int) -> tuple[Any, ...]:
    geometry = self.storage_offset(), tuple(self.shape), self.stride()
    no_hooks: OrderedDict[int, Any] = OrderedDict()
    call: Any = _utils._rebuild_tensor_v2
    args: tuple[Any, ...] = (storage(self), *geometry, self.requires_grad, no_hooks)
    if str(self.dtype) not in STORAGE_NAMES:  # newer dtypes have no class of storages
        call = _utils._rebuild_tensor_v3
        args = (self.untyped_storage(), *args[1:], self.dtype)
    if type(self) is Tensor and not self.__dict__:
        return call, args
    return _utils._rebuild_from_type_v2, (call, type(self), args, self.__dict__)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "deepcopy: only tensors made by the user (leaves of the graph) can be deep-copied. "
            "Use detach() or clone() for a result of operations."
        )
    if id(self) in memo:
        known: Tensor = memo[id(self)]
        return known
    memory = copy.deepcopy(self.untyped_storage(), memo)
    geometry = self.storage_offset(), self.shape, self.stride()
    result = _core._tensor_over(memory, self.dtype, *geometry)
    if type(self) is not Tensor:
        result = _core._make_subclass(type(self), result)
    result.requires_grad = self.requires_grad
    memo[id(self)] = result
    if self.grad is not None:
        result.grad = copy.deepcopy(self.grad, memo)
    if self.__dict__:
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


def _contains(self: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, bool, int, float, complex)):
        raise RuntimeError(
            f"Tensor.__contains__: expected a tensor or a number, got {type(element).__name__}."
        )
    return bool((self == element).any())


def _reversed(self: Tensor) -> Tensor:
    return self.flip(0) if self.dim() else self


def _complex(self: Tensor) -> complex:
    if self.numel() != 1:
        raise ValueError(f"complex: expected a tensor of one element, got {tuple(self.shape)}.")
    return complex(self.item())


def _rdiv(self: Tensor, other: Any) -> Tensor:
    # Python 2's name of __rtruediv__, which PyTorch still has.
    return _core.mul(self.reciprocal(), other)


def _check_values(self: Tensor, name: str) -> None:
    if self.requires_grad:
        raise RuntimeError(f"{name}: cannot call a Python function on a tensor that requires grad.")
    if self.is_cuda:
        raise TypeError(f"{name}: expected a tensor on the CPU, got one on {self.device}.")


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace every element by ``callable(element)``. Slow: one Python call for each.

    Example:
        >>> facula.tensor([1.0, 2.0]).apply_(lambda v: v * 10)
        tensor([10., 20.])
    """
    _check_values(self, "apply_")
    values = [callable(value) for value in self.reshape(-1).tolist()]
    return self.copy_(_core.tensor(values, dtype=self.dtype).reshape(self.shape))


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace every element by ``callable(element, other)`` with the elements of ``tensor``.

    Example:
        >>> facula.tensor([1.0, 2.0]).map_(facula.tensor([3.0, 4.0]), lambda a, b: a * b)
        tensor([3., 8.])
    """
    _check_values(self, "map_")
    if tensor.dtype != self.dtype:
        raise TypeError(f"map_: expected a tensor of {self.dtype}, got {tensor.dtype}.")
    others = tensor.expand(self.shape).reshape(-1).tolist()
    values = [callable(a, b) for a, b in zip(self.reshape(-1).tolist(), others, strict=True)]
    return self.copy_(_core.tensor(values, dtype=self.dtype).reshape(self.shape))


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost.

    Example:
        >>> facula.ones(2, 3).t().dim_order()
        (1, 0)
    """
    strides = self.stride()
    return tuple(sorted(range(self.dim()), key=lambda dim: -strides[dim]))


def attach(name: str, function: Callable[..., Any], *, reads_memory: bool = False) -> None:
    """Make ``function`` the method ``name`` of every tensor, an operation.

    ``reads_memory`` is for one that is not made of operations, which transforms could see.
    """
    method: Any = _core._Operation(function, is_method=True)
    method.__name__, method.__qualname__, method.__module__ = name, f"Tensor.{name}", "facula"
    setattr(Tensor, name, method)
    if reads_memory:
        LOOPED.add(method)


attach("__repr__", tensor_repr, reads_memory=True)
attach("__format__", tensor_format, reads_memory=True)
attach("numpy", numpy_array, reads_memory=True)
attach("__array__", _array, reads_memory=True)
attach("__array_wrap__", _array_wrap)
Tensor.__array_priority__ = 1000  # NumPy's operators leave mixed expressions to the tensor
attach("__dlpack__", dlpack.export, reads_memory=True)
attach("__dlpack_device__", _dlpack_device)
attach("__array_namespace__", _array_namespace)
attach("to_device", to_device)
attach("storage", storage, reads_memory=True)
attach("_typed_storage", storage, reads_memory=True)
attach("is_shared", is_shared)
attach("share_memory_", share_memory_, reads_memory=True)
attach("__reduce_ex__", _reduce_ex, reads_memory=True)
attach("__deepcopy__", _deepcopy, reads_memory=True)
attach("__contains__", _contains)
attach("__reversed__", _reversed)
attach("__complex__", _complex, reads_memory=True)
attach("__rdiv__", _rdiv)
attach("apply_", apply_, reads_memory=True)
attach("map_", map_, reads_memory=True)
attach("dim_order", dim_order)
attach("type", _legacy.tensor_type)
attach("new", _legacy.new)
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
Tensor._make_subclass = staticmethod(_core._make_subclass)
attach("register_hook", register_hook, reads_memory=True)
attach("register_post_accumulate_grad_hook", register_post_accumulate_grad_hook, reads_memory=True)
Node.__doc__ = "A derivative in the graph: ``grad_fn`` of a tensor."
Node.register_hook = _register_node_hook
Node.register_prehook = _register_node_prehook

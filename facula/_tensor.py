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
from facula._notes import note
from facula._ops._arguments import check_arguments
from facula._ops._mark import LOOPED, METHODS
from facula._tensor_str import tensor_format, tensor_repr
from facula._utils import _rebuild_from_type_v2
from facula._warnings import warn_user
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


def _previous_functions(self: Node) -> tuple[tuple[Node | None, int], ...]:
    """The older name of ``next_functions``."""
    note("previous_functions is the older name of next_functions.")
    functions: tuple[tuple[Node | None, int], ...] = self.next_functions
    return functions


_UNKNOWN_TO_NUMPY = {
    _core.bfloat16,
    _core.complex32,
    _core.float8_e4m3fn,
    _core.float8_e5m2,
    _core.float8_e4m3fnuz,
    _core.float8_e5m2fnuz,
    _core.float8_e8m0fnu,
}


def numpy_array(self: Tensor, *, force: bool = False) -> numpy.ndarray:
    """A NumPy array over the tensor's memory: writes to one are seen in the other.

    ``force=True`` also takes tensors that require grad, are on another device or are conjugate or
    negated views, by a copy if one is needed.

    Example:
        >>> facula.ones(2).numpy().tolist()
        [1.0, 1.0]
    """
    import numpy  # here, so that only its users pay for the import

    if force:
        self = self.detach().cpu().resolve_conj().resolve_neg()
    if not _core._is_plain(self):
        _check_for_numpy(self)
    array = numpy.asarray(memoryview(self.detach() if self.requires_grad else self))
    # An array without elements is made by NumPy, which gives it other strides than the tensor has.
    return array if array.size else numpy.empty(array.shape, array.dtype)


def _check_for_numpy(self: Tensor) -> None:
    if type(self).__torch_dispatch__ is not Tensor.__torch_dispatch__:
        raise RuntimeError(
            f"numpy: the elements of {type(self).__name__} are where its __torch_dispatch__ finds "
            "them. (.numpy() is not supported for tensor subclasses.)"
        )
    if self.requires_grad and _core.is_grad_enabled():
        raise RuntimeError(
            "numpy: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
            "instead."
        )
    if not self.is_cpu:
        raise TypeError(
            f"numpy: can't convert {self.device} tensor to numpy, which has arrays in main memory "
            "only. Copy it with tensor.cpu() first."
        )
    if self.is_conj() or self.is_neg():
        bit, way = ("conjugate", "conj") if self.is_conj() else ("negative", "neg")
        raise RuntimeError(
            f"numpy: Can't call numpy() on Tensor that has {bit} bit set: its memory does not hold "
            f"its elements. Use tensor.resolve_{way}().numpy() instead."
        )
    if self.dtype in _UNKNOWN_TO_NUMPY:
        way = "cfloat" if self.dtype.is_complex else "float"
        raise TypeError(f"numpy: NumPy has no {self.dtype}. Convert it with tensor.{way}() first.")


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
    if "_wrapper_strides" in self.__dict__:
        form = self.dtype, tuple(self.shape), self.stride(), 0, self.layout, self.device
        made = type(self), *form, self.requires_grad
        state = {name: x for name, x in self.__dict__.items() if name != "_wrapper_base"}
        parts = _utils._rebuild_wrapper_subclass, type(self), made, state
        return _rebuild_from_type_v2, parts
    geometry = self.storage_offset(), tuple(self.shape), self.stride()
    no_hooks: OrderedDict[int, Any] = OrderedDict()
    call: Any = _utils._rebuild_tensor_v2
    args: tuple[Any, ...] = (storage(self), *geometry, self.requires_grad, no_hooks)
    if str(self.dtype) not in STORAGE_NAMES:  # newer dtypes have no class of storages
        call = _utils._rebuild_tensor_v3
        args = (self.untyped_storage(), *args[1:], self.dtype)
    marks = {name: True for name in ("conj", "neg") if getattr(self, f"is_{name}")()}
    if marks:
        args = (*args, marks)
    if self.is_meta:
        call = _utils._rebuild_meta_tensor_no_storage
        args = (self.dtype, *geometry[1:], self.requires_grad)
    if type(self) is Tensor and not self.__dict__:
        return call, args
    return _rebuild_from_type_v2, (call, type(self), args, self.__dict__)


def _setstate(self: Tensor, state: Any) -> None:
    # In files of PyTorch before 0.4, Variables have these flags as their state.
    if isinstance(state, tuple) and len(state) == 3:
        wants_grad, is_volatile, _ = state
        self.requires_grad_(wants_grad)
        if is_volatile:
            self.volatile = True
    else:
        self.__dict__.update(state)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "deepcopy: only tensors made by the user (leaves of the graph) can be deep-copied. "
            "Use detach() or clone() for a result of operations. (Only Tensors created explicitly "
            "by the user support the deepcopy protocol.)"
        )
    if id(self) in memo:
        known: Tensor = memo[id(self)]
        return known
    if self.is_conj() or self.is_neg() or "_wrapper_strides" in self.__dict__:
        result = self.detach().clone()
    else:
        memory = copy.deepcopy(self.untyped_storage(), memo)
        geometry = self.storage_offset(), self.shape, self.stride()
        result = _core._tensor_over(memory, self.dtype, *geometry)
    if type(self) is not type(result):
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
    if not self.is_cpu:
        raise TypeError(f"{name}: expected a tensor on the CPU, got one on {self.device}.")


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace every element by ``callable(element)``. Slow: one Python call for each.

    Example:
        >>> facula.tensor([1.0, 2.0]).apply_(lambda v: v * 10)
        tensor([10., 20.])
    """
    _check_values(self, "apply_")
    values = list(map(callable, self.reshape(-1).tolist()))
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
    others = tensor if tensor.shape == self.shape else tensor.expand(self.shape)
    values = list(map(callable, self.reshape(-1).tolist(), others.reshape(-1).tolist()))
    return self.copy_(_core.tensor(values, dtype=self.dtype).reshape(self.shape))


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace every element by ``callable(element, a, b)`` with the elements of two tensors.

    Example:
        >>> x = facula.tensor([1.0, 2.0])
        >>> x.map2_(x, x, lambda a, b, c: a + b * c)
        tensor([2., 6.])
    """
    _check_values(self, "map2_")
    others = [t if t.shape == self.shape else t.expand(self.shape) for t in (x, y)]
    values = list(map(callable, *(t.reshape(-1).tolist() for t in (self, *others))))
    return self.copy_(_core.tensor(values, dtype=self.dtype).reshape(self.shape))


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost.

    Example:
        >>> facula.ones(2, 3).t().dim_order()
        (1, 0)
    """
    if self.is_sparse:
        raise AttributeError(
            "dim_order: Can't get dim order on sparse type. Use Tensor.to_dense() to convert to a "
            "dense tensor first."
        )
    strides = self.stride()
    return tuple(sorted(range(self.dim()), key=lambda dim: -strides[dim]))


def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for those who only read.

    Example:
        >>> x = facula.ones(2)
        >>> x.const_data_ptr() == x.data_ptr()
        True
    """
    return self.data_ptr()


def storage_type(self: Tensor) -> type:
    """The class of the tensor's typed storage.

    Example:
        >>> facula.ones(2).storage_type().__name__
        'TypedStorage'
    """
    return type(storage(self))


def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """The elements in another shape; an old name of ``reshape``.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.arange(4).resize(2, 2)
        tensor([[0, 1],
                [2, 3]])
    """
    warn_user("non-inplace resize is deprecated")
    return self.reshape(*sizes)


def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The elements in the shape of another tensor; an old name of ``reshape``.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.arange(4).resize_as(facula.ones(2, 2)).shape
        torch.Size([2, 2])
    """
    warn_user("non-inplace resize_as is deprecated")
    return self.reshape(tensor.shape)


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What ``load_state_dict`` puts in the place of this parameter or buffer, given ``other``.

    Example:
        >>> facula.zeros(2).module_load(facula.ones(2))
        tensor([1., 1.])
    """
    if assign:
        return other.detach()
    from facula.autograd.grad_mode import no_grad

    with no_grad():
        return self.copy_(other).detach()


def _repr_html(self: Tensor) -> str | None:
    from facula.viz._notebook import tensor_html  # only notebooks ask for it

    return tensor_html(self)


def _grad_dtype(self: Tensor) -> _core.dtype:
    """The dtype of this leaf's gradient, which is that of the leaf.

    PyTorch lets it be set to another one, or to None for any; here it can be set to itself.

    Example:
        >>> facula.ones(2, requires_grad=True).grad_dtype
        torch.float32
    """
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return self.dtype


def _set_grad_dtype(self: Tensor, dtype: Any) -> None:
    if dtype is not None and not isinstance(dtype, _core.dtype):
        raise RuntimeError(
            f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}"
        )
    if dtype != _grad_dtype(self):
        raise NotImplementedError(
            f"grad_dtype: expected {self.dtype}, the dtype of the tensor, got {dtype}: a gradient "
            "has its tensor's dtype. register_post_accumulate_grad_hook can move it elsewhere."
        )


def _sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """The method of :func:`facula.sspaddmm`."""
    from facula.sparse._older_functions import sspaddmm

    return sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)


# Functions and methods of PyTorch before 1.0, in a module that few programs need.
OLDER_FUNCTIONS = (
    "btrifact",
    "btrifact_with_info",
    "btrisolve",
    "btriunpack",
    "cmax",
    "cmin",
    "eig",
    "gels",
    "gesv",
    "potrf",
    "potri",
    "potrs",
    "pstrf",
    "symeig",
    "trtrs",
)


def _older_method(name: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        from facula import _older_names

        return _older_names.METHODS[name](self, *args, **kwargs)

    method.__doc__ = f"Older: ``facula.{name}`` as a method."
    return method


def attach(name: str, function: Callable[..., Any], *, reads_memory: bool = False) -> None:
    """Make ``function`` the method ``name`` of every tensor, an operation.

    ``reads_memory`` is for one that is not made of operations, which transforms could see.
    """
    method: Any = _core._Operation(function, check_arguments, is_method=True)
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
attach("__setstate__", _setstate, reads_memory=True)
attach("__deepcopy__", _deepcopy, reads_memory=True)
attach("__contains__", _contains)
attach("__reversed__", _reversed)
attach("__complex__", _complex, reads_memory=True)
attach("__rdiv__", _rdiv)
attach("apply_", apply_, reads_memory=True)
attach("map_", map_, reads_memory=True)
attach("map2_", map2_, reads_memory=True)
attach("dim_order", dim_order)
attach("const_data_ptr", const_data_ptr, reads_memory=True)
attach("storage_type", storage_type, reads_memory=True)
attach("resize", _resize)
attach("resize_as", _resize_as)
attach("module_load", module_load)
attach("sspaddmm", _sspaddmm)
attach("type", _legacy.tensor_type)
attach("new", _legacy.new)
setattr(Tensor, "grad_dtype", property(_grad_dtype, _set_grad_dtype))  # noqa: B010
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
for _name in (*OLDER_FUNCTIONS, "masked_copy_"):
    attach(_name, _older_method(_name))
setattr(Tensor, "_repr_html_", _repr_html)  # noqa: B010  (no operation: modes do not see it)
Tensor._make_subclass = staticmethod(_core._make_subclass)
Tensor._make_wrapper_subclass = staticmethod(_utils.make_wrapper)
setattr(Tensor, "__torch_dispatch__", _core._disabled_torch_dispatch_impl)  # noqa: B010
attach("register_hook", register_hook, reads_memory=True)
attach("register_post_accumulate_grad_hook", register_post_accumulate_grad_hook, reads_memory=True)
Node.__doc__ = "A derivative in the graph: ``grad_fn`` of a tensor."
Node.register_hook = _register_node_hook
Node.previous_functions = property(_previous_functions)  # type: ignore[method-assign,assignment]
Node.register_prehook = _register_node_prehook

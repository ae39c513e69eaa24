"""Tensors that belong to a module: parameters, buffers, and both before their shape is known."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, cast

import facula
from facula import _core, _utils
from facula._core import Tensor
from facula._tensor_str import plain_types, tensor_repr

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class _MarkedType(type):
    """Instances are those of the class, and tensors of other types that carry its mark."""

    _mark: str

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        # The mark makes no instance of a subclass, such as UninitializedParameter.
        return "_mark" in cls.__dict__ and getattr(instance, cls._mark, False) is True


_ParameterMeta = _BufferMeta = _MarkedType  # PyTorch's names, which packages import


class Parameter(Tensor, metaclass=_MarkedType):
    """A tensor that a module lists among its parameters when it is made an attribute of it.

    It shares its memory with ``data``.

    Args:
        data: the values; by default there are none, and the shape is ``(0,)``.
        requires_grad: whether gradients are computed for the parameter.

    Example:
        >>> facula.nn.Parameter(facula.ones(2))
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
    """

    _mark = "_is_param"
    __torch_function__ = _core._disabled_torch_function_impl  # results are plain tensors

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = facula.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return cast(Parameter, _core._make_subclass(cls, data, requires_grad))
        # A tensor of another subclass keeps its type, and with it its methods.
        kept = data.detach()
        if type(kept) is not type(data):
            kept = kept.as_subclass(type(data))
        kept.requires_grad_(requires_grad)
        kept._is_param = True
        return cast(Parameter, kept)

    # Tensor.__init__ would read the arguments as sizes. A subclass may give __new__ other ones.
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            data = self.data.clone(memory_format=_core.preserve_format)
            memo[id(self)] = type(self)(data, self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        return "Parameter containing:\n" + tensor_repr(self, *args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        no_hooks: OrderedDict[int, Any] = OrderedDict()
        args = self.data, self.requires_grad, no_hooks
        if not self.__dict__:
            return _utils._rebuild_parameter, args
        return _utils._rebuild_parameter_with_state, (*args, self.__dict__)


plain_types.add(Parameter)


class Buffer(Tensor, metaclass=_MarkedType):
    """A tensor that a module lists among its buffers when it is made an attribute of it.

    It shares its memory with ``data`` and has its type.

    Args:
        data: the values; by default there are none, and the shape is ``(0,)``.
        persistent: whether the buffer is part of the module's ``state_dict``.

    Example:
        >>> m = facula.nn.Module()
        >>> m.mean = facula.nn.Buffer(facula.zeros(2))
        >>> list(m.state_dict())
        ['mean']
    """

    _mark = "_is_buffer"
    __torch_function__ = _core._disabled_torch_function_impl
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = facula.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return cast(Buffer, buffer)


# What needs no shape. All other methods would compute with a tensor of no elements in silence.
_NEEDS_NO_SHAPE = {
    "as_subclass",
    "bfloat16",
    "cls_to_become",
    "cpu",
    "cuda",
    "detach",
    "double",
    "float",
    "half",
    "is_complex",
    "is_floating_point",
    "materialize",
    "requires_grad_",
    "share_memory_",
    "size",
    "to",
    "type",
}


def _refused(name: str) -> Any:
    def method(self: Any = None, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"{name}: the parameter has no shape yet. Call the module with an input first, which "
            "gives its parameters their shapes."
        )

    return method


class UninitializedTensorMixin:
    """What parameters and buffers have in common until the first call gives them a shape."""

    cls_to_become: type[Tensor]
    __torch_function__ = _core._disabled_torch_function_impl

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the tensor its shape, and with it ordinary behaviour. The values are undefined.

        Args:
            shape: the shape that the tensor gets.
            device: where the tensor lives; by default the device that it was made for.
            dtype: the dtype of the tensor; by default the one that it was made with.

        Example:
            >>> p = facula.nn.UninitializedParameter()
            >>> p.materialize((2, 3))
            >>> type(p).__name__, p.shape
            ('Parameter', torch.Size([2, 3]))
        """
        data = cast(Tensor, self).data
        device = data.device if device is None else device
        dtype = data.dtype if dtype is None else dtype
        cast(Tensor, self).data = facula.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        is_usable = name[0] == "_" or name in _NEEDS_NO_SHAPE or not callable(value)
        return value if is_usable else _refused(name)

    @property
    def shape(self) -> Any:
        """Not known yet: an error."""
        raise RuntimeError(
            "shape: the parameter or buffer has none yet. Call the module with an input first; "
            "load_state_dict takes the value of such a parameter for one without a shape only."
        )

    def share_memory_(self) -> Any:
        """Not possible yet: an error."""
        raise RuntimeError(
            "share_memory_: the parameter or buffer has no shape yet. Call the module with an "
            "input first, which gives its parameters their shapes."
        )

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (cast(Tensor, self).requires_grad,)


_OPERATORS = "add sub mul truediv matmul pow radd rsub rmul neg getitem setitem len bool float int"
for _name in _OPERATORS.split():
    setattr(UninitializedTensorMixin, f"__{_name}__", _refused(f"__{_name}__"))
del _name


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[override]
    """A parameter whose shape is not known yet; ``materialize`` makes it a :class:`Parameter`.

    Args:
        requires_grad: whether gradients are wanted for the parameter.
        device: where the parameter will be made.
        dtype: the dtype that it will have.

    Example:
        >>> p = facula.nn.UninitializedParameter()
        >>> p
        <UninitializedParameter>
        >>> p.materialize((2, 3))
        >>> p.shape
        torch.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> UninitializedParameter:
        data = facula.empty(0, device=device, dtype=dtype)
        return cast(UninitializedParameter, _core._make_subclass(cls, data, requires_grad))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            data = self.data
            memo[id(self)] = type(self)(self.requires_grad, data.device, data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[override]
    """A buffer whose shape is not known yet; ``materialize`` makes it a tensor.

    Args:
        requires_grad: whether gradients are wanted for the buffer.
        device: where the buffer will be made.
        dtype: the dtype that it will have.
        persistent: whether the buffer is part of the state_dict.

    Example:
        >>> facula.nn.UninitializedBuffer()
        <UninitializedBuffer>
    """

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        data = facula.empty(0, device=device, dtype=dtype)
        buffer = cast(Any, _core._make_subclass(cls, data, requires_grad))
        buffer.persistent = persistent
        buffer._is_buffer = True
        return cast(UninitializedBuffer, buffer)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


def is_lazy(param: Any) -> bool:
    """Whether the shape of a parameter or buffer is still unknown.

    Example:
        >>> facula.nn.parameter.is_lazy(facula.nn.Parameter())
        False
    """
    return isinstance(param, UninitializedTensorMixin)

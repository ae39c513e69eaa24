"""The historic typed constructors, ``FloatTensor`` and the like, and names around them."""

from __future__ import annotations

from typing import Any, Union

from facula import _core
from facula._core import Tensor, UntypedStorage
from facula.storage import STORAGE_NAMES, TypedStorage

__all__ = [
    "BFloat16Storage",
    "BFloat16Tensor",
    "BoolStorage",
    "BoolTensor",
    "ByteStorage",
    "ByteTensor",
    "CharStorage",
    "CharTensor",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "DoubleTensor",
    "FloatStorage",
    "FloatTensor",
    "HalfStorage",
    "HalfTensor",
    "IntStorage",
    "IntTensor",
    "LongStorage",
    "LongTensor",
    "ShortStorage",
    "ShortTensor",
    "is_storage",
    "set_default_tensor_type",
    "typename",
]


class _NamedType:
    """A dtype under the name of a class: it makes objects and answers isinstance."""

    def __init__(self, name: str, dtype: _core.dtype) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "facula"
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    # In annotations, which are written LongTensor | None.
    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007


class TensorType(_NamedType):
    """Such as ``FloatTensor``: makes CPU tensors of its dtype, as tensors were made once.

    Args:
        args: sizes, a list of numbers, an array or a tensor.
        kwargs: ``device``, which must be the CPU.

    Example:
        >>> facula.FloatTensor([1, 2])
        tensor([1., 2.])
    """

    is_cuda = False
    device = "cpu"
    layout = _core.strided

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        return _core._legacy_tensor(self.__name__, self.dtype, *args, **kwargs)

    def __instancecheck__(self, x: Any) -> bool:
        is_dense = isinstance(x, Tensor) and x.layout is self.layout
        return is_dense and x.dtype == self.dtype and x.is_cpu

    def __getattr__(self, name: str) -> Any:
        # As with any class, FloatTensor.abs_(x) is x.abs_().
        if name.startswith("__"):
            raise AttributeError(f"type object 'torch.{self.__name__}' has no attribute {name!r}")
        return getattr(Tensor, name)


class StorageType(_NamedType):
    """Such as ``FloatStorage``: makes a :class:`TypedStorage` of its dtype.

    Args:
        args: a size, or a sequence of numbers.
        kwargs: those of :class:`TypedStorage`, without the dtype.

    Example:
        >>> facula.LongStorage([1, 2]).tolist()
        [1, 2]
    """

    def __call__(self, *args: Any, **kwargs: Any) -> TypedStorage:
        return TypedStorage(*args, dtype=self.dtype, **kwargs)

    def from_file(self, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """A storage that is a file's memory; see :meth:`UntypedStorage.from_file`.

        Args:
            filename: the path of the file.
            shared: whether what is written to the storage is written to the file.
            size: the number of elements; those of the file if not given.
        """
        untyped = UntypedStorage.from_file(filename, shared, size * self.dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype)

    def _new_shared(self, size: int) -> TypedStorage:
        return self()._new_shared(size)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, TypedStorage) and x.dtype == self.dtype


DoubleTensor = TensorType("DoubleTensor", _core.float64)
FloatTensor = TensorType("FloatTensor", _core.float32)
HalfTensor = TensorType("HalfTensor", _core.float16)
BFloat16Tensor = TensorType("BFloat16Tensor", _core.bfloat16)
LongTensor = TensorType("LongTensor", _core.int64)
IntTensor = TensorType("IntTensor", _core.int32)
ShortTensor = TensorType("ShortTensor", _core.int16)
CharTensor = TensorType("CharTensor", _core.int8)
ByteTensor = TensorType("ByteTensor", _core.uint8)
BoolTensor = TensorType("BoolTensor", _core.bool)

DoubleStorage = StorageType("DoubleStorage", _core.float64)
FloatStorage = StorageType("FloatStorage", _core.float32)
HalfStorage = StorageType("HalfStorage", _core.float16)
BFloat16Storage = StorageType("BFloat16Storage", _core.bfloat16)
LongStorage = StorageType("LongStorage", _core.int64)
IntStorage = StorageType("IntStorage", _core.int32)
ShortStorage = StorageType("ShortStorage", _core.int16)
CharStorage = StorageType("CharStorage", _core.int8)
ByteStorage = StorageType("ByteStorage", _core.uint8)
BoolStorage = StorageType("BoolStorage", _core.bool)
ComplexFloatStorage = StorageType("ComplexFloatStorage", _core.complex64)
ComplexDoubleStorage = StorageType("ComplexDoubleStorage", _core.complex128)

# Complex tensors never had a constructor of their own, but type() gives a name to them too.
_TENSOR_NAMES = {dtype: name.replace("Storage", "Tensor") for dtype, name in STORAGE_NAMES.items()}
_DTYPES = {name: getattr(_core, text[len("torch.") :]) for text, name in _TENSOR_NAMES.items()}


def _dtype_of_type(name: str) -> tuple[_core.dtype, str]:
    """The dtype and device of a name such as ``'torch.cuda.FloatTensor'``."""
    package, _, rest = name.partition(".")
    device = "cpu"
    if rest.startswith("cuda."):
        device, rest = "cuda", rest.removeprefix("cuda.")
    if rest == "Tensor":
        return _core.get_default_dtype(), device
    if package not in ("torch", "facula") or rest not in _DTYPES:
        raise ValueError(f"invalid type: '{name}'; expected for example 'torch.FloatTensor'.")
    return _DTYPES[rest], device


def type_name(x: Tensor) -> str:
    """The historic name of a tensor's dtype and device, such as ``'torch.FloatTensor'``."""
    return f"torch.{'' if x.is_cpu else x.device.type + '.'}{_TENSOR_NAMES[str(x.dtype)]}"


def tensor_type(
    self: Tensor,
    dtype: _core.dtype | TensorType | str | type | None = None,
    non_blocking: bool = False,
) -> Tensor | str:
    """The name of the tensor's type; with a ``dtype`` the tensor converted to it.

    Example:
        >>> facula.ones(2).type()
        'torch.FloatTensor'
        >>> facula.ones(2).type(facula.LongTensor)
        tensor([1, 1])
    """
    if dtype is None:
        return type_name(self)
    if isinstance(dtype, str):
        wanted, device = _dtype_of_type(dtype)
        return self.to(device, wanted) if device != self.device.type else self.to(wanted)
    if isinstance(dtype, TensorType):
        is_there = self.device.type == dtype.device
        return self.to(dtype.dtype) if is_there else self.to(dtype.device, dtype.dtype)
    if isinstance(dtype, type):
        if not issubclass(dtype, Tensor):
            raise ValueError(f"invalid type: '{dtype.__name__}'")
        return self
    if not isinstance(dtype, _core.dtype):
        raise TypeError(f"type: expected a dtype or the name of a type, got {dtype!r}.")
    return self.to(dtype)


def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of this one's dtype and device from sizes or data, as the historic constructors.

    Example:
        >>> facula.ones(2, dtype=facula.int32).new([1, 2])
        tensor([1, 2], dtype=torch.int32)
    """
    return _core._legacy_tensor("new", self.dtype, *args, **{"device": self.device, **kwargs})


_STORAGES = (TypedStorage, UntypedStorage)


def is_storage(obj: Any) -> bool:
    """Whether the object is a storage, typed or not.

    Args:
        obj: anything.

    Example:
        >>> facula.is_storage(facula.ones(2).untyped_storage())
        True
    """
    return isinstance(obj, _STORAGES)


def set_default_tensor_type(t: TensorType | str) -> None:
    """Set the default dtype, and the device, by the name of a floating-point type.

    Args:
        t: the type, such as ``facula.DoubleTensor``, or its name.

    Example:
        >>> facula.set_default_tensor_type("torch.FloatTensor")
    """
    if isinstance(t, str):
        dtype, device = _dtype_of_type(t)
    elif isinstance(t, TensorType):
        dtype, device = t.dtype, t.device
    else:
        raise TypeError(f"set_default_tensor_type: invalid type object {t!r}.")
    if not dtype.is_floating_point:
        raise TypeError(f"set_default_tensor_type: expected a floating-point type, got {dtype}.")
    if device == "cuda" or _core.get_default_device().type == "cuda":
        _core.set_default_device(device)
    _core.set_default_dtype(dtype)


def typename(obj: Any) -> str:
    """The name of a type, or of an object's type; of a tensor with its dtype.

    Args:
        obj: a type, or any object.

    Example:
        >>> facula.typename(facula.ones(1)), facula.typename(3)
        ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = kind.__module__
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"

"""The historic typed constructors of the GPU, ``facula.cuda.FloatTensor`` and the like."""

from __future__ import annotations

from typing import Any

from facula import _core
from facula._core import Tensor
from facula._legacy import StorageType, TensorType
from facula.storage import TypedStorage

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
]


class CudaTensorType(TensorType):
    """Such as ``cuda.FloatTensor``: makes tensors of its dtype on the current GPU.

    Args:
        args: sizes, a list of numbers, an array or a tensor.
        kwargs: ``device``, one of the GPUs.

    Example:
        >>> facula.cuda.FloatTensor
        <class 'torch.cuda.FloatTensor'>
    """

    is_cuda = True
    device = "cuda"

    def __init__(self, name: str, dtype: _core.dtype) -> None:
        super().__init__(name, dtype)
        self.__module__ = "facula.cuda"

    def __repr__(self) -> str:
        return f"<class 'torch.cuda.{self.__name__}'>"

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        kwargs.setdefault("device", "cuda")
        return _core._legacy_tensor(self.__name__, self.dtype, *args, **kwargs)

    def __instancecheck__(self, x: Any) -> bool:
        is_dense = isinstance(x, Tensor) and x.layout is self.layout
        return is_dense and x.dtype == self.dtype and x.is_cuda


class CudaStorageType(StorageType):
    """Such as ``cuda.FloatStorage``: makes a storage of its dtype on the current GPU.

    Args:
        args: a size, or a sequence of numbers.
        kwargs: those of :class:`facula.TypedStorage`, without the dtype.

    Example:
        >>> facula.cuda.FloatStorage
        <class 'torch.cuda.FloatStorage'>
    """

    def __init__(self, name: str, dtype: _core.dtype) -> None:
        super().__init__(name, dtype)
        self.__module__ = "facula.cuda"

    def __repr__(self) -> str:
        return f"<class 'torch.cuda.{self.__name__}'>"

    def __call__(self, *args: Any, **kwargs: Any) -> TypedStorage:
        return TypedStorage(*args, dtype=self.dtype, **{"device": "cuda", **kwargs})

    def __instancecheck__(self, x: Any) -> bool:
        return super().__instancecheck__(x) and x.is_cuda


DoubleTensor = CudaTensorType("DoubleTensor", _core.float64)
FloatTensor = CudaTensorType("FloatTensor", _core.float32)
HalfTensor = CudaTensorType("HalfTensor", _core.float16)
BFloat16Tensor = CudaTensorType("BFloat16Tensor", _core.bfloat16)
LongTensor = CudaTensorType("LongTensor", _core.int64)
IntTensor = CudaTensorType("IntTensor", _core.int32)
ShortTensor = CudaTensorType("ShortTensor", _core.int16)
CharTensor = CudaTensorType("CharTensor", _core.int8)
ByteTensor = CudaTensorType("ByteTensor", _core.uint8)
BoolTensor = CudaTensorType("BoolTensor", _core.bool)

DoubleStorage = CudaStorageType("DoubleStorage", _core.float64)
FloatStorage = CudaStorageType("FloatStorage", _core.float32)
HalfStorage = CudaStorageType("HalfStorage", _core.float16)
BFloat16Storage = CudaStorageType("BFloat16Storage", _core.bfloat16)
LongStorage = CudaStorageType("LongStorage", _core.int64)
IntStorage = CudaStorageType("IntStorage", _core.int32)
ShortStorage = CudaStorageType("ShortStorage", _core.int16)
CharStorage = CudaStorageType("CharStorage", _core.int8)
ByteStorage = CudaStorageType("ByteStorage", _core.uint8)
BoolStorage = CudaStorageType("BoolStorage", _core.bool)
ComplexFloatStorage = CudaStorageType("ComplexFloatStorage", _core.complex64)
ComplexDoubleStorage = CudaStorageType("ComplexDoubleStorage", _core.complex128)

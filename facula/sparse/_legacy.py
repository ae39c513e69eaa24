"""The historic typed constructors ``sparse.FloatTensor`` and the like."""

from __future__ import annotations

from typing import Any

import facula
from facula import _core, _legacy
from facula._core import Tensor
from facula.sparse._tensor import COO


class SparseTensorType(_legacy._NamedType):
    """Such as ``sparse.FloatTensor``: makes COO tensors of indices, values and a size, or of sizes.

    Args:
        args: the indices, the values and perhaps a size; or the sizes of a tensor of zeros.

    Example:
        >>> facula.sparse.FloatTensor(facula.tensor([[0, 2]]), facula.tensor([1.0, 3.0])).to_dense()
        tensor([1., 0., 3.])
    """

    is_cuda = False
    layout = COO

    def __init__(self, name: str, dtype: _core.dtype) -> None:
        super().__init__(name, dtype)
        self.__module__ = "facula.sparse"

    def __repr__(self) -> str:
        return f"<class 'torch.sparse.{self.__name__}'>"

    def __call__(self, *args: Any) -> Tensor:
        if args and isinstance(args[0], Tensor):
            return facula.sparse_coo_tensor(*args)
        size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args or (0,)
        return facula.sparse_coo_tensor(size=tuple(size), dtype=self.dtype)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, Tensor) and x.is_sparse and x.dtype == self.dtype and x.is_cpu


BFloat16Tensor = SparseTensorType("BFloat16Tensor", _core.bfloat16)
ByteTensor = SparseTensorType("ByteTensor", _core.uint8)
CharTensor = SparseTensorType("CharTensor", _core.int8)
DoubleTensor = SparseTensorType("DoubleTensor", _core.float64)
FloatTensor = SparseTensorType("FloatTensor", _core.float32)
HalfTensor = SparseTensorType("HalfTensor", _core.float16)
IntTensor = SparseTensorType("IntTensor", _core.int32)
LongTensor = SparseTensorType("LongTensor", _core.int64)
ShortTensor = SparseTensorType("ShortTensor", _core.int16)

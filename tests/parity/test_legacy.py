"""Constructors, old and new, and conversions from and to Python's values."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from .frameworks import DTYPES
from .outcome import agree
from .strategies import numbered

LEGACY = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}


def _eval(text: str, kind: str = "exact") -> None:
    agree(lambda lib: eval(text, {"torch": lib, "np": np, "copy": copy}), kind=kind)


@pytest.mark.parametrize("name", LEGACY)
def test_legacy_constructor(name: str) -> None:
    for arguments in ("[1, 0, 3]", "[[1, 2], [3, 4]]", "()", "[]", "torch.Size([0])"):
        _eval(f"torch.{name}({arguments})")
    for arguments in ("2, 3", "2", "torch.Size([2, 3])", "(2, 3)", ""):
        _eval(
            f"torch.{name}({arguments})", kind="unspecified" if arguments != "(2, 3)" else "exact"
        )
    _eval(f"torch.{name}(2.5)")
    _eval(f"torch.{name}(-1)")
    _eval(f"torch.{name}('a')")
    _eval(f"torch.{name}.dtype")
    _eval(f"isinstance(torch.{name}([1]), torch.{name})")
    _eval(f"isinstance(torch.ones(2), torch.{name})")
    _eval(f"torch.ones(2).type(torch.{name})")
    _eval(f"torch.ones(2).type('torch.{name}')")
    _eval(f"torch.ones(2, dtype=torch.{LEGACY[name]}).type().split('.')[-1]")


@pytest.mark.parametrize(
    "text",
    [
        "torch.Tensor([1, 2])",
        "torch.Tensor(torch.ones(2))",
        "torch.Tensor(torch.ones(2, dtype=torch.int64))",
        "torch.Tensor(2.5)",
        "torch.ones(2).new([1, 2])",
        "torch.ones(2, dtype=torch.int32).new([1, 2])",
        "torch.ones(2).new_tensor([1, 2])",
        "torch.ones(2).new_tensor([1, 2], dtype=torch.int8)",
        "torch.ones(2).new_tensor([1, 2], requires_grad=True)",
        "torch.tensor(1)",
        "torch.tensor(True)",
        "torch.tensor(1.5)",
        "torch.tensor(1j)",
        "torch.tensor([])",
        "torch.tensor([[], []])",
        "torch.tensor([1, 2.5])",
        "torch.tensor([1, True])",
        "torch.tensor([True, False])",
        "torch.tensor([1, 2j])",
        "torch.tensor([1, 2], dtype=torch.bool)",
        "torch.tensor([1.9, -1.9], dtype=torch.int64)",
        "torch.tensor([300], dtype=torch.uint8)",
        "torch.tensor([-1], dtype=torch.uint8)",
        "torch.tensor(2**40)",
        "torch.tensor(2**63)",
        "torch.tensor(2**40, dtype=torch.int32)",
        "torch.tensor([[1, 2], [3]])",
        "torch.tensor([1, [2]])",
        "torch.tensor([[1], 2])",
        "torch.tensor('a')",
        "torch.tensor(['a'])",
        "torch.tensor(None)",
        "torch.tensor([None])",
        "torch.tensor({1: 2})",
        "torch.tensor({1})",
        "torch.tensor()",
        "torch.tensor(range(3))",
        "torch.tensor((1, 2))",
        "torch.tensor(np.float32(1.5))",
        "torch.tensor([np.float32(1.5), np.float64(2)])",
        "torch.tensor(np.arange(3))",
        "torch.tensor(np.array([1.5], dtype=np.float32))",
        "torch.tensor([np.arange(2), np.arange(2)])",
        "torch.tensor([torch.tensor(1), torch.tensor(2)])",
        "torch.tensor([torch.ones(1), torch.ones(1)])",
        "torch.tensor([1.0], requires_grad=True)",
        "torch.tensor([1], requires_grad=True)",
        "torch.tensor([float('nan'), float('inf')])",
        "torch.tensor([1e40], dtype=torch.float32)",
        "torch.tensor([1j], dtype=torch.float32)",
        "torch.as_tensor([1, 2])",
        "torch.as_tensor(np.arange(3))",
        "torch.as_tensor(torch.ones(2), dtype=torch.int64)",
        "torch.asarray([1, 2])",
        "torch.asarray(np.arange(3), copy=True)",
        "torch.scalar_tensor(3)",
        "torch.arange(5)",
        "torch.arange(1, 10, 3)",
        "torch.arange(0, 1, 0.25)",
        "torch.arange(5, dtype=torch.float16)",
        "torch.arange(5, 0)",
        "torch.arange(5, 0, -2)",
        "torch.arange(0, 5, 0)",
        "torch.arange(0, float('inf'))",
        "torch.arange(True)",
        "torch.range(1, 4)",
        "torch.linspace(0, 1, 5)",
        "torch.linspace(0, 1, 1)",
        "torch.linspace(0, 1, 0)",
        "torch.linspace(0, 1, -1)",
        "torch.logspace(0, 2, 3)",
        "torch.eye(3, 2)",
        "torch.eye(-1)",
        "torch.full((2,), 3)",
        "torch.full((2,), 3.5)",
        "torch.full((2,), True)",
        "torch.full((2,), 1j)",
        "torch.zeros(2, 3)",
        "torch.zeros((2, 3))",
        "torch.zeros([2, 3])",
        "torch.zeros(size=(2, 3))",
        "torch.zeros(())",
        "torch.zeros()",
        "torch.zeros(torch.tensor(2))",
        "torch.zeros(2.0)",
        "torch.zeros('a')",
        "torch.zeros(2, dtype='float32')",
        "torch.zeros(2, dtype=float)",
        "torch.zeros(2, dtype=int)",
        "torch.zeros(2, dtype=bool)",
        "torch.ones(2, dtype=torch.complex64)",
        "torch.ones(2, device='cpu')",
        "torch.ones(2, device=torch.device('cpu'))",
        "torch.ones(2, device='nonsense')",
        "torch.ones(2, requires_grad=True)",
        "torch.ones(2, nonsense=1)",
        "torch.zeros_like(torch.ones(2, 3).t())",
        "torch.ones_like(torch.ones(2, 3), dtype=torch.int8)",
        "torch.zeros_like([1])",
        "torch.complex(torch.ones(2), torch.ones(2))",
        "torch.complex(torch.ones(2), torch.ones(2, dtype=torch.float64))",
        "torch.tril_indices(3, 3)",
        "torch.vander(torch.arange(1, 4))",
        "torch.is_tensor(torch.ones(1))",
        "torch.is_tensor([1])",
        "torch.is_floating_point(torch.ones(1))",
        "torch.is_complex(torch.ones(1))",
        "torch.numel(torch.ones(2, 3))",
        "torch.frombuffer(bytearray(b'abcd'), dtype=torch.uint8)",
        "torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.int16, offset=2, count=2)",
        "torch.frombuffer(bytearray(b'abc'), dtype=torch.int16)",
        "torch.frombuffer(bytearray(b''), dtype=torch.int16)",
    ],
)
def test_making_tensors(text: str) -> None:
    _eval(text)


def test_as_tensor_shares_the_memory_of_numpy() -> None:
    def program(lib: Any) -> Any:
        array = np.arange(3)
        shared = lib.as_tensor(array), lib.asarray(array), lib.from_numpy(array), lib.tensor(array)
        array[0] = 9
        return shared

    agree(program, kind="exact")


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_as_python_has_them(dtype: str) -> None:
    x = numbered((2, 3), dtype)
    one = numbered((1, 1), dtype)
    agree(lambda lib, x: (x.tolist(), x[0, 0].item(), x[0].tolist(), x[0, 0].tolist()), x)
    agree(lambda lib, x: x.item(), x)
    for convert in (int, float, complex, bool, str, hash, len, list):
        if convert is not hash:
            agree(lambda lib, x: convert(x), x)  # noqa: B023
            agree(lambda lib, x: convert(x), one)  # noqa: B023
    agree(lambda lib, x: range(5)[x], one)
    agree(lambda lib, x: [1, 2, 3][x[0, 0]], one)
    agree(lambda lib, x: "yes" if x else "no", x)
    agree(lambda lib, x: round(x, 1), x)
    agree(lambda lib, x: (abs(x), -x, +x), x)
    agree(lambda lib, x: ~x, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_copying_and_pickling(dtype: str) -> None:
    x = numbered((3, 4), dtype)
    for t in (x, x.t(), x[1:, ::2], x[:1].expand(3, 4)):
        agree(lambda lib, x: copy.copy(x), t, kind="exact")
        agree(lambda lib, x: copy.deepcopy(x), t, kind="exact")
        agree(lambda lib, x: pickle.loads(pickle.dumps(x)), t, kind="exact")


def test_copies_in_one_call_go_on_sharing_memory() -> None:
    def program(lib: Any, x: Any) -> Any:
        # Not pickle: PyTorch's own gives each tensor a storage of its own there.
        a, b = copy.deepcopy([x, x[0]])
        a.fill_(1)
        return b

    agree(program, numbered((2, 2), "float32"), kind="exact")


@pytest.mark.parametrize(
    "text",
    [
        "s",
        "s[0]",
        "s[-1]",
        "s[1:]",
        "s[9]",
        "s + (1,)",
        "(1,) + s",
        "s + s",
        "s * 2",
        "s == (2, 3)",
        "(2, 3) == s",
        "hash(s) == hash((2, 3))",
        "s.numel()",
        "len(s)",
        "list(s)",
        "tuple(s)",
        "isinstance(s, tuple)",
        "torch.Size((1, 2.0))",
        "torch.Size('a')",
        "torch.Size([torch.tensor(2), 3])",
        "torch.Size()",
        "s.index(3), s.count(2)",
        "copy.deepcopy(s)",
        "x.size() == x.shape",
        "x.size(0), x.size(-1)",
        "x.size(5)",
        "x.stride(), x.stride(0), x.stride(-1)",
        "x.stride(7)",
        "x.ndim, x.dim(), x.ndimension(), x.nelement(), x.numel()",
        "x.element_size(), x.itemsize, x.nbytes",
        "x.dtype, x.layout, x.is_leaf, x.requires_grad",
        "x.is_floating_point(), x.is_complex(), x.is_signed()",
        "x.is_cuda, x.is_sparse, x.is_quantized, x.is_contiguous()",
        "x.get_device()",
        "x.device == torch.device('cpu')",
        "x.is_same_size(x.t())",
        "x.storage_offset()",
        "x.untyped_storage().nbytes()",
        "len(x.storage())",
        "x.storage()[2]",
        "x.storage().tolist()",
        "x.data_ptr() == x.untyped_storage().data_ptr()",
        "x.is_set_to(x)",
        "x.equal(x.clone())",
        "x.names",
    ],
)
def test_sizes_and_properties(text: str) -> None:
    def program(lib: Any, x: Any) -> Any:
        return eval(text, {"torch": lib, "s": lib.Size([2, 3]), "x": x, "copy": copy})

    agree(program, numbered((2, 3), "float32"))

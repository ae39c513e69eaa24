"""Bad calls: PyTorch's type of exception, a message that begins with the operation, no damage."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch

from .frameworks import facula, outcome_of, same_exception_type

# The operation that the message must name, and the call. "x" is float32 (2, 3), "i" int64 (3,),
# "b" bool (2, 3), "h" float64 (2, 3).
BAD_CALLS: dict[str, list[str]] = {
    "add": ["x + torch.ones(4)", "torch.add(x, torch.ones(2, 2))", "b.add(b, alpha=1.5)"],
    "add_": ["x.add_(torch.ones(4, 2, 3))", "i.add_(1.5)", "x[:1].expand(2, 3).add_(1)"],
    "sub": ["b - b", "b.sub(b)"],
    "div_": ["i.div_(2)"],
    "mm": ["x.mm(x)", "torch.mm(x, i)", "torch.mm(x, h.t())", "torch.mm(x[0], x)"],
    "matmul": ["x @ x", "x @ torch.tensor(1.0)", "x @ torch.ones(4)", "x @ h.t()"],
    "bmm": ["torch.bmm(x, x)", "torch.bmm(torch.ones(2, 3, 4), torch.ones(3, 4, 5))"],
    "mv": ["x.mv(torch.ones(4))", "x.mv(x)"],
    "dot": ["torch.ones(3).dot(torch.ones(4))", "x.dot(x)", "torch.ones(3).dot(i)"],
    "addmm": ["torch.addmm(x, x, x)", "torch.addmm(torch.ones(7), x, x.t())"],
    "outer": ["torch.outer(x, x)"],
    "einsum": [
        "torch.einsum('ij,jk->ik', x, x)",
        "torch.einsum('ij', x, x)",
        "torch.einsum('i', x)",
        "torch.einsum('ij->ijk', x)",
    ],
    "view": ["x.view(7)", "x.t().view(6)", "x.view(-1, -1)", "x.view(-2, 3)"],
    "reshape": ["x.reshape(4)", "x.reshape(-1, 4)", "x.reshape(-1, -1)"],
    "transpose": ["x.transpose(0, 2)", "x.transpose(-3, 0)"],
    "permute": ["x.permute(0)", "x.permute(0, 0)", "x.permute(0, 2)"],
    "t": ["torch.ones(2, 2, 2).t()"],
    "expand": ["x.expand(3, 3)", "x.expand(3)", "x.expand(-1, 2, 3)", "x.expand(2, -2)"],
    "squeeze": ["x.squeeze(2)"],
    "unsqueeze": ["x.unsqueeze(4)", "x.unsqueeze(-4)"],
    "narrow": ["x.narrow(1, 2, 2)", "x.narrow(2, 0, 1)", "x.narrow(0, 0, -1)"],
    "select": ["x.select(0, 2)", "x.select(2, 0)", "torch.tensor(1).select(0, 0)"],
    "unfold": ["x.unfold(1, 4, 1)", "x.unfold(1, 2, 0)", "x.unfold(1, -1, 1)"],
    "diagonal": ["x.diagonal(0, 0, 0)", "x[0].diagonal()"],
    "as_strided": [
        "x.as_strided((9,), (1,))",
        "x.as_strided((2,), (1, 1))",
        "x.as_strided((2,), (-1,))",
        "x.as_strided((2,), (1,), -1)",
        "x.as_strided((2**62, 4), (2**62, 1))",
    ],
    "chunk": ["x.chunk(0)", "torch.tensor(1).chunk(2)"],
    "split": ["x.split(-1)", "x.split([1, 2])", "x.split(0)"],
    "unbind": ["torch.tensor(1).unbind()", "x.unbind(2)"],
    "flatten": ["x.flatten(1, 0)", "x.flatten(3)"],
    "movedim": ["x.movedim(0, 2)", "x.movedim((0, 0), (0, 1))"],
    "cat": [
        "torch.cat([])",
        "torch.cat([x, x[0]])",
        "torch.cat([x, x.t()])",
        "torch.cat([x], 2)",
        "torch.cat([x, 1])",
        "torch.cat(x)",
    ],
    "stack": ["torch.stack([])", "torch.stack([x, x.t()])", "torch.stack([x], 3)"],
    "sum": ["x.sum(2)", "x.sum((0, 0))", "x.sum(dim='a')"],
    "mean": ["i.mean()", "b.mean()", "x.mean(2)"],
    "max": ["torch.empty(0).max()", "x.max(2)", "torch.empty(2, 0).max(1)"],
    "argmax": ["torch.empty(0).argmax()", "x.argmax(2)"],
    "amax": ["torch.empty(0, 2).amax(0)"],
    "cumsum": ["x.cumsum(2)"],
    "var": ["i.var()"],
    "norm": ["i.norm()"],
    "logsumexp": ["x.logsumexp(2)"],
    "softmax": ["x.softmax(2)", "i.softmax(0)"],
    "sort": ["x.sort(2)"],
    "topk": ["x.topk(4)", "x.topk(1, 2)", "x.topk(-1)"],
    "kthvalue": ["x.kthvalue(0)", "x.kthvalue(4)"],
    "gather": [
        "x.gather(1, i)",
        "x.gather(1, torch.tensor([[5]]))",
        "x.gather(2, i)",
        "x.gather(1, torch.ones(1, 1))",
        "x.gather(1, torch.tensor([[-1]]))",
    ],
    "scatter": [
        "x.scatter(1, torch.tensor([[3]]), 1.0)",
        "x.scatter(0, i, 1.0)",
        "x.scatter(1, torch.zeros(3, 4, dtype=torch.int64), x)",
    ],
    "scatter_add": ["x.scatter_add(1, torch.tensor([[3]]), x)", "x.scatter_add(1, i, h)"],
    "index_select": [
        "x.index_select(0, torch.tensor([2]))",
        "x.index_select(0, x[0])",
        "x.index_select(0, torch.zeros(1, 1, dtype=torch.int64))",
        "x.index_select(3, i)",
        "x[:, :0].index_select(0, torch.tensor([5]))",
        "x[:0].index_select(1, torch.tensor([7]))",
        "x[:0].index_select(0, torch.tensor([0]))",
        "x.index_select(1, torch.tensor([5]))",
        "x[0].index_select(0, torch.tensor([5]))",
        "x[0, :0].index_select(0, torch.tensor([5]))",
    ],
    "index_add": ["x.index_add(0, torch.tensor([2]), x[:1])", "x.index_add(0, i, h)"],
    "index_copy": ["x.index_copy(0, torch.tensor([2]), x[:1])"],
    "index_fill": ["x.index_fill(0, torch.tensor([2]), 1)"],
    "take": ["x.take(torch.tensor([6]))", "x.take(torch.tensor([0.5]))"],
    "masked_fill": [
        "x.masked_fill(i, 1)",
        "x.masked_fill(torch.ones(4, dtype=torch.bool), 1)",
        "x.masked_fill(b, torch.ones(2))",
    ],
    "masked_select": ["x.masked_select(x)", "x.masked_select(torch.ones(4, dtype=torch.bool))"],
    "masked_scatter": ["x.masked_scatter(b, torch.ones(1))", "x.masked_scatter(b, h)"],
    "where": ["torch.where(b, x, torch.ones(4))", "torch.where(x, x, x)"],
    "clamp": ["x.clamp()", "x.clamp(torch.ones(4))"],
    "one_hot": [
        "torch.nn.functional.one_hot(torch.tensor([3]), 2)",
        "torch.nn.functional.one_hot(torch.tensor([-1]))",
        "torch.nn.functional.one_hot(torch.tensor([0.5]))",
    ],
    "tril": ["x[0].tril()"],
    "flip": ["x.flip(2)", "x.flip(0, 0)"],
    "roll": ["x.roll((1, 2), 0)"],
    "repeat": ["x.repeat(2)", "x.repeat(-1, 1)"],
    "repeat_interleave": ["x.repeat_interleave(-1)", "x.repeat_interleave(i, 0)"],
    "bincount": ["torch.tensor([-1]).bincount()", "x.bincount()"],
    "multinomial": [
        "torch.tensor([-1.0, 1]).multinomial(1)",
        "torch.ones(2).multinomial(3)",
        "torch.zeros(2).multinomial(1)",
        "torch.ones(2).multinomial(0)",
    ],
    "bernoulli": ["torch.tensor([2.0]).bernoulli()"],
    "randint": ["torch.randint(0, 0, (2,))", "torch.randint(5, 2, (2,))"],
    "randperm": ["torch.randperm(-1)"],
    "normal": ["torch.normal(x, -x.abs() - 1)"],
    "zeros": [
        "torch.zeros(-1)",
        "torch.zeros(2, -3)",
        "torch.zeros(2**62, 4)",
        "torch.zeros(2**40, 2**40)",
    ],
    "empty": ["torch.empty(-1)", "torch.empty(2**61)", "torch.empty((2**31, 2**31, 2**31))"],
    "full": ["torch.full((2,), 'a')", "torch.full((-2,), 1)"],
    "arange": ["torch.arange(0, 5, -1)", "torch.arange(0, 1e30, 1)"],
    "linspace": ["torch.linspace(0, 1, -1)"],
    "eye": ["torch.eye(-2)"],
    "tensor": ["torch.tensor([[1], [2, 3]])"],
    "bitwise_and": ["x & x", "torch.bitwise_and(x, x)"],
    "bitwise_not": ["~x"],
    "logical_and": ["torch.logical_and(x, torch.ones(4))"],
    "remainder": ["i % 0", "i.remainder(0)"],
    "floor_divide": ["i // 0"],
    "pow": ["i ** -1", "torch.pow(2, 3)"],
    "lerp": ["x.lerp(h, 0.5)", "i.lerp(i, 0.5)"],
    "item": ["x.item()", "torch.empty(0).item()"],
    "to": ["x.to('nonsense')"],
    "copy_": ["x.copy_(torch.ones(4))", "x[:1].expand(2, 3).copy_(x)"],
    "fill_": ["x.fill_(torch.ones(2))"],
    "set_": ["x.set_(3)"],
    "resize_": ["x.clone().resize_(-1)", "x.clone().resize_(2**62, 8)"],
    "searchsorted": ["torch.searchsorted(x, torch.ones(3, 2))"],
    "unique": ["x.unique(dim=2)"],
    "median": ["x.median(2)"],
    "quantile": ["x.quantile(2.0)", "i.quantile(0.5)"],
    "histc": ["x.histc(0)", "x.histc(4, 2, 1)"],
    "cross": ["torch.linalg.cross(x, torch.ones(2, 4))"],
    "tensordot": ["torch.tensordot(x, x, 1)"],
    "broadcast_to": ["torch.broadcast_to(x, (3, 3))"],
    "broadcast_tensors": ["torch.broadcast_tensors(x, torch.ones(4))"],
    "view_as_complex": ["torch.view_as_complex(x)"],
    "complex": ["torch.complex(i, i)"],
    "exp": ["torch.exp(x, out=i)", "torch.exp('a')", "torch.exp()", "torch.exp(x, x)"],
    "exp_": ["i.exp_()"],
    "from_numpy": ["torch.from_numpy(np.arange(4)[::-1])", "torch.from_numpy('a')"],
}
# Of these the message need only come with the right type: they are raised before an operation runs.
ANYWHERE = [
    "x[5]",
    "x[0, 0, 0]",
    "x[[0, 5]]",
    "x[torch.tensor([0.5])]",
    "x[torch.ones(3, dtype=torch.bool)]",
    "x['a']",
    "x.__setitem__(5, 1)",
    "x.__setitem__(0, torch.ones(4))",
    "x.__setitem__('a', 1)",
    "bool(x)",
    "bool(torch.empty(0))",
    "int(x)",
    "float(torch.empty(0))",
    "len(torch.tensor(1))",
    "iter(torch.tensor(1))",
    "x.nonsense",
    "x.shape.nonsense",
    "torch.nonsense",
    "x.reshape(2, 3, nonsense=1)",
    "x.sum(1, 2, 3, 4)",
    "torch.ones(2, 3, dtype=3)",
    "torch.ones([2, 'a'])",
    "torch.add(x, x, out=x[:1].expand(2, 3))",
    "torch.add(x.view(-1)[1:], 1, out=x.view(-1)[:-1])",
    "torch.add(x, x, out=torch.empty(0, dtype=torch.int64))",
    "x.requires_grad_().add_(1)",
    "x.clone().requires_grad_().numpy()",
    "x < 'a'",
    "x + 'a'",
    "x + None",
    "x + [1, 2, 3]",
    "x @ 3",
    "-b",
    "x.view(torch.nonsense)",
    "x.view(torch.float64)",
    "torch.manual_seed('a')",
    "torch.device('cuda:x')",
    "torch.device('cpu', -3)",
    "torch.sum()",
    "torch.mm(x)",
    "torch.mm(x, x.t(), 3)",
    "torch.mm(x, 3)",
    "torch.cat(3)",
    "x.grad.add_(1)",
    "x.backward()",
    "x.swapaxes()",
    "x.T = x",
    "x[0] += 'a'",
    "torch.tensor(1, 2)",
    "x.type(3)",
    "x.item(1)",
    "torch.set_default_dtype(3)",
    "torch.set_num_threads(0)",
    "torch.Generator().manual_seed('a')",
    "torch.Generator('nonsense')",
    "x.random_(5, 2)",
    "x.uniform_(2, 1)",
    "x.normal_(0, -1)",
    "x.exponential_(-1)",
    "x.bernoulli_(2)",
    "x.geometric_(0)",
]


def _names(lib: Any) -> dict[str, Any]:
    x = lib.arange(6.0).reshape(2, 3).clone()
    i = lib.arange(3)
    return {"torch": lib, "np": np, "x": x, "i": i, "b": x > 2, "h": x.double()}


def _run(lib: Any, text: str) -> tuple[Exception | None, list[Any]]:
    names = _names(lib)

    def call() -> None:
        exec(text, names)

    _, error = outcome_of(call)
    return error, [names[n].tolist() for n in "xibh" if not names[n].requires_grad]


def _check(text: str) -> Exception:
    expected, _ = _run(torch, text)
    actual, values = _run(facula, text)
    assert expected is not None, "PyTorch accepts this call"
    assert actual is not None, f"expected {type(expected).__name__}: {expected}"
    assert same_exception_type(expected, actual), f"expected {expected!r}, got {actual!r}"
    untouched = [n.tolist() for n in (_names(torch)[k] for k in "xibh")]
    assert values == untouched[-len(values) :], "the call wrote to its inputs before it failed"
    return actual


_CASES = [(op, text) for op, texts in BAD_CALLS.items() for text in texts]


@pytest.mark.parametrize("op, text", _CASES, ids=[text for _, text in _CASES])
def test_bad_call_of_an_operation(op: str, text: str) -> None:
    error = _check(text)
    if facula is not torch and not isinstance(error, (TypeError, AttributeError)):
        name = op.rstrip("_")
        assert str(error).startswith((f"{name}: ", f"{name}_: ")), str(error)


@pytest.mark.parametrize("text", ANYWHERE)
def test_bad_call(text: str) -> None:
    _check(text)


def test_out_of_memory_is_an_exception() -> None:
    def call(lib: Any) -> Any:
        return outcome_of(lambda: lib.empty(2**48, dtype=lib.uint8))[1]

    expected, actual = call(torch), call(facula)
    assert actual is not None
    assert isinstance(actual, (MemoryError, type(expected)))


def test_more_than_64_dims_are_refused() -> None:
    x = facula.ones([1] * 64)
    assert x.dim() == 64
    if facula is not torch:
        for make in (lambda: facula.ones([1] * 65), lambda: x.unsqueeze(0), lambda: x[None]):
            _, error = outcome_of(make)
            assert isinstance(error, RuntimeError)


def test_a_failed_call_leaks_no_references() -> None:
    x = facula.ones(2, 3)
    before = sys.getrefcount(x)
    for _ in range(50):
        outcome_of(lambda: x @ x)
        outcome_of(lambda: x + "a")
        outcome_of(lambda: x[7])
    assert sys.getrefcount(x) == before

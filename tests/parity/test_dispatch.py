"""Operations under ``__torch_dispatch__``: nothing changes that is only passed on."""

from __future__ import annotations

from typing import Any

import pytest

from facula.utils._python_dispatch import TorchDispatchMode
from facula.utils._pytree import tree_map

from .frameworks import convert, facula, seed
from .ops import table
from .samples import Sample, samples

OPS = {
    name: op
    for name, op in table().items()
    if "float32" in op.dtypes and op.tolerance != "unspecified"
}


class PassOn(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Wrapped(facula.Tensor):  # type: ignore[misc]
    __torch_function__ = facula._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        form = {"strides": inner.stride(), "dtype": inner.dtype, "device": inner.device}
        self = facula.Tensor._make_wrapper_subclass(cls, inner.size(), **form)
        self.inner = inner
        return self

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return wrapped(func(*unwrapped(args), **unwrapped(kwargs or {})))


def wrapped(value: Any) -> Any:
    return tree_map(lambda x: Wrapped(x) if type(x) is facula.Tensor else x, value)


def unwrapped(value: Any) -> Any:
    return tree_map(lambda x: x.inner if isinstance(x, Wrapped) else x, value)


def result_of(op: Any, sample: Sample, change: Any = lambda value: value) -> Any:
    args, kwargs = convert(facula, (sample.args, sample.kwargs))
    seed(facula)
    try:
        return op.callable(facula, "function")(*change(args), **change(kwargs))
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("name", OPS)
def test_operations_that_are_passed_on_give_the_same(name: str) -> None:
    op = OPS[name]
    for sample in [s.without_grad() for s in samples(op, "float32")]:
        expected = result_of(op, sample)
        with PassOn():
            in_mode = result_of(op, sample)
        in_class = unwrapped(result_of(op, sample, wrapped))
        for result in (in_mode, in_class):
            if isinstance(expected, type):
                assert isinstance(result, type), sample.describe()
                continue
            facula.testing.assert_close(result, expected, equal_nan=True, msg=sample.describe())

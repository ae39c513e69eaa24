"""Printing is PyTorch's, to the character (and the name of the package)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from .frameworks import DTYPES, convert, facula
from .strategies import shapes, steady, tensors


def _same_text(value: Any, how: Any = repr) -> None:
    expected = how(value)
    actual = how(convert(facula, value)).replace("facula.", "torch.")
    assert actual == expected


@steady(300)
@given(tensors(shapes(4, 5), grad=True))
def test_repr_of_any_tensor(t: torch.Tensor) -> None:
    _same_text(t)
    _same_text(t, str)


_FLOATS = st.one_of(
    st.floats(width=32),
    st.sampled_from([0.0, -0.0, 1.0, 100.0, 1e-5, 1e8, 12345678.0, 0.1, -2.5]),
    st.integers(-1000, 1000).map(float),
)


@steady(400)
@given(
    hnp.arrays("float32", hnp.array_shapes(min_dims=0, max_dims=3, max_side=5), elements=_FLOATS),
    st.sampled_from(["float32", "float64", "float16", "bfloat16"]),
)
def test_repr_of_any_floats(array: Any, dtype: str) -> None:
    _same_text(torch.from_numpy(array).to(DTYPES[dtype]))


@steady(150)
@given(
    hnp.arrays("float32", st.tuples(st.just(2), st.integers(0, 5)), elements=_FLOATS),
    st.sampled_from(["complex64", "complex128"]),
)
def test_repr_of_any_complex_numbers(array: Any, dtype: str) -> None:
    _same_text(torch.complex(*torch.from_numpy(array)).to(DTYPES[dtype]))


@steady(100)
@given(hnp.arrays("int64", hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)))
def test_repr_of_any_integers(array: Any) -> None:
    _same_text(torch.from_numpy(array))


@pytest.mark.parametrize(
    "shape", [(1001,), (2000,), (1000,), (50, 50), (7, 200), (200, 7), (11, 11, 11), (2, 3, 4, 60)]
)
def test_repr_of_tensors_that_are_summarised(shape: tuple[int, ...]) -> None:
    n = torch.Size(shape).numel()
    _same_text(torch.arange(n).reshape(shape))
    _same_text((torch.arange(n) / 7).reshape(shape))
    _same_text((torch.arange(n) % 3 == 0).reshape(shape))
    _same_text((torch.arange(n) * (1 + 2j)).reshape(shape))


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"precision": 10},
        {"threshold": 10},
        {"threshold": 10, "edgeitems": 1},
        {"linewidth": 40},
        {"sci_mode": True},
        {"sci_mode": False},
        {"profile": "short"},
        {"profile": "full"},
    ],
    ids=str,
)
def test_print_options(options: dict[str, Any]) -> None:
    try:
        torch.set_printoptions(**options)
        facula.set_printoptions(**options)
        for t in (torch.arange(30) / 7, torch.arange(12.0).reshape(3, 4) * 1e6, torch.ones(3)):
            _same_text(t)
    finally:
        torch.set_printoptions(profile="default")
        facula.set_printoptions(profile="default")


def _text_of(program: Any) -> None:
    assert program(facula).replace("facula.", "torch.") == program(torch)


@pytest.mark.parametrize(
    "text",
    [
        "repr(x * 2)",
        "repr(x[0])",
        "repr((x * 2).detach())",
        "repr(x.sum())",
        "str(x.shape)",
        "repr(x.shape[:1])",
        "repr(x.dtype)",
        "repr(x.device)",
        "repr(torch.device('cuda', 1))",
        "repr(torch.strided)",
        "repr(torch.channels_last)",
        "repr(torch.finfo(torch.float16))",
        "repr(torch.iinfo(torch.int8))",
        "f'{x[0, 0]:.3f}'",
        "f'{x.sum()}'",
        "f'{x}'",
        "'%.2f' % x.detach().sum()",
        "repr(torch.max(x, 1))",
        "repr(torch.empty(0))",
        "repr(torch.empty(0, 3))",
        "repr(torch.empty(2, 0, dtype=torch.int64))",
        "repr(torch.tensor(True))",
        "repr(torch.tensor(1.5, dtype=torch.float64))",
    ],
)
def test_text_of_other_objects(text: str) -> None:
    def program(lib: Any) -> str:
        x = lib.arange(6.0).reshape(2, 3).requires_grad_()
        return eval(text, {"torch": lib, "x": x})

    _text_of(program)

"""Reading and writing through random index expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from .frameworks import outcome_of
from .outcome import agree
from .strategies import indices, numbered, shapes, steady, tensors


@st.composite
def _tensor_and_index(draw: st.DrawFn) -> tuple[torch.Tensor, Any]:
    t = draw(tensors(grad=True))
    return t, draw(indices(tuple(t.shape)))


@steady(300)
@given(_tensor_and_index())
def test_reading_by_any_index(case: tuple[torch.Tensor, Any]) -> None:
    agree(lambda lib, x, index: x[index], *case, kind="exact", grad=1)


@st.composite
def _assignment(draw: st.DrawFn) -> tuple[torch.Tensor, Any, Any]:
    t, index = draw(_tensor_and_index())
    read, _ = outcome_of(lambda: t.detach()[index])
    shape = tuple(read.shape) if read is not None else ()
    kind = draw(st.sampled_from(["scalar", "0-d", "full", "broadcast", "other dtype", "wrong"]))
    dtype = str(t.dtype)[6:]
    if kind == "scalar":
        return t, index, draw(st.sampled_from([7, 2.5, True]))
    if kind == "0-d":
        value = numbered((), dtype)
    elif kind == "broadcast":
        value = numbered(tuple(draw(st.sampled_from([1, n])) for n in shape[1:]), dtype)
    elif kind == "wrong":
        value = numbered(draw(shapes(3, 3)), dtype)
    else:
        value = numbered(shape, dtype if kind == "full" else "int32")
    if t.requires_grad and value.is_floating_point() and draw(st.booleans()):
        value.requires_grad_()
    return t, index, value


@steady(300)
@given(_assignment())
def test_writing_by_any_index(case: tuple[torch.Tensor, Any, Any]) -> None:
    def assign(lib: Any, x: Any, index: Any, value: Any) -> Any:
        x = x.clone() if x.requires_grad else x
        x[index] = value
        return x

    agree(assign, *case, kind="exact", grad=1)


@steady(150)
@given(_tensor_and_index())
def test_a_read_by_index_sees_later_writes_exactly_when_it_is_a_view(
    case: tuple[torch.Tensor, Any],
) -> None:
    def read_then_write(lib: Any, x: Any, index: Any) -> Any:
        x = x.detach().clone()
        read = x[index]
        x.fill_(1)
        return read

    agree(read_then_write, *case, kind="exact")


def _index_by(*index: Any) -> None:
    x = numbered((3, 4, 5), "float32")
    agree(lambda lib, x: x[index if len(index) > 1 else index[0]], x, kind="exact")


def test_indices_of_other_kinds() -> None:
    _index_by(np.int64(1))
    _index_by(np.array([0, 2]))
    _index_by(np.array([True, False, True]))
    _index_by([[0, 1], [1, 2]])
    _index_by([True, False, True])
    _index_by(range(2))
    _index_by((0, 1))
    _index_by("a")
    _index_by(1.0)
    _index_by(slice(1.5))
    _index_by(2**70)
    _index_by(slice(2**70))
    _index_by([])
    _index_by(0, [])
    _index_by(..., ...)
    _index_by(0, 0, 0, 0)
    _index_by({1})


def test_indices_that_are_tensors_with_one_element() -> None:
    x = numbered((3, 4), "float32")
    one = torch.tensor(1)
    agree(lambda lib, x, i: x[i], x, one, kind="exact")
    agree(lambda lib, x, i: x[i : i + 1], x, one, kind="exact")
    agree(lambda lib, x, i: x[i, i], x, one, kind="exact")
    agree(lambda lib, x, i: x[:, i], x, one, kind="exact")


def test_iterating_and_membership() -> None:
    x = numbered((3, 2), "int64")
    agree(lambda lib, x: [*x], x, kind="exact")
    agree(lambda lib, x: [*x[0, 0]], x, kind="exact")
    agree(lambda lib, x: (4 in x, 99 in x, len(x)), x)
    agree(lambda lib, x: len(x[0, 0]), x)
    agree(lambda lib, x: "a" in x, x)
    agree(lambda lib, x: [*reversed(x)], x, kind="exact")


def test_deleting_an_element_is_refused() -> None:
    def delete(lib: Any, x: Any) -> None:
        del x[0]

    agree(delete, numbered((3,), "int64"))

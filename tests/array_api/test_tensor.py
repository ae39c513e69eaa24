"""What the standard asks of the array itself, as far as PyTorch's tensor is of one mind with it."""

import operator

import numpy as np
import pytest
from array_api_cases import (
    ALL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REALS,
    array_api,
    array_api_strict,
    arrays,
    assert_same,
    converted,
    given,
    numbers,
)
from hypothesis import assume
from hypothesis import strategies as st

import facula

OPERATORS = {
    "add": NUMBERS,
    "and_": ["bool", *INTEGERS],
    "eq": ALL,
    "floordiv": REALS,
    "ge": REALS,
    "gt": REALS,
    "le": REALS,
    "lshift": INTEGERS,
    "lt": REALS,
    "mod": REALS,
    "mul": NUMBERS,
    "ne": ALL,
    "or_": ["bool", *INTEGERS],
    "pow": [*INTEGERS, *FLOATS],
    "rshift": INTEGERS,
    "sub": NUMBERS,
    "truediv": [*FLOATS, *COMPLEX],
    "xor": ["bool", *INTEGERS],
}
IN_PLACE = [
    "iadd",
    "iand",
    "ifloordiv",
    "ilshift",
    "imod",
    "imul",
    "ior",
    "ipow",
    "irshift",
    "isub",
]


def from_one_on(dtype):
    """Small numbers by which all operators are defined, shifts and powers too."""
    return st.just(True) if dtype == "bool" else st.sampled_from([1, 2, 3])


def agree(function, *values):
    ours, theirs = (
        function(*converted(namespace, values)) for namespace in (array_api, array_api_strict)
    )
    assert_same(ours, theirs, rtol=1e-6)


def alike(dtypes, dtype):
    kinds = ["bool"], INTEGERS, FLOATS, COMPLEX
    return [d for kind in kinds for d in kind if dtype in kind and d in dtypes]


@pytest.mark.parametrize("name", OPERATORS)
@given(st.data())
def test_operators(name, data):
    function, dtypes = getattr(operator, name), OPERATORS[name]
    left = data.draw(arrays(dtypes, (2, 3), from_one_on))
    right = data.draw(arrays(alike(dtypes, left.dtype.name), (3,), from_one_on))
    agree(function, left, right)
    agree(function, left, right[0].item())
    agree(function, right[0].item(), left)


@pytest.mark.parametrize("name", IN_PLACE)
@given(st.data())
def test_operators_in_place(name, data):
    function = getattr(operator, name)
    dtypes = OPERATORS.get(name[1:]) or OPERATORS[name[1:] + "_"]
    left = data.draw(arrays(dtypes, (2, 3), from_one_on))
    right = data.draw(arrays([left.dtype.name], (3,), from_one_on))
    agree(function, left, right)
    agree(function, left, right[0].item())


@pytest.mark.parametrize(
    ("name", "dtypes"),
    [("abs", NUMBERS), ("inv", ["bool", *INTEGERS]), ("neg", NUMBERS), ("pos", NUMBERS)],
)
@given(st.data())
def test_signs_and_bits(name, dtypes, data):
    agree(getattr(operator, name), data.draw(arrays(dtypes)))


@given(arrays(NUMBERS, (2, 3)), st.data())
def test_products_and_transposes(x, data):
    y = data.draw(arrays([x.dtype.name], (3, 2)))
    agree(operator.matmul, x, y)
    agree(lambda x: x.T, x)
    agree(lambda x: x.mT, x)


@given(arrays(ALL, (3, 4)), st.data())
def test_indexing(x, data):
    row = data.draw(st.integers(-3, 2) | st.just(slice(None)) | st.slices(3))
    column = data.draw(st.integers(-4, 3) | st.just(slice(1, None, 2)) | st.none())
    steps = [each.step for each in (row, column) if isinstance(each, slice)]
    assume(all(step is None or step > 0 for step in steps))  # PyTorch takes no others
    key = (row, column, ...) if column is not None else (row, None, slice(None))
    agree(lambda x: x[key], x)
    mask = data.draw(arrays(["bool"], (3, 4)))
    agree(lambda x, mask: x[mask], x, mask)
    value = data.draw(numbers(x.dtype.name))

    def written(x):
        x[key] = value
        return x

    if column is not None:
        agree(written, x)


@pytest.mark.parametrize("dtype", ALL)
def test_one_element_becomes_a_number(dtype):
    x = facula.tensor(1, dtype=getattr(facula, dtype))
    assert bool(x) is True
    assert complex(x) == 1 and type(complex(x)) is complex
    if dtype not in COMPLEX:
        assert int(x) == 1 and type(int(x)) is int
        assert float(x) == 1.0 and type(float(x)) is float
    if dtype in INTEGERS:
        assert operator.index(x) == 1


@given(arrays(ALL))
def test_shape_and_memory(x):
    tensor = array_api.asarray(x)
    assert tensor.shape == x.shape and isinstance(tensor.shape, tuple)
    assert tensor.ndim == x.ndim
    assert tensor.numel() == x.size
    assert tensor.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(tensor), x)

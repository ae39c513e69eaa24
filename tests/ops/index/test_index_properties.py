"""Random index expressions against NumPy: reading, writing, gradients."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import facula

EXAMPLES = hypothesis.settings(max_examples=300, deadline=None)


@st.composite
def slices(draw, size):
    bound = st.none() | st.integers(-size - 2, size + 2)
    return slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3])))


@st.composite
def arrays(draw, size, shape):
    """Integers that choose from a dimension, negative ones too; or a mask."""
    if len(shape) == 1 and draw(st.booleans()):
        mask = np.zeros(size, bool)
        mask[: shape[0]] = True
        return np.random.default_rng(draw(st.integers(0, 9))).permutation(mask)
    n = int(np.prod(shape))
    chosen = draw(st.lists(st.integers(-size, size - 1), min_size=n, max_size=n))
    shape = draw(st.sampled_from([shape, tuple(1 if i else n for i, n in enumerate(shape))]))
    return np.array(chosen[: int(np.prod(shape))], dtype=np.int64).reshape(shape)


@st.composite
def cases(draw):
    """An array and an index, in which NumPy and PyTorch mean the same.

    An integer beside arrays is one more array for NumPy, but not for PyTorch: they do not meet.
    """
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    is_advanced = draw(st.booleans())
    chosen = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2).map(tuple))
    chosen = tuple(min(n, *shape) for n in chosen)
    index = []
    has_ellipsis = False
    for size in shape[: draw(st.integers(0, len(shape)))]:
        if draw(st.integers(0, 5)) == 0:
            index.append(None)
        if not has_ellipsis and draw(st.integers(0, 7)) == 0:
            has_ellipsis = True
            index.append(Ellipsis)
            break  # what follows would choose from other dimensions
        if is_advanced and draw(st.booleans()):
            index.append(draw(arrays(size, chosen)))
        elif not is_advanced and draw(st.booleans()):
            index.append(draw(st.integers(-size, size - 1)))
        else:
            index.append(draw(slices(size)))
    x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    return x, tuple(index)


def as_tensors(index):
    return tuple(facula.from_numpy(i) if isinstance(i, np.ndarray) else i for i in index)


@EXAMPLES
@hypothesis.given(cases())
def test_reading(case):
    x, index = case
    try:
        expected = x[index]
    except IndexError:  # arrays that do not broadcast
        with pytest.raises(IndexError):
            facula.from_numpy(x)[as_tensors(index)]
        return
    actual = facula.from_numpy(x)[as_tensors(index)]
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual.numpy(), expected)


@EXAMPLES
@hypothesis.given(cases(), st.sampled_from(["number", "whole", "row", "ones"]))
def test_writing_values_that_broadcast(case, kind):
    x, index = case
    try:
        shape = x[index].shape
    except IndexError:
        return
    # Of the last write to an element, where there are several, only its order is left open.
    value = {
        "number": np.float64(-1),
        "whole": -x[index],
        "row": np.full(shape[-1:], -2.0),
        "ones": np.full((1,) * len(shape), -3.0),
    }[kind]
    if kind == "whole":
        value = value - 1
    actual = facula.from_numpy(x.copy())
    x[index] = value
    is_number = kind == "number"
    actual[as_tensors(index)] = float(value) if is_number else facula.from_numpy(np.array(value))
    np.testing.assert_array_equal(actual.numpy(), x)


@EXAMPLES
@hypothesis.given(cases())
def test_gradients(case):
    x, index = case
    try:
        weights = np.arange(1.0, x[index].size + 1).reshape(x[index].shape)
    except IndexError:
        return
    expected = np.zeros_like(x)
    np.add.at(expected, index, weights)
    leaf = facula.from_numpy(x).requires_grad_()
    (leaf[as_tensors(index)] * facula.from_numpy(np.array(weights))).sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), expected)


@pytest.mark.parametrize("step", [-1, -3])
def test_negative_steps_are_refused(step):
    with pytest.raises(ValueError, match="expected a step of at least 1"):
        facula.arange(5)[::step]


def test_an_index_needs_something_to_choose_from_even_if_there_are_no_elements():
    empty, first = facula.zeros(0, 0), facula.tensor([0])
    for index in (first, (None, first), (first, first), (slice(None), first)):
        with pytest.raises(IndexError, match="out of bounds for dimension with size 0"):
            empty[index]
    none = facula.zeros(0, dtype=facula.int64)
    assert empty[none].shape == (0, 0)
    assert facula.zeros(1)[facula.tensor([[0], [1]]), False].shape == (2, 0)
    assert facula.zeros(1, 2)[facula.tensor([7]), none.view(0, 1)].shape == (0, 1)

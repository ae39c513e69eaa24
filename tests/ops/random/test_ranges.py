"""Integers as many as another tensor has elements."""

import numpy as np
import pytest

import facula


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float16", "float32", "float64"])
def test_randint_like_fills_the_range_in_the_dtype_of_the_tensor(dtype):
    like = facula.empty(40, 50, dtype=getattr(facula, dtype))
    for more, values in (((4,), [0, 1, 2, 3]), ((2, 5), [2, 3, 4])):
        x = facula.randint_like(like, *more)
        assert (x.dtype, x.shape) == (like.dtype, like.shape)
        assert x.unique().tolist() == values


def test_randint_like_keeps_the_order_of_memory_and_takes_a_dtype():
    like = facula.empty(3, 2).t()
    x = facula.randint_like(like, 9, dtype=facula.int32)
    assert (x.dtype, x.stride()) == (facula.int32, like.stride())
    assert facula.randint_like(facula.empty(0, 3), 9).shape == (0, 3)
    assert facula.randint_like(facula.tensor(1), 1).item() == 0
    assert facula.randint_like(like, 9, requires_grad=True).requires_grad


def test_randint_like_draws_what_randint_draws():
    facula.manual_seed(2)
    expected = facula.randint(3, 99, (4, 5))
    facula.manual_seed(2)
    assert facula.equal(facula.randint_like(expected, 3, 99), expected)
    with pytest.raises(RuntimeError, match="expected from < to"):
        facula.randint_like(expected, 3, 3)


def test_bounds_may_be_tensors_of_one_element():
    facula.manual_seed(0)
    expected = facula.randint(1, 6, (5,))
    facula.manual_seed(0)
    assert facula.randint(facula.tensor([1]), facula.tensor([[6]]), (5,)).tolist() == (
        expected.tolist()
    )
    assert len(facula.randperm(facula.tensor([3]))) == 3
    with pytest.raises(TypeError, match="randint: expected an int as high"):
        facula.randint(facula.tensor([1, 2]), (3,))


@pytest.mark.parametrize(
    "n, ends, total",
    [
        (64, [44, 46, 58, 36], 66299),
        (65, [29, 48, 8, 52], 63878),
        (130, [94, 58, 108, 0], 545092),
    ],
)
def test_permutations_longer_than_what_is_drawn_ahead_are_those_of_pytorch(n, ends, total):
    facula.manual_seed(0)
    order = facula.randperm(n)
    assert order[[0, 1, -2, -1]].tolist() == ends
    assert (order * facula.arange(n)).sum().item() == total


@pytest.mark.parametrize("n", [1, 5, 623, 1024, 1025, 3000])
@pytest.mark.parametrize("range_", [1, 2, 3, 100, 2**16, 2**28 - 1])
def test_randint_takes_the_remainder_of_a_word_of_the_twister(n, range_):
    words = np.random.RandomState(7)._bit_generator.random_raw(n)
    facula.manual_seed(7)
    assert facula.randint(-3, range_ - 3, (n,)).tolist() == (words % range_ - 3.0).tolist()


@pytest.mark.parametrize("n", [1, 7, 8, 1023, 1024, 1025])
def test_halves_are_the_floats_of_the_same_words_rounded(n):
    def drawn(dtype, draw):
        facula.manual_seed(3)
        return draw(facula.empty(n, dtype=dtype))

    for draw in (lambda x: x.uniform_(2, 5), lambda x: x.random_(6, 2000)):
        expected = drawn(facula.float32, draw).half()
        expected[expected == 5] = 2  # 5 is excluded
        result = drawn(facula.float16, draw)
        assert result.equal(expected)
    p = facula.linspace(0, 1, n)
    facula.manual_seed(3)
    expected = facula.bernoulli(p.half().float())
    facula.manual_seed(3)
    assert facula.bernoulli(p.half()).equal(expected.half())

"""Order: sorted values, ranks and distinct values."""

import pytest
from agree import assert_agrees

import facula

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
DTYPES = [
    facula.bool,
    facula.uint8,
    facula.int8,
    facula.int16,
    facula.int32,
    facula.int64,
    facula.float16,
    facula.bfloat16,
    facula.float32,
    facula.float64,
]


def repeated(dtype, *shape):
    """Numbers of both signs, each of them several times."""
    return (facula.rand(*shape) * 20 - 10).round().to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_is_sorted_with_equal_elements_in_order(dtype):
    x = repeated(dtype, 3, 500)
    for descending in (False, True):
        assert_agrees(lambda t, d=descending: tuple(t.sort(1, descending=d)), x)
    assert_agrees(lambda t: tuple(t.sort(0)), x)


# Around a warp, the lines that a block sorts in shared memory, and the tiles of longer ones.
LENGTHS = [1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 8193, 100000]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_long_lines_of_every_dtype_are_sorted_with_equal_elements_in_order(dtype):
    x = repeated(dtype, 2, 5000)
    for descending in (False, True):
        assert_agrees(lambda t, d=descending: tuple(t.sort(1, descending=d)), x)


@pytest.mark.parametrize("n", LENGTHS)
def test_lines_of_any_length_are_sorted(n):
    x = facula.randn(n)
    assert_agrees(lambda t: tuple(t.sort()), x)
    assert_agrees(lambda t: tuple(t.reshape(1, n).expand(3, n).sort(1, descending=True)), x)


@pytest.mark.parametrize("n", LENGTHS)
def test_lines_with_nan_and_zeros_of_both_signs_keep_their_order(n):
    numbers = facula.tensor([0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), -float("inf")])
    x = numbers[facula.randint(0, 7, (3, n))]
    for descending in (False, True):
        values, places = x.cuda().sort(1, descending=descending)
        expected, expected_places = x.sort(1, descending=descending)
        assert facula.equal(places.cpu(), expected_places)
        assert facula.equal(values.cpu().view(facula.int32), expected.view(facula.int32))


@pytest.mark.parametrize("n", [1000, 3000, 9000])
@pytest.mark.parametrize("low, high", [(5, 6), (-3, 3), (0, 70000), (-(2**62), 2**62)])
def test_integers_of_few_and_many_digits_are_sorted(n, low, high):
    # Digits that all keys of a line share are left out: of each line others.
    x = facula.stack([facula.randint(low, high, (n,)), facula.arange(n), facula.full((n,), 7)])
    assert_agrees(lambda t: tuple(t.sort(1)), x)
    assert_agrees(lambda t: tuple(t.topk(9, 1)), x)


def test_the_lines_of_a_block_are_kept_apart():
    for shape in ((1000, 1), (600, 3), (100, 32), (37, 100), (3, 513)):
        assert_agrees(lambda t: tuple(t.sort(1)), repeated(facula.int32, *shape))
        assert_agrees(lambda t: tuple(t.topk(1, 1)), facula.randn(*shape))


def test_many_lines_are_sorted():
    x = facula.randn(700, 130)
    assert_agrees(lambda t: tuple(t.sort(1)), x)
    assert_agrees(lambda t: tuple(t.sort(0)), x)
    assert_agrees(lambda t: t.argsort(-1), x[:, ::3])
    assert_agrees(lambda t: tuple(t[:0].sort(0)), x)
    assert_agrees(lambda t: tuple(t[0, 0].sort()), x)


def test_nan_is_the_largest_and_zeros_are_equal():
    x = facula.tensor([0.0, float("nan"), -0.0, float("inf"), -float("inf"), float("nan"), 0.0])
    assert_agrees(lambda t: tuple(t.sort()), x)
    assert_agrees(lambda t: tuple(t.sort(descending=True)), x)


def test_the_largest_and_smallest_agree():
    x = repeated(facula.float32, 6, 300)
    for k in (0, 1, 7, 300):
        for largest in (False, True):
            assert_agrees(lambda t, k=k, b=largest: tuple(t.topk(k, 1, largest=b)), x)
    assert_agrees(lambda t: tuple(t.topk(3, 0)), x)
    assert_agrees(lambda t: tuple(t.topk(11, 1)), repeated(facula.float32, 2, 6000))


def test_ranks_agree():
    modes = repeated(facula.float32, 5, 201)
    assert_agrees(lambda t: tuple(t.mode(1, keepdim=True)), modes)
    assert_agrees(lambda t: tuple(t.mode(0)), modes)
    x = facula.randn(5, 201)  # each once: which of equal ones is taken is left open
    assert_agrees(lambda t: tuple(t.kthvalue(7, 1)), x)
    assert_agrees(lambda t: tuple(t.median(1)), x)
    assert_agrees(facula.median, x)
    some_nan = facula.where(x > 1, float("nan"), x)
    assert_agrees(lambda t: tuple(t.median(0)), some_nan)
    assert_agrees(lambda t: tuple(t.nanmedian(1)), some_nan)
    q = facula.tensor([0.0, 0.3, 1.0])
    for interpolation in ("linear", "lower", "higher", "midpoint", "nearest"):
        assert_agrees(lambda t, p, how=interpolation: t.quantile(p, 1, interpolation=how), x, q)
    assert_agrees(lambda t, p: t.nanquantile(p, 0, keepdim=True), some_nan, q)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_distinct_values_agree(dtype):
    x = repeated(dtype, 40, 20)
    assert_agrees(lambda t: facula.unique(t, return_inverse=True, return_counts=True), x)
    assert_agrees(
        lambda t: facula.unique_consecutive(t, return_inverse=True, return_counts=True), x[0] > 0
    )


def test_distinct_rows_agree():
    x = facula.randint(0, 2, (50, 3))
    for dim in (0, 1):
        assert_agrees(
            lambda t, d=dim: facula.unique(t, dim=d, return_inverse=True, return_counts=True), x
        )
    assert_agrees(lambda t: facula.unique_consecutive(t, dim=0, return_counts=True), x)
    assert_agrees(lambda t: facula.isin(t, t[:2, 0] + 1), x)


def test_gradients_of_sorts_agree():
    x = facula.randn(6, 30, dtype=facula.float64)

    def gradients(t):
        a = t.clone().requires_grad_()
        weights = facula.arange(30.0, device=t.device)
        y = (a.sort(1).values * weights).sum() + a.topk(4, 1).values.prod(1).sum()
        return facula.autograd.grad(y + (a.median(0).values ** 2).sum(), a)

    assert_agrees(gradients, x)


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (1, 3)])
def test_unique_of_little_or_nothing(shape):
    x = facula.ones(shape)
    for call in (
        lambda x: x.unique(return_inverse=True, return_counts=True),
        lambda x: x.unique(return_inverse=True, return_counts=True, dim=0),
        lambda x: x.unique_consecutive(return_inverse=True, return_counts=True),
    ):
        for actual, expected in zip(call(x.cuda()), call(x), strict=True):
            assert actual.device.type == "cuda"
            assert actual.shape == expected.shape
            assert actual.tolist() == expected.tolist()

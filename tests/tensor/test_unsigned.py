"""uint16, uint32 and uint64: what PyTorch computes with them, by NumPy's numbers."""

import numpy as np
import pytest

import facula

DTYPES = ["uint16", "uint32", "uint64"]


@pytest.fixture(params=DTYPES)
def dtype(request):
    return request.param


def numbers(dtype, seed=0, shape=(6, 7)):
    """All widths of numbers: the largest, the middle where a sign would begin, zeros and ones."""
    largest = np.iinfo(dtype).max
    rng = np.random.default_rng(seed)
    x = rng.integers(0, largest, shape, dtype=dtype, endpoint=True)
    x.flat[:6] = [0, 1, largest // 2, largest // 2 + 1, largest - 1, largest]
    return rng.permuted(x)


def as_tensor(array):
    return facula.from_numpy(array.copy())


def assert_same(tensor, array):
    assert str(tensor.dtype) == f"torch.{array.dtype}"
    np.testing.assert_array_equal(tensor.numpy(), array)


PAIRS = {
    "mul": np.multiply,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "eq": np.equal,
    "ne": np.not_equal,
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_wrap_around_and_keep_their_bits(name, dtype):
    a, b = numbers(dtype), numbers(dtype, 1)
    b[::2] = a[::2]
    x, y = as_tensor(a), as_tensor(b)
    function = getattr(facula, name)
    assert_same(function(x, y), PAIRS[name](a, b))
    assert_same(function(x.t(), y.t()), PAIRS[name](a.T, b.T))
    assert_same(function(x, y[0, 0]), PAIRS[name](a, b[0, 0]))
    assert_same(getattr(x.clone(), name + "_")(y), PAIRS[name](a, b).astype(dtype))
    out = facula.empty(0, dtype=facula.int64)
    assert_same(function(x, y, out=out), PAIRS[name](a, b).astype("int64"))


def test_operators_take_python_numbers(dtype):
    a = numbers(dtype)
    x = as_tensor(a)
    largest = np.iinfo(dtype).max
    assert_same(x * 3, a * np.array(3, dtype))
    assert_same(-1 * x, a * np.array(largest, dtype))
    assert_same(x & 0x5555, a & np.array(0x5555, dtype))
    assert_same(x | True, a | np.array(1, dtype))
    assert_same(x ^ -1, a ^ np.array(largest, dtype))
    assert_same(x == largest, a == largest)
    assert_same(x != -1, a != largest)  # numbers wrap around, too
    assert (x == 2**64 - 1).sum().item() == (a == largest).sum()
    assert_same(x * 0.5, a.astype("float32") * np.float32(0.5))
    assert_same(x * 1j, (a.astype("complex64") * 1j).astype("complex64"))
    x *= 2
    x &= 0xFF
    assert_same(x, a * np.array(2, dtype) & np.array(0xFF, dtype))
    with pytest.raises(OverflowError):
        x * 2**64


def test_a_dtype_goes_with_itself_floats_and_0d_tensors_only(dtype):
    x = as_tensor(numbers(dtype))
    own = getattr(facula, dtype)
    others = [facula.bool, facula.uint8, facula.int8, facula.int64, facula.complex64]
    for other in [*others, *{facula.uint16, facula.uint32, facula.uint64} - {own}]:
        y = facula.ones(7, dtype=other)
        for call in (lambda y=y: x * y, lambda y=y: y == x, lambda y=y: x.mul_(y)):
            with pytest.raises(RuntimeError, match="no dtype is known to hold both"):
                call()
        expected = other if other.is_complex else own
        assert (x * y[0]).dtype == facula.result_type(x, y[0]) == expected
    for other in (facula.float16, facula.bfloat16, facula.float32, facula.float64):
        assert (x * facula.ones(7, dtype=other)).dtype == other
        with pytest.raises(RuntimeError, match="cannot be stored"):
            x.mul_(facula.ones(7, dtype=other))


def test_an_integer_has_nothing_to_round_and_no_sign(dtype):
    a = numbers(dtype)
    x = as_tensor(a)
    for round_it in ("floor", "ceil", "trunc", "fix", "round", "nan_to_num", "positive"):
        assert_same(getattr(facula, round_it)(x), a)
    for question in ("isnan", "isinf", "isposinf", "isneginf", "signbit"):
        assert not getattr(facula, question)(x).any(), question
    assert x.isfinite().all()
    assert x.isreal().all()


def test_sums_are_those_of_int64(dtype):
    a = numbers(dtype)
    x = as_tensor(a)
    wide = a.astype("int64")
    with np.errstate(over="ignore"):
        assert_same(x.sum(), wide.sum())
        assert_same(x.sum(0), wide.sum(0))
        assert_same(x.nansum(1, keepdim=True), wide.sum(1, keepdims=True))
        assert_same(x.cumsum(1), wide.cumsum(1))
        assert_same(x.prod(0), wide.prod(0))
    assert x.sum(dtype=facula.float64).item() == pytest.approx(a.astype("float64").sum(), rel=1e-15)
    for call in (x.sum, x.nansum, x.float().sum):
        with pytest.raises(NotImplementedError, match=f"not implemented for {dtype}"):
            call(dtype=x.dtype)


def test_truth_is_not_being_zero(dtype):
    a = numbers(dtype)
    a[2] = 0
    a[3] |= 1
    x = as_tensor(a)
    assert_same(x.all(), a.all())
    assert_same(x.any(), a.any())
    assert_same(x.all(1), a.all(1))
    assert_same(x.any(1, keepdim=True), a.any(1, keepdims=True))
    assert_same(x.count_nonzero(0), np.count_nonzero(a, 0))
    assert_same(x.bool(), a.astype(bool))


def test_order_is_that_of_unsigned_numbers(dtype):
    a = numbers(dtype)
    x = as_tensor(a)
    values, indices = x.sort(1)
    assert_same(values, np.sort(a, 1))
    assert_same(indices, np.argsort(a, 1, kind="stable"))
    assert not values._is_view()
    assert_same(x.sort(0, descending=True).values, np.sort(a, 0)[::-1])
    assert_same(x.t().argsort(1), np.argsort(a.T, 1, kind="stable"))
    assert_same(facula.msort(x), np.sort(a, 0))
    assert_same(x[0, 0].sort().values, a[0, 0])


def test_distinct_numbers_come_in_order(dtype):
    a = numbers(dtype)
    a[4:] = a[:2]
    x = as_tensor(a)
    expected = np.unique(a, return_inverse=True, return_counts=True)
    found = x.unique(return_inverse=True, return_counts=True)
    assert_same(found[0], expected[0])
    assert_same(found[1], expected[1].reshape(a.shape))
    assert_same(found[2], expected[2])
    assert_same(facula.unique(x, dim=0), np.unique(a, axis=0))
    assert_same(x.flatten().repeat_interleave(2).unique_consecutive(), a.flatten())


def test_membership_and_equality(dtype):
    a = numbers(dtype)
    x, y = as_tensor(a), as_tensor(a[:, :2])
    assert_same(facula.isin(x, y), np.isin(a, a[:, :2]))
    assert_same(facula.isin(x, int(a[0, 0])), a == a[0, 0])
    assert_same(facula.isin(x, int(a[0, 0]), invert=True), a != a[0, 0])
    assert x.equal(x.clone())
    assert not x.equal(x ^ 1)
    assert facula.allclose(x, x)


def test_numbers_fill_tensors_and_negative_ones_wrap_around(dtype):
    largest = np.iinfo(dtype).max
    own = getattr(facula, dtype)
    for made in (
        facula.full((2,), -1, dtype=own),
        facula.full_like(facula.empty(2, dtype=own), -1),
        facula.zeros(2, dtype=own).fill_(-1),
        facula.zeros(2, dtype=own).new_full((2,), -1),
        facula.where(facula.tensor([True, True]), facula.zeros(2, dtype=own), 0) ^ -1,
        facula.where(facula.tensor([False, False]), facula.zeros(2, dtype=own), -1),
    ):
        assert_same(made, np.full(2, largest, dtype))
    x = facula.zeros(3, dtype=own)
    x[0], x[1:] = -1, largest
    assert x.tolist() == [largest] * 3
    for wrong in ([2**16, -(2**16)], [2**32, -(2**32)], [])[DTYPES.index(dtype)]:
        with pytest.raises(RuntimeError, match="does not fit"):
            facula.full((2,), wrong, dtype=own)


def test_random_integers_are_those_of_int64(dtype):
    own = getattr(facula, dtype)
    expected = facula.randint(3, 2**15, (50,), generator=facula.Generator().manual_seed(1))
    found = facula.randint(3, 2**15, (50,), dtype=own, generator=facula.Generator().manual_seed(1))
    assert_same(found, expected.numpy().astype(dtype))
    assert facula.randint_like(found, 7).unique().tolist() == list(range(7))
    high = min(np.iinfo(dtype).max + 1, 2**63 - 1)
    drawn = facula.empty(500, dtype=own).random_(0, high).numpy()
    assert drawn.max() > 0.9 * high
    for low, high in ((-1, 5), (0, np.iinfo(dtype).max + 2)):
        if high < 2**63:
            with pytest.raises(RuntimeError, match=f"within the range of {dtype}"):
                facula.randint(low, high, (2,), dtype=own)


def test_what_pytorch_has_not_is_refused(dtype):
    x = as_tensor(numbers(dtype))
    for call in (
        lambda: x + x,
        lambda: x - 1,
        lambda: -x,
        lambda: ~x,
        lambda: x // 2,
        lambda: x % 2,
        lambda: x << 1,
        lambda: x**2,
        lambda: x < x,
        lambda: x.maximum(x),
        lambda: x.max(),
        lambda: x.clamp(1, 2),
        lambda: x.topk(1),
        lambda: x.nonzero(),
        lambda: x @ x.t(),
        lambda: x.logical_not(),
        lambda: facula.arange(3, dtype=x.dtype),
    ):
        with pytest.raises(NotImplementedError):
            call()

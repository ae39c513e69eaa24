"""Reading and writing at indices. Results, and for repeated places their bits, are the CPU's."""

import pytest
from agree import assert_agrees

import facula

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
DTYPES = [
    facula.bool,
    facula.uint8,
    facula.int16,
    facula.int32,
    facula.int64,
    facula.float16,
    facula.bfloat16,
    facula.float32,
    facula.float64,
    facula.complex64,
    facula.complex128,
]
# The widths take rows of one element, of words of 2 to 16 bytes, and of odd sizes.
WIDTHS = [1, 2, 3, 4, 16, 65]


def numbers(dtype, *shape):
    return (facula.rand(*shape) * 20 - 10).to(dtype)


def places(size, *shape):
    return facula.randint(0, size, shape)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_are_read_in_every_dtype(dtype):
    x = numbers(dtype, 7, 5)
    assert_agrees(lambda t, i: t.index_select(0, i), x, places(7, 11))
    assert_agrees(lambda t, i: t.index_select(1, i), x, places(5, 4))
    assert_agrees(lambda t, i: t.gather(1, i), x, places(5, 7, 9))
    assert_agrees(lambda t, i: t.gather(0, i), x.t().contiguous().t(), places(7, 3, 5))
    assert_agrees(lambda t, i: t.take(i), x, places(35, 2, 3))
    assert_agrees(lambda t, i: facula.take_along_dim(t, i, 1), x, places(5, 7, 2))


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_read_whatever_their_width(width):
    x = numbers(facula.float32, 50, width)
    assert_agrees(lambda t, i: t.index_select(0, i), x, places(50, 1000))
    assert_agrees(lambda t, i: t[1:].index_select(0, i), x, places(49, 10))
    assert_agrees(lambda t, i: t[i], x.to(facula.float16), places(50, 3, 4))


def test_indexing_by_several_tensors_agrees():
    x = numbers(facula.float32, 5, 6, 7)
    i, j = places(5, 4), places(6, 3, 4)
    assert_agrees(lambda t, a, b: t[a, b], x, i, j)
    assert_agrees(lambda t, a, b: t[a, :, b], x, i, j)
    assert_agrees(lambda t, a, b: t[:, b - 6, a], x, i, j)
    assert_agrees(lambda t, a: t[None, ..., a], x, i)
    assert_agrees(lambda t, a: t[a.to(facula.int32), 2:5], x, i)


def test_masks_agree():
    x = numbers(facula.float32, 60, 70)
    assert_agrees(lambda t: t[t > 3], x)
    assert_agrees(lambda t: t[t[:, 0] > 3], x)
    assert_agrees(lambda t: t.masked_select(t < 0), x)
    assert_agrees(lambda t: t.nonzero(), (x > 5).to(facula.int32).reshape(6, 10, 70))
    assert_agrees(lambda t: t[:0].nonzero(), x)
    assert_agrees(lambda t: t.nonzero(as_tuple=True), x > 8)
    assert_agrees(lambda t: t.masked_scatter(t > 0, -t), x)
    assert_agrees(lambda t: t.masked_fill(t > 0, 3), x)


def test_nonzero_of_many_elements_agrees():
    x = facula.randint(0, 3, (300, 1000))
    assert_agrees(facula.nonzero, x)


def test_indices_of_the_cpu_choose_from_a_tensor_of_the_gpu():
    x = numbers(facula.float32, 5, 6)
    i = places(5, 4)
    assert facula.equal(x.to("cuda")[i].cpu(), x[i])
    mask = x > 0
    assert facula.equal(x.to("cuda")[mask].cpu(), x[mask])


@pytest.mark.parametrize("n", [3, 40, 5000])
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
def test_sums_at_repeated_places_agree(dtype, n):
    zeros = facula.zeros(11, 6, dtype=dtype)
    source = numbers(facula.int8, n, 6).to(dtype)
    assert_agrees(lambda z, i, s: z.index_add(0, i, s), zeros, places(11, n), source)
    at = places(11, n, 6)
    assert_agrees(lambda z, i, s: z.scatter_add(0, i, s), zeros, at, source)
    assert_agrees(lambda z, i, s: z.t().scatter_add(1, i.t(), s.t()), zeros, at, source)
    flat = zeros.reshape(-1)
    assert_agrees(
        lambda z, i, s: z.index_put((i,), s, accumulate=True), flat, places(66, n), source[:, 0]
    )


@pytest.mark.parametrize("n", [33, 1025, 4095, 4096, 4097])
@pytest.mark.parametrize("size", [1, 255, 256, 257, 70000])
def test_sums_of_lines_around_a_tile_agree(n, size):
    at, source = places(size, n, 3), facula.randn(n, 3)
    assert_agrees(lambda z, i, s: z.scatter_add(0, i, s), facula.randn(size, 3), at, source)
    lines = at.t().contiguous(), source.t()
    assert_agrees(lambda z, i, s: z.scatter_add(1, i, s), facula.randn(3, size), *lines)
    assert_agrees(lambda z, i, s: z.scatter(1, i, s), facula.randn(3, size), *lines)


@pytest.mark.parametrize("width", [255, 256, 1023, 1025, 2500])
def test_sums_of_wide_rows_agree(width):
    x, at, source = facula.randn(7, width), places(7, 90), facula.randn(90, width)
    assert_agrees(lambda z, i, s: z.index_add(0, i, s), x, at, source)
    assert_agrees(lambda z, i, s: z.index_put((i,), s, accumulate=True), x, at, source)
    assert_agrees(lambda z, i, s: z.t().index_add(1, i, s.t()), x, at, source)
    stack = facula.randn(2, 5, width)
    assert_agrees(
        lambda z, i, s: z.index_put((None, i % 5), s[None], accumulate=True),
        stack,
        at,
        source,
    )


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("n", [5, 3000])
def test_every_reduction_of_scatter_agrees(reduce, n):
    x = facula.rand(9, 4, dtype=facula.float64) + 0.5
    source = facula.rand(n, 4, dtype=facula.float64) * 0.01 + 0.995
    at = places(9, n, 4)
    for include_self in (True, False):
        assert_agrees(
            lambda t, i, s, include=include_self: t.scatter_reduce(
                0, i, s, reduce, include_self=include
            ),
            x,
            at,
            source,
        )


def test_the_last_of_several_writes_stays():
    for n in (10, 4000):
        at = places(7, n)
        source = facula.arange(float(n))
        for write in (
            lambda z, i, s: z.scatter(0, i, s),
            lambda z, i, s: z.index_copy(0, i, s),
            lambda z, i, s: z.index_put((i,), s),
        ):
            assert_agrees(write, facula.zeros(7), at, source)


def test_writes_agree():
    x = numbers(facula.float32, 6, 8)
    assert_agrees(lambda t, i: t.index_fill(1, i, 2.5), x, places(8, 3))
    assert_agrees(lambda t, i: t.scatter(1, i, 7), x, places(8, 6, 2))
    assert_agrees(lambda t, i: t.put(i, t[0, :4]), x, facula.tensor([3, 1, 40, 7]))

    def assign(t, i):
        y = t.clone()
        y[i] = 1
        y[:, i] = t[:, i] * 2
        y[y < 0] = 0
        y[2, 3] = 5
        y[1::2][:, i] += 1
        return y

    assert_agrees(assign, x, places(6, 3))


def test_sums_have_the_same_bits_in_every_run_and_on_the_cpu():
    x = facula.randn(20000, 33)
    at = places(50, 20000)
    expected = facula.zeros(50, 33).index_add(0, at, x)
    for _ in range(5):
        actual = facula.zeros(50, 33, device="cuda").index_add(0, at.to("cuda"), x.to("cuda"))
        assert facula.equal(actual.cpu(), expected)


def test_embedding_and_its_gradients_agree():
    weight = facula.randn(30, 12, dtype=facula.float64)
    at = places(30, 4, 100)

    def gradients(w, i):
        w = w.clone().requires_grad_()
        y = facula.nn.functional.embedding(i, w, padding_idx=3, scale_grad_by_freq=True)
        (g,) = facula.autograd.grad((y**3).sum(), w, create_graph=True)
        (second,) = facula.autograd.grad((g * g).sum(), w)
        return y, g, second

    assert_agrees(gradients, weight, at)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bags_agree(mode):
    weight = facula.randn(30, 5, dtype=facula.float64)
    at, offsets = places(30, 20), facula.tensor([0, 3, 3, 11])

    def gradients(w, i, o):
        w = w.clone().requires_grad_()
        y = facula.nn.functional.embedding_bag(i, w, o, mode=mode, padding_idx=4)
        return y, *facula.autograd.grad((y**2).sum(), w)

    assert_agrees(gradients, weight, at, offsets)


def test_gradients_of_reads_and_writes_agree():
    x = facula.randn(6, 9, dtype=facula.float64)

    def gradients(t, i):
        a = t.clone().requires_grad_()
        y = a[i] * a.gather(0, i[:, None].expand(-1, 9)) + a.index_select(0, i) ** 2
        z = a.scatter_add(0, i[:4, None].expand(-1, 9), y[:4]).masked_fill(a > 1, 0)
        return facula.autograd.grad((z**2).sum() + a.take(i).sum(), a)

    assert_agrees(gradients, x, places(6, 40))


def test_a_bad_index_raises_when_it_is_waited_for_and_harms_nothing():
    x = facula.arange(5.0, device="cuda")
    bad = facula.tensor([0, 1, 9, 2], device="cuda")
    y = x[bad]
    with pytest.raises(
        IndexError, match="index 9 at position 2 is out of bounds for a dimension of size 5"
    ):
        facula.cuda.synchronize()
    facula.cuda.synchronize()
    assert y.tolist() == [0, 1, 0, 2]
    with pytest.raises(IndexError, match="index -6 at position 0"):
        x[facula.tensor([-6], device="cuda")].cpu()
    z = x.clone()
    z.index_add_(0, bad, facula.ones(4, device="cuda"))
    with pytest.raises((IndexError, RuntimeError), match="index 9"):
        z.sum().item()
    assert z.tolist() == [1, 2, 3, 3, 4]
    assert (x + 1).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16], ids=str)
@pytest.mark.parametrize("width", [4, 32768])
def test_many_values_of_half_precision_add_up_at_one_place(width, dtype):
    x = facula.zeros(3, width, dtype=dtype, device="cuda")
    at = facula.zeros(1000, dtype=facula.int64, device="cuda")
    x.index_put_((at,), facula.full((1000, width), 3.0, dtype=dtype, device="cuda"), True)
    assert x[:, ::1000].unique(dim=1).tolist() == [
        [3008 if dtype == facula.bfloat16 else 3000],
        [0],
        [0],
    ]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (0, 300)], ids=str)
def test_a_place_in_nothing_is_raised_when_the_gpu_is_waited_for(shape):
    at, x = facula.zeros(40, dtype=facula.int64), facula.ones(40, *shape[1:])
    facula.zeros(shape, device="cuda").index_add(0, at.to("cuda"), x.to("cuda"))
    with pytest.raises((IndexError, RuntimeError), match=r"index 0 at position .* of size 0"):
        facula.cuda.synchronize()


def test_bins_and_searches_agree():
    x = facula.randn(1000, dtype=facula.float64)
    assert_agrees(lambda t: facula.histc(t, 13, -2, 2), x)
    assert_agrees(lambda t: facula.bincount(t), places(17, 1000))
    assert_agrees(lambda t: facula.bincount(t, t.to(facula.float64), 30), places(17, 1000))
    assert_agrees(lambda t: facula.bincount(t.to(facula.int16)), places(5, 9000)[::2])
    assert_agrees(lambda t: facula.bincount(t, minlength=5000), places(4097, 1000))
    assert_agrees(lambda t: facula.bincount(t), places(4096, 20000))
    assert_agrees(lambda t: facula.histc(t, 7), x[:0])
    for dtype in (facula.float16, facula.bfloat16, facula.float32, facula.float64):
        some = facula.cat([facula.randn(9000), facula.tensor([-2.0, 2.0, float("nan")])]).to(dtype)
        for bins in (1, 100, 5000):
            assert_agrees(lambda t, b=bins: facula.histc(t, b, -2, 2), some)
        assert_agrees(lambda t: facula.histc(t, 10), some[:-1])
    edges = facula.tensor([-1.0, 0.0, 0.0, 0.5], dtype=facula.float64)
    assert_agrees(lambda t, e: facula.bucketize(t, e), x, edges)
    rows = facula.randn(4, 9).sort(-1).values
    for right in (False, True):
        assert_agrees(
            lambda r, v, right=right: facula.searchsorted(r, v, right=right),
            rows,
            facula.randn(4, 30),
        )
    one_hot = facula.nn.functional.one_hot
    assert_agrees(lambda t: one_hot(t), places(9, 5, 2))
    assert_agrees(lambda t: one_hot(t, 11), places(9, 2, 5).t())
    assert_agrees(lambda t: one_hot(t[0], 1000), places(9, 1))
    assert_agrees(lambda t: one_hot(t[:0], 3), places(9, 1))


@pytest.mark.parametrize("wrong", [-1, 4])
def test_classes_that_do_not_exist_are_raised_when_the_gpu_is_waited_for(wrong):
    y = facula.nn.functional.one_hot(facula.tensor([1, wrong], device="cuda"), 4)
    with pytest.raises(RuntimeError, match=f"one_hot.*{wrong}"):
        y.sum().item()


def test_tensors_of_two_devices_are_refused_where_they_would_be_searched():
    here, there = facula.tensor([1, 2]), facula.tensor([2, 3], device="cuda")
    for first, second in ((here, there), (there, here)):
        with pytest.raises(RuntimeError, match="on one device"):
            facula.isin(first, second)
        with pytest.raises(RuntimeError, match="on one device"):
            facula.searchsorted(first, second)

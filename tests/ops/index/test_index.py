"""The gather, scatter, index and masked families, joins and selections."""

import numpy as np
import pytest

import facula
from check_op import check_op, check_threads

pytestmark = pytest.mark.promise("T4")
SOME = ["float32", "float64"]


def test_gather_and_take_along_dim_agree_with_numpy():
    index = np.array([[0, 2, 1, 1], [2, 2, 0, 0]])
    check_op(
        lambda x: x.gather(0, facula.tensor(index)),
        lambda a: np.take_along_axis(a, index, 0),
        [(3, 4)],
        dtypes=SOME,
    )


def test_scatter_add_adds_where_indices_repeat():
    def reference(a, b):
        result = a.copy()
        np.add.at(result, (np.array([0, 0, 2]),), b)
        return result

    index = facula.tensor([0, 0, 2])
    check_op(lambda x, y: x.scatter_add(0, index, y), reference, [(4,), (3,)], dtypes=SOME)


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16])
def test_sums_of_half_precision_do_not_stop_growing(dtype):
    n = 3072  # whose ones add up to 256 or 2048 if each sum is rounded
    index, ones = facula.zeros(n, 2, dtype=facula.int64), facula.ones(n, 2, dtype=dtype)
    x = facula.zeros(1, 2, dtype=dtype)
    for y in (
        x.scatter_add(0, index, ones),
        x.clone().scatter_add_(0, index, ones),
        x.scatter_reduce(0, index, ones, "sum"),
        x.index_add(0, index[:, 0], ones),
        x.clone().index_add_(0, index[:, 0], ones),
    ):
        assert y.tolist() == [[n, n]] and y.dtype == dtype
    for read in (lambda w: w.gather(0, index), lambda w: w.index_select(0, index[:, 0])):
        w = x.clone().requires_grad_()
        read(w).backward(ones)
        assert w.grad.tolist() == [[n, n]]


def test_index_select_and_index_add_agree_with_numpy():
    index = facula.tensor([2, 0, 2])
    check_op(lambda x: x.index_select(1, index), lambda a: a[:, [2, 0, 2]], [(2, 3)], dtypes=SOME)

    def add(a, b):
        result = a.copy()
        np.add.at(result, (slice(None), [2, 0, 2]), b)
        return result

    check_op(lambda x, y: x.index_add(1, index, y), add, [(2, 3), (2, 3)], dtypes=SOME)


def test_advanced_indexing_is_differentiable():
    rows, columns = [0, 2, 2], [1, 1, 3]
    check_op(
        lambda x: x[facula.tensor(rows), facula.tensor(columns)],
        lambda a: a[rows, columns],
        [(3, 4)],
        dtypes=SOME,
    )


def test_masked_operations_agree_with_numpy():
    mask = np.array([[True, False, True], [False, False, True]])
    m = facula.from_numpy(mask)
    check_op(lambda x: x.masked_select(m), lambda a: a[mask], [(2, 3)], dtypes=SOME)
    check_op(
        lambda x: x.masked_fill(m, 7.0), lambda a: np.where(mask, 7.0, a), [(2, 3)], dtypes=SOME
    )
    check_op(
        lambda x, y: facula.where(m, x, y),
        lambda a, b: np.where(mask, a, b),
        [(2, 3), (3,)],
        dtypes=SOME,
    )


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_and_stack_agree_with_numpy(dim):
    shapes = [(2, 3), (2, 3), (2, 3)]
    check_op(
        lambda *xs: facula.cat(xs, dim), lambda *xs: np.concatenate(xs, dim), shapes, dtypes=SOME
    )
    check_op(lambda *xs: facula.stack(xs, dim), lambda *xs: np.stack(xs, dim), shapes, dtypes=SOME)


@pytest.mark.parametrize("shape, dims", [((5,), (0,)), ((2, 3), (1,)), ((2, 3), (0, 1))])
def test_flip_and_roll_agree_with_numpy(shape, dims):
    check_op(lambda x: x.flip(dims), lambda a: np.flip(a, dims), [shape], dtypes=SOME)
    check_op(lambda x: x.roll(2, dims[0]), lambda a: np.roll(a, 2, dims[0]), [shape], dtypes=SOME)


@pytest.mark.parametrize("diagonal", [-1, 0, 2])
def test_tril_and_triu_agree_with_numpy(diagonal):
    check_op(lambda x: x.tril(diagonal), lambda a: np.tril(a, diagonal), [(3, 4)], dtypes=SOME)
    check_op(lambda x: x.triu(diagonal), lambda a: np.triu(a, diagonal), [(3, 4)], dtypes=SOME)


@pytest.mark.parametrize("n", [0, 1, 2, 100, 5000])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_agrees_with_numpy(n, descending):
    a = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    values, indices = facula.from_numpy(a).sort(descending=descending)
    expected = np.sort(a)[::-1] if descending else np.sort(a)
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(a[indices.numpy()], expected)


def test_sort_puts_nan_last_and_stable_keeps_order():
    x = facula.tensor([2.0, float("nan"), 1.0])
    assert x.sort().indices.tolist() == [2, 0, 1]
    ties = facula.tensor([1, 0, 1, 0, 1])
    assert ties.sort(stable=True).indices.tolist() == [1, 3, 0, 2, 4]


@pytest.mark.parametrize("n", [1, 2, 3, 14, 16, 17, 32, 33, 64, 65])
@pytest.mark.parametrize("dtype", [facula.float32, facula.float16, facula.int64, facula.uint8])
def test_rows_of_every_length_are_sorted_stably(n, dtype):
    x = facula.randint(0, 9, (7, n)).to(dtype)
    if dtype.is_floating_point:
        x[0, 0], x[1, -1] = float("nan"), -0.0
    for descending in (False, True):
        key = x.double().nan_to_num(99).numpy() * (-1 if descending else 1)
        expected = np.argsort(key, axis=1, kind="stable")
        for rows in (x, x.T.contiguous().T):
            values, indices = rows.sort(-1, descending=descending)
            assert indices.tolist() == expected.tolist()
            assert facula.equal(values.nan_to_num(99), x.gather(1, indices).nan_to_num(99))
            best = rows.topk((n + 1) // 2, -1, largest=descending)
            assert best.indices.tolist() == expected[:, : (n + 1) // 2].tolist()


def test_topk_gives_the_largest_in_order():
    x = facula.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
    values, indices = x.topk(2)
    assert values.tolist() == [[3, 2], [6, 5]]
    assert indices.tolist() == [[0, 2], [1, 2]]
    with pytest.raises(RuntimeError):
        x.topk(4)


def test_unique_returns_sorted_values_inverse_and_counts():
    x = facula.tensor([3, 1, 3, 2, 1])
    values, inverse, counts = facula.unique(x, return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2, 3]
    assert inverse.tolist() == [2, 0, 2, 1, 0]
    assert counts.tolist() == [2, 1, 2]


def test_nonzero_lists_indices_in_order():
    assert facula.tensor([[0, 1], [2, 0]]).nonzero().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.gather(0, facula.tensor([[3, 0]])),
        lambda x: x.gather(0, facula.tensor([[-1, 0]])),
        lambda x: x.index_select(0, facula.tensor([5])),
        lambda x: x[facula.tensor([7])],
        lambda x: x.clone().scatter_(0, facula.tensor([[4, 0]]), 1.0),
        lambda x: x.clone().index_add_(0, facula.tensor([9]), facula.ones(1, 2)),
        lambda x: x.take(facula.tensor([99])),
    ],
)
def test_an_index_out_of_range_is_refused(call):
    with pytest.raises((IndexError, RuntimeError)):
        call(facula.ones(2, 2))


def test_out_receives_the_result():
    out = facula.empty(0)
    result = facula.cat([facula.ones(2), facula.zeros(1)], out=out)
    assert result is out
    assert out.tolist() == [1, 1, 0]


def test_a_number_filled_at_no_index_keeps_its_gradient_at_zero():
    x = facula.tensor(1.0, requires_grad=True)
    value = facula.tensor(2.0, requires_grad=True)
    x.index_fill(0, facula.tensor([], dtype=facula.int64), value).backward()
    assert (x.grad.item(), value.grad.item()) == (1.0, 0.0)


@pytest.mark.parametrize(
    "shape, dim, error",
    [
        ((2, 0), 0, RuntimeError),
        ((0, 2), 1, RuntimeError),
        ((0, 2), 0, RuntimeError),
        ((2, 3), 1, RuntimeError),
        ((2, 3), 0, IndexError),
        ((0,), 0, IndexError),
    ],
)
def test_the_class_of_the_error_is_that_of_pytorch(shape, dim, error):
    with pytest.raises(
        error, match="index_select: index 5 at position 0 is out of bounds for a dimension"
    ):
        facula.empty(shape).index_select(dim, facula.tensor([5]))


def test_index_select_of_a_number_takes_one_index():
    with pytest.raises(
        RuntimeError, match="index_select: expected one index for a 0-d input, got 2"
    ):
        facula.tensor(1.0).index_select(0, facula.tensor([0, 0]))


def test_index_reduce_agrees_with_scatter_reduce():
    x, source = facula.tensor([[4.0, 0.0], [2.0, 3.0]]), facula.tensor([[0.0, 5.0], [7.0, 0.0]])
    index = facula.tensor([1, 1])
    for reduce in ("prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            found = x.index_reduce(0, index, source, reduce, include_self=include_self)
            wide = index.unsqueeze(1).expand(2, 2)
            expected = x.scatter_reduce(0, wide, source, reduce, include_self=include_self)
            assert found.tolist() == expected.tolist()


def test_the_gradient_of_a_product_with_zeros_is_the_product_of_the_others():
    source = facula.tensor([0.0, 5.0, 0.0, 0.0], requires_grad=True)
    x = facula.tensor([2.0, 3.0], requires_grad=True)
    x.scatter_reduce(0, facula.tensor([0, 0, 1, 1]), source, "prod").sum().backward()
    assert source.grad.tolist() == [10.0, 0.0, 0.0, 0.0]
    assert x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("index", [facula.tensor([0.5]), facula.tensor([float("nan")])])
@pytest.mark.parametrize(
    "error, call",
    [
        (RuntimeError, lambda x, i: x.gather(0, i)),
        (RuntimeError, lambda x, i: x.scatter(0, i, 1.0)),
        (RuntimeError, lambda x, i: x.index_select(0, i)),
        (RuntimeError, lambda x, i: x.index_copy(0, i, x[:1])),
        (IndexError, lambda x, i: x.index_fill(0, i, 1.0)),
        (RuntimeError, lambda x, i: x.take(i)),
        (IndexError, lambda x, i: x[i]),
    ],
)
def test_floating_point_numbers_are_no_index(error, call, index):
    with pytest.raises(error, match=r"int|long|Long"):
        call(facula.ones(3), index)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, i: x.scatter_(0, i, 1.0),
        lambda x, i: x.scatter_add_(0, i, facula.ones(2)),
        lambda x, i: x.index_add_(0, i, facula.ones(2)),
        lambda x, i: x.index_copy_(0, i, facula.ones(2)),
        lambda x, i: x.index_fill_(0, i, 1.0),
        lambda x, i: x.put_(i, facula.ones(2)),
        lambda x, i: x.index_put_((i,), facula.ones(2)),
        lambda x, i: facula.scatter(x, 0, i, 1.0, out=x),
    ],
)
def test_nothing_is_written_where_one_index_is_out_of_range(write):
    x = facula.zeros(3)
    with pytest.raises(
        (IndexError, RuntimeError), match=r"out of bounds for a dimension|an index from"
    ):
        write(x, facula.tensor([0, 3]))
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_a_value_that_fills_a_place_twice_counts_once_in_the_gradient():
    value = facula.tensor(5.0, requires_grad=True)
    facula.zeros(3).index_fill(0, facula.tensor([2, 0, -1]), value).sum().backward()
    assert value.grad.item() == 2.0


def test_out_must_have_the_dtype_and_be_apart_from_the_input():
    x, index = facula.tensor([1.0, 2.0, 3.0]), facula.tensor([2, 0])
    out = facula.empty(0)
    assert facula.gather(x, 0, index, out=out) is out
    assert out.tolist() == [3.0, 1.0]
    with pytest.raises(RuntimeError, match=r"gather: expected out of dtype float32, got float64"):
        facula.gather(x, 0, index, out=facula.empty(0, dtype=facula.float64))
    with pytest.raises(RuntimeError, match=r"gather: the input and the tensor written to share"):
        facula.gather(x, 0, index, out=x[:2])


def test_a_part_is_replaced_in_a_copy():
    x = facula.zeros(2, 3)
    ones = facula.ones(2)
    assert x.select_scatter(ones, 1, 2).tolist() == [[0, 0, 1], [0, 0, 1]]
    assert x.diagonal_scatter(ones, 1).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert x.slice_scatter(ones.reshape(1, 2).expand(2, 2), 1, 0, 2).tolist() == [[1, 1, 0]] * 2
    assert x.as_strided_scatter(ones, (2,), (4,)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert x.sum() == 0
    with pytest.raises(RuntimeError, match=r"select_scatter: expected src of the shape \(2,\)"):
        x.select_scatter(facula.ones(3), 1, 2)


def test_the_gradient_of_a_replaced_part_goes_to_its_replacement():
    x = facula.zeros(4, requires_grad=True)
    part = facula.zeros(2, requires_grad=True)
    y = x.as_strided_scatter(part, (2,), (2,), 1)
    y.backward(facula.tensor([1.0, 2.0, 3.0, 4.0]))
    assert x.grad.tolist() == [1.0, 0.0, 3.0, 0.0]
    assert part.grad.tolist() == [2.0, 4.0]


def test_a_replacement_may_reach_beyond_the_input():
    memory = facula.zeros(4)
    x = memory[2:].requires_grad_()
    part = facula.zeros(2, requires_grad=True)
    y = x.as_strided_scatter(part, (2,), (2,), 0)  # the first and the third place of the memory
    y.backward(facula.tensor([1.0, 2.0]))
    assert x.grad.tolist() == [0.0, 2.0]
    assert part.grad.tolist() == [0.0, 1.0]


def test_unravel_index_gives_coordinates():
    rows, columns = facula.unravel_index(facula.tensor([5, 7]), (3, 4))
    assert (rows.tolist(), columns.tolist()) == ([1, 1], [1, 3])
    with pytest.raises(TypeError, match=r"unravel_index: expected integer indices"):
        facula.unravel_index(facula.tensor([0.5]), (3, 4))


def test_a_mask_without_dimensions_chooses_all_or_nothing():
    x = facula.zeros(2)
    five = facula.tensor(5.0)
    assert x.index_put((facula.tensor(False),), five).tolist() == [0.0, 0.0]
    assert x.index_put_((facula.tensor(True),), five).tolist() == [5.0, 5.0]


def test_one_value_for_a_mask_is_cast():
    x = facula.tensor([1, 2])
    x[facula.tensor([True, False])] = facula.tensor([[7.5]])
    assert x.tolist() == [7, 2]


def test_an_int_beyond_64_bits_is_no_index():
    with pytest.raises(ValueError, match="64 bits"):
        facula.zeros(3)[2**70]


def test_an_index_out_of_range_names_its_own_dimension():
    x = facula.zeros(2, 3, 4)
    with pytest.raises(IndexError, match="from -3 to 2 for dimension 1, got 5"):
        x[0, 5]
    with pytest.raises(IndexError, match="for dimension 2, got"):
        x[0, None, ..., 9] = 1


def test_the_last_of_writes_that_meet_wins_whatever_the_values_broadcast():
    index = facula.arange(1, 61).view(20, 3)
    index[0, 2] = index[1, 0] = 0
    x = facula.zeros(61, dtype=facula.int64)
    x[index] = facula.arange(20).view(20, 1)
    assert x[0].item() == 1


def layouts(shape):
    """The same values in several orders of memory, with gaps and without."""
    values = facula.arange(int(np.prod(shape))).float().sub(100).clamp_min(0).view(shape)
    yield values
    yield values.transpose(0, -1).contiguous().transpose(0, -1)
    yield values.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    yield values.repeat_interleave(2, -1)[..., ::2]
    yield facula.cat([values, values], -1)[..., : shape[-1]]


@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 1, 130), (64, 65, 9), (200, 100, 3)])
def test_what_is_chosen_does_not_depend_on_the_order_of_memory(shape):
    for x in layouts(shape):
        a = x.numpy()
        mask = x % 3 == 0
        np.testing.assert_array_equal(x.nonzero().numpy(), np.argwhere(a))
        np.testing.assert_array_equal(x[mask].numpy(), a[mask.numpy()])
        np.testing.assert_array_equal(x[mask[..., 0]].numpy(), a[mask.numpy()[..., 0]])
        for dim, size in enumerate(shape):
            index = facula.arange(-1, 2 * size, 2) % size
            expected = np.take(a, index.numpy(), dim)
            np.testing.assert_array_equal(x.index_select(dim, index).numpy(), expected)
            key = (slice(None),) * dim + (index - size,)
            np.testing.assert_array_equal(x[key].numpy(), expected)


def test_nonzero_of_a_number_and_of_nothing():
    assert facula.tensor(3).nonzero().shape == (1, 0)
    assert facula.tensor(0).nonzero().shape == (0, 0)
    assert facula.zeros(0, 4).nonzero().shape == (0, 2)
    assert facula.tensor([-0.0, 2.0, float("nan")], dtype=facula.float16).nonzero().tolist() == [
        [1],
        [2],
    ]


@pytest.mark.parametrize("shape", [(64, 65, 9), (200, 100, 3)])
def test_writes_in_place_agree_with_those_to_a_copy(shape):
    index = facula.arange(shape[0]) % 7
    for x in layouts(shape):
        source = x.clone().add(1)
        for name in ("index_add", "index_copy"):
            expected = getattr(x, name)(0, index, source)
            written = x.clone()
            getattr(written, name + "_")(0, index, source)
            assert facula.equal(written, expected)
            written = x.clone()
            getattr(written, name + "_")(0, index, written)  # reads what it writes to
            assert facula.equal(written, getattr(x, name)(0, index, x))


def test_writes_in_place_are_recorded():
    source = facula.ones(2, requires_grad=True)
    x = facula.zeros(3)
    x.index_add_(0, facula.tensor([1, 1]), source)
    x.sum().backward()
    assert (x.tolist(), source.grad.tolist()) == ([0.0, 2.0, 0.0], [1.0, 1.0])


@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 40, 14), (4, 3, 9), (5, 300, 2)])
def test_joins_rolls_and_triangles_of_any_order_of_memory_agree_with_numpy(shape):
    for x in layouts(shape):
        a = x.numpy()
        for dim in range(3):
            joined = facula.cat([x, x[:, :0], x], dim) if dim == 1 else facula.cat([x, x], dim)
            np.testing.assert_array_equal(joined.numpy(), np.concatenate([a, a], dim))
            np.testing.assert_array_equal(x.roll(-1, dim).numpy(), np.roll(a, -1, dim))
        for pair in ([x, -x], [x, -x.contiguous()], [x[..., 0], x[..., -1]]):
            expected = np.stack([t.numpy() for t in pair], -1)
            np.testing.assert_array_equal(facula.stack(pair, -1).numpy(), expected)
        for shifts, dims in [((1, 2), (0, 2)), ((1, -2, 4), (1, 1, 2)), ((5, 0), (2, 0))]:
            np.testing.assert_array_equal(x.roll(shifts, dims).numpy(), np.roll(a, shifts, dims))
        for diagonal in (-300, -2, 0, 1, 6, 300):
            np.testing.assert_array_equal(x.tril(diagonal).numpy(), np.tril(a, diagonal))
            np.testing.assert_array_equal(x.triu(diagonal).numpy(), np.triu(a, diagonal))


def test_choices_do_not_depend_on_the_threads():
    x = facula.arange(210000).float().sin().view(300, 700)
    index = facula.arange(300) % 11
    check_threads(
        lambda: x.clamp_min(0).nonzero(),
        lambda: x.T[x.T > 0],
        lambda: x.T.index_select(1, index),
        lambda: facula.zeros(300, 700).index_add_(0, index, x),
        lambda: facula.zeros(70000, 3).index_add_(0, index.repeat(234)[:70000], x.view(-1, 3)),
        lambda: x.triu(-5),
        lambda: x.view(-1, 7).roll((1, 2), (0, 1)),
    )


@pytest.mark.parametrize("dtype", ["bool", "int32", "bfloat16", "float64", "complex64"])
def test_values_may_lie_across_what_they_are_written_to(dtype):
    kind = getattr(facula, dtype)
    x, y = ((facula.arange(5400) % n - 5).to(kind).view(2, 60, 45) for n in (11, 13))
    index = facula.arange(60).flip(0) % 50
    rows = [int(i) for i in index]
    for order in ((0, 2, 1), (2, 1, 0), (1, 0, 2)):
        across = y.permute(order).contiguous().permute([order.index(d) for d in range(3)])
        for find in (
            lambda values: x.index_copy(1, index, values),
            lambda values: x.index_add(1, index, values),
            lambda values: x.index_put((facula.tensor([1, 0]), index[:2]), values[:, 0]),
            lambda values: x.clone().index_put_((None, index), values, accumulate=True),
        ):
            assert facula.equal(find(across), find(y))
    copied = x.index_copy(1, index, across)
    assert all(facula.equal(copied[:, p], y[:, rows.index(p)]) for p in range(10, 50))
    one = y[:1, :1].expand(2, 60, 45)
    assert facula.equal(x.index_copy(1, index, one)[:, 0], one[:, 0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int64"])
def test_extrema_at_single_places_agree_with_those_of_rows(dtype):
    a = (facula.arange(3000) * 37 % 101 - 50).to(getattr(facula, dtype)).view(30, 100)
    index = facula.arange(3000).view(30, 100) * 7 % 100
    for reduce, join in (("amax", facula.maximum), ("amin", facula.minimum)):
        found = facula.zeros(30, 100, dtype=a.dtype).scatter_reduce_(1, index, a, reduce)
        expected = facula.zeros(30, 100, dtype=a.dtype)
        for column in range(100):
            at = index[:, column : column + 1]
            expected.scatter_(1, at, join(expected.gather(1, at), a[:, column : column + 1]))
        assert facula.equal(found, expected)
        if a.is_floating_point():
            one = facula.full((1,), facula.nan, dtype=a.dtype)
            zero = facula.zeros(2, dtype=a.dtype)
            at = facula.tensor([0])
            assert zero.scatter_reduce(0, at, one, reduce).isnan().tolist() == [True, False]
            assert one.scatter_reduce(0, at, zero, reduce).isnan().item()


def test_an_expanded_index_is_checked_before_anything_is_written():
    x = facula.zeros(4, 50)
    for bad in (4, -1):
        index = facula.tensor([[1], [bad]]).expand(2, 50)
        with pytest.raises(RuntimeError, match=f"index {bad}"):
            x.scatter_(0, index, facula.ones(2, 50))
        with pytest.raises(IndexError, match="index"):
            x.index_reduce_(0, facula.tensor([0, bad]), facula.ones(2, 50), "amax")
    assert x.count_nonzero() == 0
    source = facula.full((2, 50), 3.0, requires_grad=True)
    x.index_reduce_(0, facula.tensor([0, 2]), source, "prod", include_self=False)
    x.sum().backward()
    assert x.sum(1).tolist() == [150, 0, 150, 0] and (source.grad == 1).all()


def test_the_values_of_bools_and_where_they_are():
    for x in ([True], [False, False], [True, False, True], [[False], [True]]):
        given = facula.tensor(x)
        values, inverse, counts = facula.unique(given, return_inverse=True, return_counts=True)
        expected = np.unique(np.array(x).ravel(), return_inverse=True, return_counts=True)
        assert inverse.shape == given.shape and values.dtype == facula.bool
        assert [t.dtype for t in (inverse, counts)] == [facula.int64] * 2
        for found, wanted in zip((values, inverse.reshape(-1), counts), expected, strict=True):
            np.testing.assert_array_equal(found.numpy(), wanted.ravel())


def test_an_index_may_be_the_memory_that_is_written():
    x = facula.tensor([1, 2, 0])
    x[x] = facula.tensor([10, 20, 30])
    assert x.tolist() == [30, 10, 20]
    y = facula.tensor([1, 0, 2])
    y.index_put_((y,), facula.tensor([1, 1, 1]), accumulate=True)
    assert y.tolist() == [2, 1, 3]


def test_unique_slices_are_ordered_by_their_elements_in_the_order_of_dimensions():
    x = facula.tensor([[[1, 0], [0, 1]], [[0, 1], [0, 0]]])  # slices [1, 0, 0, 0] and [0, 1, 1, 0]
    assert x.unique(dim=2).tolist() == [[[0, 1], [1, 0]], [[1, 0], [0, 0]]]


def test_topk_of_a_number_is_the_number():
    values, indices = facula.tensor(3.0).topk(0)
    assert values.item() == 3 and indices.item() == 0


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_no_slices_are_unique_and_slices_of_nothing_are_refused(name):
    unique = getattr(facula, name)
    for shape, dim in [((0,), 0), ((0, 3), 0), ((3, 0), -1), ((2, 0, 3), 1)]:
        found = unique(facula.zeros(shape), return_inverse=True, return_counts=True, dim=dim)
        assert [tuple(x.shape) for x in found] == [shape, (0,), (0,)]
    for shape, dim in [((0, 3), 1), ((3, 0), 0), ((0, 0), 0)]:
        with pytest.raises(RuntimeError, match="no elements"):
            unique(facula.zeros(shape), dim=dim)


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_extreme_numbers_are_unique_each(name):
    unique = getattr(facula, name)
    inf, nan = float("inf"), float("nan")
    assert unique(facula.tensor([-inf, -0.0, 0.0, inf, inf])).tolist() == [-inf, 0.0, inf]
    assert len(unique(facula.tensor([nan, nan]))) == 2
    low, high = -(2**63), 2**63 - 1
    values, counts = unique(facula.tensor([low, low, 0, high]), return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([low, 0, high], [2, 1, 1])


def test_elements_of_as_strided_scatter_need_a_place_each():
    with pytest.raises(RuntimeError, match="more than one element of src"):
        facula.zeros(4).as_strided_scatter(facula.ones(3), (3,), (0,))


def test_the_gradient_of_an_empty_window_of_a_number_is_zero():
    x = facula.tensor(2.0, requires_grad=True)
    x.unfold(0, 0, 1).sum().backward()
    assert x.grad.item() == 0


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1])
def test_a_number_beyond_int64_is_not_written(number):
    x = facula.zeros(3)
    with pytest.raises(ValueError, match=r"range of int64 .*Overflow when unpacking long long"):
        x[0] = number
    assert x.tolist() == [0, 0, 0]


def test_masks_of_bytes_select_with_a_warning():
    x, mask = facula.tensor([1.0, 2.0, 3.0]), facula.tensor([1, 0, 1], dtype=facula.uint8)
    with pytest.warns(UserWarning, match=r"indexing with dtype torch.uint8 is now deprecated"):
        assert x[mask].tolist() == [1, 3]
    with pytest.warns(UserWarning, match=r"indexing with dtype torch.uint8 is now deprecated"):
        x[mask] = facula.tensor([5.0, 6.0])
    assert x.tolist() == [5, 2, 6]
    with pytest.warns(UserWarning, match="where received a uint8 condition"):
        assert facula.where(mask, x, -x).tolist() == [5, -2, 6]


def test_a_byte_without_dimensions_is_a_mask_too():
    x = facula.arange(6.0).reshape(2, 3)
    yes, no = (facula.tensor(number, dtype=facula.uint8) for number in (1, 0))
    assert x[yes].tolist() == [x.tolist()] and x[no].shape == (0, 2, 3)
    assert x[yes, 1].tolist() == [[3, 4, 5]] and x[1, no].shape == (0, 3)
    x[no] = 7
    assert x.sum() == 15
    x[yes] = 7
    assert x.sum() == 42

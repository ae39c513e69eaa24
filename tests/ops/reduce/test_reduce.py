"""Reductions against NumPy."""

import itertools

import numpy as np
import pytest

import facula
from check_op import COMPLEX, check_op, check_threads
from facula import _core

DIMS = [None, 0, 1, -1, (0, 2), (0, 1, 2)]

ROWS = {name: (result, dtypes) for name, result, dtypes in _core._reduce_rows()}
# Every row of tables/reduce.def has its reference here.
REFERENCES = {
    "sum": np.sum,
    "mean": np.mean,
    "nansum": np.nansum,
    "amax": np.max,
    "amin": np.min,
    "any": np.any,
    "all": np.all,
}


def all_dims(dim):
    return (0, 1, 2) if dim is None else dim


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", ROWS)
def test_value_and_gradients_agree_with_numpy(name, dim, keepdim, device):
    dim = all_dims(dim)
    result, dtypes = ROWS[name]
    check_op(
        lambda x: getattr(facula, name)(x, dim, keepdim=keepdim),
        lambda a: REFERENCES[name](a, axis=dim, keepdims=keepdim),
        [(2, 3, 4)],
        device,
        dtypes=[dtype for dtype in dtypes if device == "cpu" or dtype not in COMPLEX],
        # Equal elements share their gradient, which a difference cannot see: the expanded layout
        # has them.
        differentiable=result == "total",
    )


@pytest.mark.parametrize("name", ROWS)
def test_out_and_the_method_give_what_the_function_gives(name):
    x = facula.rand(3, 4)
    expected = getattr(facula, name)(x, 1)
    out = facula.empty(0, dtype=expected.dtype)
    assert getattr(facula, name)(x, 1, out=out) is out
    assert facula.equal(out, expected)
    assert facula.equal(getattr(x, name)(dim=1), expected)


def test_nan_is_left_out_of_nansum_and_its_gradient():
    x = facula.tensor([1.0, facula.nan, 2.0], requires_grad=True)
    x.nansum().backward()
    assert x.grad.tolist() == [1, 0, 1]


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
def test_logsumexp_agrees_with_numpy(dim, keepdim, device):
    dim = all_dims(dim)
    check_op(
        lambda x: facula.logsumexp(x, dim, keepdim=keepdim),
        lambda a: np.log(np.sum(np.exp(a), axis=dim, keepdims=keepdim)),
        [(2, 3, 4)],
        device,
    )


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", ["var", "std"])
def test_var_and_std_agree_with_numpy(name, dim, correction):
    dim = all_dims(dim)
    check_op(
        lambda x: getattr(facula, name)(x, dim, correction=correction),
        lambda a: getattr(np, name)(a, axis=dim, ddof=correction),
        [(2, 3, 4)],
        dtypes=["float32", "float64"],
        differentiable=name == "var",
    )


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "prod"])
def test_scans_and_products_agree_with_numpy(name, dim):
    check_op(
        lambda x: getattr(facula, name)(x, dim),
        lambda a: getattr(np, name)(a, axis=dim),
        [(2, 3, 4)],
        dtypes=["float32", "float64"],
    )


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["max", "min"])
def test_max_and_min_give_values_and_the_first_index(name, dim):
    a = np.random.default_rng(0).integers(0, 3, (4, 5, 6)).astype(np.float32)
    values, indices = getattr(facula.from_numpy(a), name)(dim)
    np.testing.assert_array_equal(values.numpy(), getattr(np, name)(a, axis=dim))
    np.testing.assert_array_equal(
        np.take_along_axis(a, np.expand_dims(indices.numpy(), dim), dim).squeeze(dim),
        values.numpy(),
    )


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_argmax_and_argmin_agree_with_numpy(name, dim):
    a = np.random.default_rng(0).permutation(24).reshape(2, 3, 4).astype(np.float32)
    result = getattr(facula.from_numpy(a), name)(dim)
    np.testing.assert_array_equal(result.numpy(), getattr(np, name)(a, axis=dim))


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("name", ["any", "all"])
def test_any_and_all_agree_with_numpy(name, dim):
    a = np.random.default_rng(0).integers(0, 2, (3, 4)).astype(bool)
    x = facula.from_numpy(a)
    result = getattr(x, name)() if dim is None else getattr(x, name)(dim)
    np.testing.assert_array_equal(result.numpy(), getattr(np, name)(a, axis=dim))


def test_of_many_columns_each_gives_its_first_extremum():
    a = np.random.default_rng(0).integers(0, 9, (150, 70)).astype(np.float32)
    a[20:, 3] = a[90:, 66] = np.nan
    for name in ("max", "min"):
        values, indices = getattr(facula.from_numpy(a), name)(0)
        np.testing.assert_array_equal(values.numpy(), getattr(np, name)(a, axis=0))
        np.testing.assert_array_equal(indices.numpy(), getattr(np, "arg" + name)(a, axis=0))


def test_nan_wins_max_and_min():
    x = facula.tensor([1.0, float("nan"), 3.0])
    assert x.max().isnan()
    assert x.min().isnan()
    assert x.max(0).indices.item() == 1


def test_reductions_of_nothing():
    x = facula.ones(0, 3)
    assert x.sum().item() == 0
    assert x.sum(0).tolist() == [0, 0, 0]
    assert x.prod().item() == 1
    assert x.mean().isnan()
    assert x.all().item() and not x.any().item()
    with pytest.raises((RuntimeError, IndexError)):
        x.max()
    with pytest.raises((RuntimeError, IndexError)):
        x.argmax()


def test_integer_sums_are_int64_and_do_not_overflow():
    x = facula.full((1000,), 127, dtype=facula.int8)
    assert x.sum().dtype == facula.int64
    assert x.sum().item() == 127_000


def test_a_dim_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError, match=r"sum: .*2"):
        facula.ones(2, 3).sum(2)


def test_a_dim_given_twice_is_refused():
    with pytest.raises(RuntimeError, match=r"sum: expected each dimension once, got"):
        facula.ones(2, 3).sum((0, -2))


def test_mean_refuses_integers():
    with pytest.raises(
        RuntimeError, match=r"mean: expected a floating-point .* got int64 \(2, 3\)"
    ):
        facula.ones(2, 3, dtype=facula.int64).mean()


def test_the_gradient_of_equal_maxima_is_shared():
    x = facula.tensor([1.0, 3.0, 3.0], requires_grad=True)
    x.amax().backward()
    assert x.grad.tolist() == [0, 0.5, 0.5]
    y = facula.tensor([1.0, 3.0, 3.0], requires_grad=True)
    y.max(0).values.backward()
    assert y.grad.tolist() == [0, 1, 0]


def test_results_with_two_parts_have_names():
    result = facula.max(facula.tensor([[1.0, 5.0], [4.0, 2.0]]), 1)
    assert isinstance(result, facula.return_types.max)
    assert result.values.tolist() == [5, 4]
    assert result.indices.tolist() == [1, 0]
    values, _ = result
    assert values is result[0]
    assert repr(result).startswith("facula.return_types.max(\nvalues=tensor([5., 4.]),\nindices=")


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, float("inf"), float("-inf")])
@pytest.mark.parametrize("dim", [None, 0, (0, 1)])
def test_norms_of_every_order_agree_with_numpy(p, dim):
    def reference(a):
        axis = (0, 1) if dim is None or dim == (0, 1) else (0,)
        a = np.moveaxis(np.abs(a), axis, range(len(axis))).reshape(-1, *a.shape[len(axis) :])
        return np.linalg.norm(a, p, axis=0)

    check_op(
        lambda x: facula.norm(x, p, dim),
        reference,
        [(3, 4)],
        dtypes=["float32", "float64"],
        low=0.5,
        differentiable=p not in (0, float("inf"), float("-inf")),
    )


def test_the_gradient_of_a_norm_at_zero_is_zero():
    x = facula.zeros(3, requires_grad=True)
    for p in (1, 1.5, 2, 3):
        (grad,) = facula.autograd.grad(x.norm(p), x)
        assert grad.tolist() == [0, 0, 0]


def test_the_nuclear_norm_is_the_sum_of_the_singular_values():
    x = facula.tensor([[3.0, 0.0], [0.0, -4.0]])
    assert x.norm("nuc").item() == pytest.approx(7)
    with pytest.raises(RuntimeError, match="norm: the nuclear norm is of matrices"):
        facula.ones(2).norm("nuc")


def test_too_few_elements_for_a_variance_give_a_warning_and_nan():
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert facula.ones(1).var().isnan()


def test_variance_does_not_cancel():
    x = facula.tensor([1e6, 1e6 + 1, 1e6 + 2])
    assert x.var().item() == 1
    spread, mean = facula.std_mean(x)
    assert (spread.item(), mean.item()) == (1, 1e6 + 1)


def test_half_precision_sums_do_not_saturate():
    x = facula.ones(5000, dtype=facula.float16)
    assert x.sum().item() == 5000
    assert facula.full((4096,), 60000.0, dtype=facula.float16).mean().item() == 60000


def test_sums_of_many_floats_are_accurate():
    x = facula.full((1 << 20,), 0.1)
    assert x.sum().item() == pytest.approx(float(np.float32(0.1)) * (1 << 20), rel=1e-6)
    assert x.reshape(1 << 14, 64).sum(0)[0].item() == pytest.approx(
        float(np.float32(0.1)) * (1 << 14), rel=1e-6
    )


@pytest.mark.parametrize("shape", [(70000, 3), (3, 70000), (300, 1000), (20, 30, 200)])
@pytest.mark.parametrize("dim", [0, -1, None])
def test_large_reductions_agree_with_numpy(shape, dim):
    a = np.random.default_rng(0).uniform(-1, 1, shape)
    for b in (a, np.moveaxis(a, 0, -1), a[..., ::2]):
        x = facula.tensor(np.ascontiguousarray(a))
        x = x.movedim(0, -1) if b.shape != a.shape and b.size == a.size else x
        x = x[..., ::2] if b.size != a.size else x
        total = x.sum() if dim is None else x.sum(dim)
        np.testing.assert_allclose(total.numpy(), b.sum(axis=dim), rtol=1e-9, atol=1e-9)
        best = x.argmax() if dim is None else x.argmax(dim)
        np.testing.assert_array_equal(best.numpy(), b.argmax(axis=dim))


@pytest.mark.parametrize("name", ["sum", "amax", "amin", "any", "argmax"])
@pytest.mark.parametrize("n", [1, 3, 14])
def test_short_runs_and_narrow_columns_agree_with_numpy(name, n):
    a = np.random.default_rng(0).integers(-9, 9, (50, 97, n + 3)).astype(np.float32)
    ours, theirs = getattr(facula, name), getattr(np, name)
    x, a = facula.tensor(a)[..., 1:-2], a[..., 1:-2]
    assert ours(x).tolist() == theirs(a).tolist()
    for dim in (0, 1, 2):
        assert ours(x, dim).tolist() == theirs(a, axis=dim).tolist()
        turned = theirs(a.transpose(2, 1, 0), axis=dim)
        assert ours(x.transpose(0, 2), dim).tolist() == turned.tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("shape", [(1,), (130,), (5, 3), (3, 700), (700, 3), (7, 90, 70)])
def test_extrema_of_integers_agree_with_numpy(dtype, shape, device):
    info = np.iinfo(dtype)
    for low, high in ((info.min, info.max), (info.min, info.min + 2), (info.max - 2, info.max)):
        a = np.random.default_rng(0).integers(low, high, shape, dtype=dtype, endpoint=True)
        x = facula.from_numpy(a).to(device)
        for y, b in ((x, a), (x.movedim(0, -1), np.moveaxis(a, 0, -1)), (x[::2], a[::2])):
            assert y.max().item() == b.max()
            assert y.min().item() == b.min()
            for dim in range(b.ndim):
                result = y.amax(dim)
                assert result.dtype == x.dtype
                assert np.array_equal(result.cpu().numpy(), b.max(dim))
                assert np.array_equal(y.amin(dim).cpu().numpy(), b.min(dim))


def test_any_and_all_of_uint8_are_uint8():
    x = facula.tensor([0, 2], dtype=facula.uint8)
    assert x.any().dtype == facula.uint8
    assert x.all().item() == 0


THREADED = [*ROWS, "prod", "var", "std", "logsumexp", "argmax", "argmin", "norm", "softmax"]


@pytest.mark.promise("T10")
@pytest.mark.parametrize("name", THREADED)
def test_same_bits_for_1_2_and_8_threads(name):
    x = facula.rand(257, 4099)
    op = getattr(facula, name)
    check_threads(
        lambda: op(x, dim=0),
        lambda: op(x, dim=1),
        lambda: op(x.t(), dim=0),
        lambda: op(x.flatten(), dim=0),
    )


@pytest.mark.promise("T10")
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "max", "min", "median"])
def test_full_reductions_have_the_same_bits_for_1_2_and_8_threads(name):
    x = facula.rand(100_003)
    check_threads(getattr(x, name), getattr(x.half(), name), getattr(x.double(), name))


def test_the_largest_complex_number_of_a_norm_is_found_again_for_its_gradient():
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(2, 300))
    x = facula.tensor(parts[0] + 1j * parts[1], requires_grad=True)
    x.norm(float("inf")).backward()
    assert x.grad.abs().count_nonzero() == 1
    assert facula.allclose(x.grad.abs().sum(), facula.ones((), dtype=facula.float64))


@pytest.mark.parametrize("dim", [0, 1])
def test_any_and_all_of_many_complex_elements_of_any_layout(dim):
    x = facula.zeros(64, 1200, dtype=facula.complex128)
    x[5, 7] = 1j
    for view in (x, x[:, ::2], x.t(), x.t()[::3]):
        expected = view.real.ne(0) | view.imag.ne(0)
        assert view.any(dim).tolist() == expected.any(dim).tolist()
        assert view.all(dim).tolist() == expected.all(dim).tolist()


@pytest.mark.parametrize(
    "size, dims", [((2, 3, 4), ()), ((1, 4), (0, 1)), ((3, 1), (0, 2)), ((4,), (0, 1)), ((), None)]
)
def test_sum_to_size_undoes_a_broadcast(size, dims):
    check_op(
        lambda x: x.sum_to_size(size),
        lambda a: (a.sum(dims) if dims != () else a).reshape(size),
        [(2, 3, 4)],
        dtypes=["float32", "float64", "int64"][: 2 + (size == (4,))],
    )
    assert facula.ones(2, 3).sum_to_size(1, 3).tolist() == [[2, 2, 2]]
    with pytest.raises(RuntimeError, match=r"sum_to_size: a tensor of shape \(2, 3\) cannot be"):
        facula.ones(2, 3).sum_to_size(2)


# Whole numbers, whose sums are exact in any order: read as they lie or converted first.
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sum", "mean", "nansum", "amax", "amin", "norm"])
@pytest.mark.parametrize("shape", [(5,), (70, 3), (300, 17), (9, 600), (3, 129, 40), (4, 0)])
def test_16_bit_floats_are_reduced_as_float32_is(shape, name, dtype):
    n = facula.Size(shape).numel()
    wide = (facula.arange(n) * 7 % 13 - 6).reshape(shape).float()
    x = wide.to(getattr(facula, dtype))
    if name == "nansum" and n:
        x.view(-1)[::5] = wide.view(-1)[::5] = facula.nan
    views = [lambda x: x, lambda x: x.mT if x.dim() > 1 else x.flip(0), lambda x: x[..., ::2]]
    views.append(lambda x: x[:1].expand(x.shape))
    for view, dim in itertools.product(views, (None, *range(len(shape)))):
        if name in ("amax", "amin") and 0 in shape:
            continue
        options = {} if dim is None else {"dim": dim}
        got = getattr(facula, name)(view(x), **options)
        expected = getattr(facula, name)(view(wide), **options).to(x.dtype)
        assert got.dtype == x.dtype
        assert facula.allclose(got, expected, rtol=0, atol=0, equal_nan=True), (dim, got, expected)

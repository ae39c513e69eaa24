"""Arithmetic, comparison and their broadcasting against NumPy."""

import math
import threading

import numpy as np
import pytest

import facula
from check_op import ALL, COMPLEX, FLOATING, INTEGRAL, check_op, check_threads

INF, NAN = float("inf"), float("nan")
SHAPES = [
    [(3, 4), (3, 4)],
    [(3, 4), (4,)],
    [(3, 1), (1, 4)],
    [(2, 3, 4), ()],
    [(0, 4), (4,)],
]
SMOOTH = [
    ("add", np.add, -2, 2),
    ("sub", np.subtract, -2, 2),
    ("mul", np.multiply, -2, 2),
    ("div", np.divide, 0.5, 2),
    ("pow", np.power, 0.5, 2),
    ("atan2", np.arctan2, 0.5, 2),
    ("hypot", np.hypot, 0.5, 2),
]
COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name, reference, low, high", SMOOTH, ids=[row[0] for row in SMOOTH])
def test_value_and_gradients_agree_with_numpy(name, reference, low, high, shapes, device):
    check_op(getattr(facula, name), reference, shapes, device, low=low, high=high)


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_integers_and_complex_agree_with_numpy(name):
    reference = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name]
    dtypes = [d for d in INTEGRAL if d != "uint8"]
    for group in (dtypes, COMPLEX):
        check_op(
            getattr(facula, name),
            reference,
            [(3, 4), (4,)],
            dtypes=group,
            low=-5,
            high=5,
            differentiable=False,
        )


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_agree_with_numpy(name, device):
    check_op(
        getattr(facula, name),
        COMPARISONS[name],
        [(3, 4), (4,)],
        device,
        dtypes=(*FLOATING, *INTEGRAL),
        elementwise=True,
        differentiable=False,
    )


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_agree_with_numpy(name, device):
    check_op(getattr(facula, name), getattr(np, name), [(3, 4), (4,)], device, elementwise=True)


@pytest.mark.parametrize("dtype", [d for d in ALL if d not in (*COMPLEX, "bool")])
@pytest.mark.parametrize("b", [3, -3])
def test_floor_division_and_remainder_follow_python(dtype, b):
    values = [-7, -6, -1, 0, 1, 6, 7]
    if dtype == "uint8":
        values, b = [abs(v) for v in values], abs(b)
    x = facula.tensor(values).to(getattr(facula, dtype))
    y = facula.full((7,), b, dtype=x.dtype)
    assert (x // y).tolist() == [v // b for v in values]
    assert (x % y).tolist() == [v % b for v in values]


# PyTorch's page defines remainder as Python's operation and as what has the divisor's sign; its
# kernels leave a zero with the sign of the dividend.
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 37])
def test_a_remainder_of_zero_has_the_sign_of_the_divisor(dtype, n):
    for a in (0.0, -0.0, 4.0, -4.0):
        x = facula.full((n,), a, dtype=getattr(facula, dtype))
        for b in (2.0, -2.0, float("inf"), -float("inf")):
            expected = math.copysign(1, a % b)
            for rest in (x % b, x % facula.full_like(x, b), a % facula.full_like(x, b)):
                assert rest.tolist() == [a % b] * n
                assert all(math.copysign(1, r) == expected for r in rest.tolist())
            x_in_place = x.clone()
            x_in_place %= b
            assert math.copysign(1, x_in_place[0].item()) == expected


@pytest.mark.parametrize("dtype", INTEGRAL)
def test_integer_division_by_zero_raises(dtype):
    x = facula.ones(3, dtype=getattr(facula, dtype))
    with pytest.raises(RuntimeError):
        x // facula.zeros_like(x)


@pytest.mark.parametrize("op", ["add", "sub"])
def test_alpha_scales_the_second_operand(op):
    x, y = facula.tensor([1.0, 2.0]), facula.tensor([10.0, 20.0])
    sign = 1 if op == "add" else -1
    assert getattr(x, op)(y, alpha=3).tolist() == [1 + 30 * sign, 2 + 60 * sign]


def test_reflected_operators_take_python_numbers():
    x = facula.tensor([1.0, 2.0, 4.0])
    assert (1 + x).tolist() == [2, 3, 5]
    assert (1 - x).tolist() == [0, -1, -3]
    assert (2 * x).tolist() == [2, 4, 8]
    assert (4 / x).tolist() == [4, 2, 1]
    assert (2**x).tolist() == [2, 4, 16]


@pytest.mark.promise("T5")
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow"])
def test_in_place_form_keeps_the_object_and_its_memory(name):
    x, y = facula.tensor([1.0, 2.0, 3.0]), facula.tensor([2.0, 2.0, 2.0])
    expected = getattr(x, name)(y)
    pointer = x.data_ptr()
    assert getattr(x, name + "_")(y) is x
    assert x.data_ptr() == pointer
    assert facula.equal(x, expected)


@pytest.mark.promise("T5")
def test_in_place_result_that_does_not_fit_is_refused_and_nothing_is_written():
    x = facula.ones(3)
    with pytest.raises(RuntimeError):
        x.add_(facula.ones(2, 3))
    with pytest.raises(RuntimeError):
        facula.ones(3, dtype=facula.int64).add_(facula.ones(3))
    assert x.tolist() == [1, 1, 1]


def test_shapes_that_do_not_broadcast_are_named_in_the_error():
    with pytest.raises(RuntimeError, match=r"add: .*\(2, 3\).*\(4,?\)"):
        facula.ones(2, 3) + facula.ones(4)


@pytest.mark.promise("T7")
@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("uint8", "int8", "int16"),
        ("int32", "int64", "int64"),
        ("int64", "float16", "float16"),
        ("float16", "bfloat16", "float32"),
        ("float32", "float64", "float64"),
        ("bool", "uint8", "uint8"),
        ("float64", "complex64", "complex128"),
        ("float16", "complex64", "complex64"),
    ],
)
def test_dtypes_promote_as_documented(a, b, expected):
    x, y = (facula.ones(2, dtype=getattr(facula, name)) for name in (a, b))
    assert (x + y).dtype == (y + x).dtype == getattr(facula, expected)


@pytest.mark.promise("T7")
def test_scalars_and_0_d_tensors_promote_by_kind_only():
    x = facula.ones(2, dtype=facula.float32)
    assert (x + 1.5).dtype == facula.float32
    assert (x + facula.ones((), dtype=facula.float64)).dtype == facula.float32
    assert (facula.ones(2, dtype=facula.int8) + 1).dtype == facula.int8
    assert (facula.ones(2, dtype=facula.int8) + 1.0).dtype == facula.float32
    assert (facula.ones(2, dtype=facula.bool) + 1).dtype == facula.int64
    assert (x + 1j).dtype == facula.complex64


def test_numbers_are_not_rounded_to_sixteen_bits_before_the_operation():
    x = facula.tensor([1000.0, 3.0], dtype=facula.float16)
    exact = facula.tensor([1000.0, 3.0]) * 0.1
    assert facula.equal(x * 0.1, exact.half())


def test_integers_wrap_around():
    x = facula.tensor([127, -128], dtype=facula.int8)
    assert (x + 1).tolist() == [-128, -127]
    assert (facula.tensor([-(2**63)]) // -1).tolist() == [-(2**63)]


def test_integer_powers():
    x = facula.tensor([2, -1, 1, 0, 3])
    assert (x ** facula.tensor([-1, -1, -2, -1, 3])).tolist() == [0, -1, 1, 0, 27]
    with pytest.raises(RuntimeError, match="pow: expected exponents of at least 0"):
        x**-1


@pytest.mark.parametrize("n", [0, 1, 5, 63, 64, 65, 200])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_powers_of_integer_tensors_wrap_around_as_in_numpy(dtype, n):
    rng = np.random.default_rng(0)
    low = 0 if dtype == "uint8" else -100
    a, b = rng.integers(low, 100, n).astype(dtype), rng.integers(0, 70, n).astype(dtype)
    for base, exponent in ((a, b), (np.repeat(a, 2)[::2], np.repeat(b, 2)[::2]), (a, b[:1])):
        x, y = facula.tensor(base), facula.tensor(exponent)
        np.testing.assert_array_equal((x**y).numpy(), base**exponent)
    np.testing.assert_array_equal(
        facula.pow(facula.tensor(a), facula.tensor(a)[:0].sum() + 0).numpy(), np.ones(n)
    )
    if low < 0 and n:
        x, y = facula.tensor([1, -1, -1, 2, 0, 3] * n), facula.tensor([-3, -3, -2, -1, -1, 2] * n)
        assert (x.to(getattr(facula, dtype)) ** y.to(getattr(facula, dtype))).tolist() == [
            1, -1, 1, 0, 0, 9
        ] * n  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_powers_of_special_numbers_are_those_of_c(dtype):
    numbers = [*EDGES, 2.0, -2.0, 3.0, -3.0, 1.5, -0.5, 1e4 + 1]
    with np.errstate(all="ignore"):
        a, b = (part.ravel().astype(dtype) for part in np.meshgrid(numbers, numbers))
        expected = np.power(a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    for x, y in (
        (facula.tensor(a), facula.tensor(b)),
        (facula.tensor(np.repeat(a, 2))[::2], facula.tensor(np.repeat(b, 2))[::2]),
    ):
        got = (x**y).numpy()
        np.testing.assert_allclose(got, expected, rtol=np.finfo(dtype).eps)
        numeric = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got)[numeric], np.signbit(expected)[numeric])
    one = [(facula.tensor([p]) ** facula.tensor([q])).item() for p, q in zip(a, b, strict=True)]
    np.testing.assert_array_equal((facula.tensor(a) ** facula.tensor(b)).double().numpy(), one)


def test_powers_of_half_precision_do_not_overflow_on_the_way():
    x = facula.tensor([300.0, 0.5], dtype=facula.float16)
    for exponent in (-2, -2.0, -3, -0.5):
        exact = np.array([300.0, 0.5]) ** exponent
        np.testing.assert_allclose((x**exponent).numpy(), exact, rtol=2e-3, atol=6e-8)


def test_shifts_beyond_the_width_leave_the_sign():
    x = facula.tensor([5, -5, 5])
    assert (x << facula.tensor([1, 64, -1])).tolist() == [10, 0, 0]
    assert (x >> facula.tensor([1, 64, -1])).tolist() == [2, -1, 0]


def test_subtracting_bool_is_refused():
    with pytest.raises(RuntimeError, match="sub: bool tensors have no difference"):
        facula.tensor([True]) - facula.tensor([True])


def test_bitwise_operations_refuse_floating_tensors():
    with pytest.raises(NotImplementedError, match="bitwise_and: not implemented for float32"):
        facula.ones(2) & facula.ones(2)


def test_division_rounds_as_asked():
    x = facula.tensor([7.0, -7.0])
    assert x.div(2, rounding_mode="floor").tolist() == [3, -4]
    assert x.div(2, rounding_mode="trunc").tolist() == [3, -3]
    with pytest.raises(
        RuntimeError, match="div: expected None, 'trunc' or 'floor' as rounding_mode"
    ):
        x.div(2, rounding_mode="up")


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_division_of_extremes_follows_pytorch(dtype):
    inf, nan = float("inf"), float("nan")
    a = [1 + 1j, 1 + 0j, complex(1, inf), 1 + 1j, complex(inf, 0), complex(2.0**100, 2.0**100), 1j]
    b = [0j, 0j, 0j, complex(inf, 0), 1 + 0j, complex(2.0**100, 2.0**100), complex(nan, 0)]
    expected = [(inf, inf), (inf, nan), (inf, inf), (0, 0), (inf, nan), (1, 0), (nan, nan)]
    dtype = getattr(facula, dtype)
    y = facula.tensor(a, dtype=dtype) / facula.tensor(b, dtype=dtype)
    assert np.array_equal(facula.view_as_real(y).numpy(), expected, equal_nan=True)


def test_complex_numbers_from_their_parts():
    z = facula.complex(facula.tensor([1.0]), facula.tensor([2.0]))
    assert z.tolist() == [1 + 2j]
    assert facula.polar(facula.tensor([2.0]), facula.tensor([0.0])).tolist() == [2 + 0j]


@pytest.mark.parametrize("shape", [(1024, 300), (1024, 2, 70), (70, 20000), (3, 1030, 1024)])
def test_large_transposed_operands(shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    crossed = x.swapaxes(-1, -2)
    y = facula.from_numpy(x).transpose(-1, -2)
    np.testing.assert_array_equal(y.contiguous().numpy(), np.ascontiguousarray(crossed))
    dense = np.ones(crossed.shape, np.float32)
    np.testing.assert_array_equal((facula.from_numpy(dense) + y).numpy(), dense + crossed)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fmod_is_exact_for_quotients_of_any_size(dtype):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=5000) * 10.0 ** rng.integers(-25, 25, 5000)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, np.finfo(dtype).max, np.finfo(dtype).tiny]
    a = np.concatenate([numbers, np.repeat(edges, len(edges))]).astype(dtype)
    b = np.concatenate([rng.permutation(numbers), np.tile(edges, len(edges))]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = np.fmod(a, b)
    result = facula.fmod(facula.from_numpy(a), facula.from_numpy(b)).numpy()
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


@pytest.mark.parametrize("n_short", [1, 2, 3, 5, 11, 12])
def test_short_rows_give_the_same_bits_as_long_ones(n_short):
    points, scale = facula.randn(70, 9, n_short), facula.randn(n_short)
    shift = facula.randn(9, 1)
    expected = points.numpy() * scale.numpy() + shift.numpy()
    np.testing.assert_array_equal((points * scale + shift).numpy(), expected)
    turned = points.permute(1, 2, 0)
    np.testing.assert_array_equal(
        (turned * 2 - turned[:1]).numpy(), turned.numpy() * 2 - turned[:1].numpy()
    )
    check_threads(lambda: (facula.ones(40000, n_short) * scale).exp())


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16])
def test_nextafter_of_16_bits_with_a_number(dtype):
    half, many = facula.tensor(0.5, dtype=dtype), facula.full((5,), 0.5, dtype=dtype)
    two = facula.tensor(2.0, dtype=dtype)
    expected = facula.nextafter(many, facula.full((5,), 2.0, dtype=dtype)).tolist()
    assert facula.nextafter(many, two).tolist() == expected
    assert facula.nextafter(half, two.expand(5)).tolist() == expected
    assert expected[0] > 0.5


def test_views_with_gaps_are_computed_in_threads_with_a_small_stack():
    before = threading.stack_size(128 << 10)
    try:
        sums = []
        x = facula.ones(200, 60, dtype=facula.complex128)[:, ::2]
        thread = threading.Thread(target=lambda: sums.append((x * x.clone()).sum(1).sum().item()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert sums == [6000]


def test_a_copy_between_dtypes_of_one_memory_is_refused():
    x = facula.zeros(1000)
    with pytest.raises(RuntimeError, match="share some of their elements"):
        x.copy_(x.view(facula.uint8)[:1000])


def test_a_copy_over_its_own_transposed_view_reads_first():
    big = facula.arange(20.0).reshape(4, 5)
    x = big[:, :4]
    expected = x.t().tolist()
    x.copy_(x.t())
    assert x.tolist() == expected


# Results from 32 MB on are written past the caches.
@pytest.mark.parametrize(
    "dtype, n", [("float32", 2**23 + 5), ("int8", 2**25), ("bool", 2**25 + 77)]
)
def test_results_larger_than_caches_are_those_of_their_parts(dtype, n):
    a = facula.arange(n, dtype=facula.int32).remainder(113).to(getattr(facula, dtype))
    b = facula.arange(n, dtype=facula.int32).remainder(127).to(getattr(facula, dtype))
    for op in (lambda x, y: x + y, lambda x, y: x < y, lambda x, y: x.clone()):
        whole, cut = op(a, b), n // 2 - 3
        assert facula.equal(whole[:cut], op(a[:cut], b[:cut]))
        assert facula.equal(whole[cut:], op(a[cut:], b[cut:]))


def test_results_larger_than_caches_leave_the_memory_around_them_alone():
    n = 2**23
    x = facula.arange(n, dtype=facula.float32)
    for first in (0, 1, 16):
        room = facula.full((n + 32,), -1.0)
        facula.neg(x, out=room[first : first + n])
        assert facula.equal(room[first : first + n], -x)
        assert (room[:first] == -1).all() and (room[first + n :] == -1).all()
    expected = x[-100:] * 2
    x.add_(x)
    assert facula.equal(x[-100:], expected)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_rsub_is_the_difference_the_other_way_round(shapes):
    check_op(lambda x, y: facula.rsub(x, y, alpha=3), lambda a, b: b - 3 * a, shapes)
    assert facula.rsub(facula.tensor([1, 2]), 10).tolist() == [9, 8]


def test_positive_is_the_tensor_itself():
    for dtype in (d for d in ALL if d != "bool"):
        x = facula.ones(2, 3, dtype=getattr(facula, dtype))
        assert facula.equal(facula.positive(x.t()), x.t())
        assert x.positive().data_ptr() == x.data_ptr()
    x = facula.ones(2, requires_grad=True)
    (+x).sum().backward()
    assert x.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="positive"):
        facula.positive(facula.tensor([True]))


def test_true_division_of_integers_is_floating():
    x = facula.tensor([1, 2])
    for divide in (facula.true_divide, facula.divide, facula.Tensor.true_divide):
        assert divide(x, 2).tolist() == [0.5, 1]
        assert divide(x, facula.tensor([4, 4])).dtype == facula.float32
    assert facula.divide(x, -4, rounding_mode="floor").tolist() == [-1, -1]
    with pytest.raises(RuntimeError, match=r"div_: the result is .*float32 and cannot be"):
        x.true_divide_(2)


@pytest.mark.promise("T5")
@pytest.mark.parametrize("name", ["divide", "multiply", "subtract", "true_divide"])
def test_written_out_names_in_place_are_recorded(name):
    x = facula.tensor([[1.0, 2.0]], requires_grad=True)
    y = facula.tensor([[4.0, 0.5]], requires_grad=True)
    z = x * 1
    assert getattr(z, name + "_")(y) is z
    expected = getattr(facula, name)(x, y)
    assert facula.equal(z, expected)
    for a, b in zip(*(facula.autograd.grad(t.sum(), (x, y)) for t in (z, expected)), strict=True):
        assert facula.equal(a, b)


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_number_beside_a_half_is_not_rounded_first(shape):
    x = facula.full(shape, 2.0**-13, dtype=facula.float16)
    assert (x * 2.0**20).flatten().tolist() == [128.0]
    assert (x / 2.0**-26).flatten().tolist() == [8192.0]
    assert (2.0**-26 / x).flatten().tolist() == [2.0**-13]


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16])
@pytest.mark.parametrize("n", [1, 33, 1500])
def test_signs_of_16_bits(dtype, n):
    facula.manual_seed(0)
    x = facula.randn(2, n).to(dtype)
    x[0, 0] = -0.0
    x[1, 0] = -facula.inf
    for view in (x, x.t(), x[:, ::2], x[1:].expand(3, n)):
        assert facula.equal(-view, (-view.float()).to(dtype))
        assert facula.equal(view.abs(), view.float().abs().to(dtype))
    assert not facula.signbit(x.abs()).any()
    assert facula.equal(facula.signbit(-x), ~facula.signbit(x))
    nan = facula.full((n,), facula.nan, dtype=dtype)
    assert (-nan).isnan().all() and nan.abs().isnan().all()


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16])
@pytest.mark.parametrize("op", [facula.add, facula.sub, facula.mul, facula.div])
def test_16_bits_beside_a_number_or_one_element(dtype, op):
    facula.manual_seed(0)
    x, one = facula.rand(2, 700).add(1).to(dtype), facula.tensor(0.3).to(dtype)
    for view in (x, x.t(), x[:, ::3], x[0]):
        wide = view.float()
        assert facula.equal(op(view, 0.3), op(wide, 0.3).to(dtype))
        assert facula.equal(op(view, one), op(wide, one.float()).to(dtype))
        column = x[0, 0].expand_as(view)
        assert facula.equal(op(view, column), op(wide, column.float()).to(dtype))
        assert facula.equal(op(column, view), op(column.float(), wide).to(dtype))
    assert facula.equal(2 - x, (2 - x.float()).to(dtype))
    assert facula.equal(2 / x, (2 / x.float()).to(dtype))


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, -1e-45, 3e38, -3e38, 5e4, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nextafter_agrees_with_numpy(dtype):
    with np.errstate(over="ignore"):
        a, b = (part.ravel().astype(dtype) for part in np.meshgrid(EDGES, EDGES))
    got = facula.nextafter(facula.from_numpy(a), facula.from_numpy(b)).numpy()
    expected = np.nextafter(a, b)
    np.testing.assert_array_equal(got, expected)
    # Of two zeros NumPy gives the first where they have 16 bits, and else the second, as PyTorch.
    numbers = ~np.isnan(expected) & ((a != b) | (dtype != "float16"))
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers])


def test_nextafter_of_bfloat16_goes_to_the_next_bits():
    bits = np.arange(0x7F00, dtype=np.int16)
    x = facula.from_numpy(bits).view(facula.bfloat16)
    up = facula.nextafter(x, facula.tensor(INF, dtype=facula.bfloat16))
    np.testing.assert_array_equal(up.view(facula.int16).numpy(), bits + 1)
    down = facula.nextafter(-x[1:], facula.zeros_like(x[1:]))
    np.testing.assert_array_equal((-down).view(facula.int16).numpy(), bits[1:] - 1)
    assert facula.nextafter(x, x * NAN).isnan().all()


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 31, 33, 600])
@pytest.mark.parametrize("dtype", FLOATING)
def test_every_second_number_is_gathered_as_any_other_layout(dtype, n):
    whole = facula.arange(2 * n, dtype=getattr(facula, dtype)) % 31
    x, y = whole[::2], whole[1::2]
    dense = x.clone(), y.clone()
    assert facula.equal(x + y, dense[0] + dense[1])
    assert facula.equal(facula.addcmul(x, y, x), facula.addcmul(*dense, dense[0]))
    assert facula.equal(x.sqrt(), dense[0].sqrt())


@pytest.mark.parametrize("name", ["fmax", "fmin", "logical_and", "logical_or", "logical_xor"])
@pytest.mark.parametrize("n", [0, 3, 130])
def test_bools_are_combined_as_numpy_does(name, n):
    rng = np.random.default_rng(0)
    a, b = rng.random(n) < 0.5, rng.random(n) < 0.5
    got = getattr(facula, name)(facula.from_numpy(a), facula.from_numpy(b))
    assert got.dtype == facula.bool
    np.testing.assert_array_equal(got.numpy(), getattr(np, name)(a, b))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_divisors_and_multiples_agree_with_numpy(dtype):
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    few = [0, 1, 2, 12, 18, 97, limits.max, limits.min // 2]
    some = rng.integers(limits.min // 2, limits.max, 40, dtype=dtype)
    values = np.array([*few, *some], dtype=dtype)
    a, b = (part.ravel() for part in np.meshgrid(values, values))
    got = facula.gcd(facula.from_numpy(a), facula.from_numpy(b))
    np.testing.assert_array_equal(got.numpy(), np.gcd(a, b))
    small = np.arange(-6 if limits.min else 0, 12).astype(dtype)
    a, b = (part.ravel() for part in np.meshgrid(small, small))
    got = facula.lcm(facula.from_numpy(a), facula.from_numpy(b))
    np.testing.assert_array_equal(got.numpy(), np.lcm(a, b))


def test_the_smallest_integer_which_has_no_absolute_value_has_divisors_as_in_pytorch():
    a, b = [-128, -128, -128, 5, -128], [31, 62, 93, -128, -128]
    a, b = (facula.tensor(values, dtype=facula.int8) for values in (a, b))
    assert facula.gcd(a, b).tolist() == [-1, 2, -1, -1, -128]
    assert facula.lcm(a[:1], b[:1]).tolist() == [-128]
    for dtype, divisors in ((facula.int16, [-1, -2]), (facula.int32, [1, -2])):
        smallest = facula.tensor([facula.iinfo(dtype).min] * 2, dtype=dtype)
        assert facula.gcd(smallest, facula.tensor([31, 62], dtype=dtype)).tolist() == divisors


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_shifts_by_too_many_bits_leave_nothing_but_the_sign(dtype):
    limits = np.iinfo(dtype)
    bits = limits.bits
    values = [0, 1, 5, limits.max, limits.min]
    shifts = [0, 1, bits - 1, bits, 100, *([-1] if limits.min else [])]
    a, n = (part.ravel() for part in np.meshgrid(values, shifts))
    x, y = (facula.tensor(part.tolist(), dtype=getattr(facula, dtype)) for part in (a, n))
    left, right = (x << y).tolist(), (x >> y).tolist()
    for value, shift, got_left, got_right in zip(a.tolist(), n.tolist(), left, right, strict=True):
        is_inside = 0 <= shift < bits
        whole = value << shift if is_inside else 0
        wrapped = (whole - limits.min) % 2**bits + limits.min
        assert got_left == wrapped
        assert got_right == (value >> shift if is_inside else -1 if value < 0 else 0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_weights_and_directions_of_complex_numbers_agree_with_numpy(dtype):
    rng = np.random.default_rng(0)
    a, b, w = ((rng.normal(size=67) + 1j * rng.normal(size=67)).astype(dtype) for _ in range(3))
    got = facula.lerp(*map(facula.from_numpy, (a, b, w))).numpy()
    np.testing.assert_allclose(got, a + w * (b - a), rtol=1e-5, atol=1e-5)
    big, small = (1e38, 1e-38) if dtype == "complex64" else (1e308, 1e-308)
    x = np.array([0, 3 + 4j, -2j, big * (1 + 1j), small * (1 - 1j), -5], dtype)
    expected = [0, 0.6 + 0.8j, -1j, (1 + 1j) / 2**0.5, (1 - 1j) / 2**0.5, -1]
    np.testing.assert_allclose(facula.from_numpy(x).sgn().numpy(), expected, rtol=1e-6)
    assert facula.tensor([complex(np.inf, 1)]).sgn().real.isnan().all()

import pytest
from agree import assert_agrees
from rows import find, names

import facula

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
INTEGERS_ONLY = {"bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or"}
INTEGERS_ONLY |= {"bitwise_right_shift", "bitwise_xor", "gcd", "lcm"}
UNARY = [n for n in names("unary", "predicate") if n not in INTEGERS_ONLY] + ["abs", "round"]
BINARY = [n for n in names("binary", "compare") if n not in INTEGERS_ONLY | {"nextafter"}]
BINARY += ["add", "sub", "div", "pow", "heaviside"]
FLOATING = [facula.float16, facula.bfloat16, facula.float32, facula.float64]
INTEGERS = [facula.uint8, facula.int8, facula.int16, facula.int32, facula.int64]


def assert_agrees_or_is_refused(f, *inputs):
    """A dtype that the CPU does not compute with is not computed with on the GPU either."""
    try:
        f(*inputs)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            f(*(x.to("cuda") for x in inputs))
    else:
        assert_agrees(f, *inputs)


def values(dtype, *shape):
    return facula.randn(*shape).to(dtype)


@pytest.mark.parametrize("name", UNARY)
def test_unary_operations_agree(name):
    # Inside the domain of all of them, where each is well conditioned.
    shift = 2.1 if name == "acosh" else 0
    for dtype in FLOATING:
        x = (facula.rand(37, 5) * 0.9 + 0.05 + shift).to(dtype)
        assert_agrees_or_is_refused(find(name), x)
        assert_agrees_or_is_refused(lambda t: find(name)(t.t()[1:, ::3]), x)


@pytest.mark.parametrize("name", names("activation"))
def test_activations_and_their_derivatives_agree(name):
    more = (0.4, 0.2) if name == "threshold" else ()
    for dtype in (facula.bfloat16, facula.float32, facula.float64):
        x = (facula.rand(37, 5) * 4 - 2).to(dtype)
        assert_agrees(lambda t: find(name)(t, *more), x)


@pytest.mark.parametrize("name", BINARY)
def test_binary_operations_agree(name):
    for dtype in (facula.bfloat16, facula.float32, facula.float64):
        a = (facula.rand(16, 33) * 2 + 0.1).to(dtype)
        b = (facula.rand(16, 33) * 2 + 0.1).to(dtype)
        assert_agrees_or_is_refused(find(name), a, b)
        assert_agrees_or_is_refused(lambda s, t: find(name)(s, t[:1]), a, b)


@pytest.mark.parametrize("dtype", [facula.uint8, *FLOATING, facula.complex64], ids=str)
def test_dense_lines_agree(dtype):
    a, b = (facula.rand(6, 5, 64) * 9).to(dtype), (facula.rand(6, 5, 64) * 9).to(dtype)
    assert_agrees(lambda s, t: s[:, 1:4] + t[:, 2:], a, b)
    assert_agrees(lambda s, t: s.transpose(0, 1) + t[:, :, 32:33].transpose(0, 1), a, b)
    assert_agrees(lambda s, t: s[..., 32:] + t[..., 8:40], a, b)
    assert_agrees(lambda s, t: s[..., 31:63] + t[..., :32], a, b)
    assert_agrees(lambda s, t: s[:, 1:4] + t[0, 0, 0].item(), a, b)
    assert_agrees(lambda s, t: facula.where(s[:, ::2].abs() > 4, s[:, ::2], t[:, ::2]), a, b)
    assert_agrees(lambda s, t: s.transpose(0, 1).contiguous(), a, b)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap_divide_and_shift_as_on_the_cpu(dtype):
    a = facula.arange(-20, 20).to(dtype)
    b = (facula.arange(40) % 7 + 1).to(dtype)
    for name in [
        "add",
        "sub",
        "mul",
        "floor_divide",
        "remainder",
        "fmod",
        "maximum",
        "bitwise_and",
        "bitwise_xor",
        "gcd",
    ]:
        assert_agrees(find(name), a, b)


def test_special_values_pass_as_on_the_cpu():
    x = facula.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-40, 3e38])
    for name in ("exp", "log", "tanh", "relu", "sqrt", "sigmoid", "floor", "isnan", "isinf"):
        assert_agrees(find(name), x)
    assert_agrees(facula.maximum, x, x.flip(0))


def test_numbers_of_python_and_of_the_cpu_go_with_tensors_of_the_gpu():
    x = values(facula.float32, 5, 7)
    assert_agrees(lambda t: 2 - t * 3, x)
    assert_agrees(lambda t: t + facula.tensor(0.1, dtype=facula.float64), x)
    assert_agrees(lambda t: t.t() / 7, x)
    half = values(facula.float16, 5, 7)
    assert_agrees(lambda t: t * 0.1 + 1e-3, half)
    assert_agrees(lambda t: t > 0, half)
    assert_agrees(lambda t: t[0, 0] * 2, half)


def test_tensors_that_are_not_aligned_agree():
    x = values(facula.float32, 1001)
    assert_agrees(lambda t: t[1:] + t[:-1], x)
    assert_agrees(lambda t: t[3:1000].exp(), x)
    flags = x > 0
    assert_agrees(lambda t: facula.logical_not(t[5:]), flags)


def test_where_clamp_and_the_fused_forms_agree():
    x, y = values(facula.float32, 6, 8), values(facula.float32, 6, 8)
    assert_agrees(lambda a, b: facula.where(a > b, a, b * 2), x, y)
    assert_agrees(lambda a, b: facula.where(a > 0, a, 0.0), x, y)
    assert_agrees(lambda a: a.clamp(-0.5, 0.5), x)
    assert_agrees(lambda a: a.clamp(min=0), x)
    assert_agrees(lambda a, b: facula.addcmul(a, a, b, value=0.5), x, y)
    assert_agrees(lambda a, b: facula.lerp(a, b, 0.3), x, y)


def test_in_place_operations_write_into_the_tensor():
    x = facula.ones(4, device="cuda")
    address = x.data_ptr()
    x.add_(2).mul_(3).sub_(1.0)
    x[1:3] += 10
    x[0] = 5
    assert x.tolist() == [5.0, 18.0, 18.0, 8.0]
    assert x.data_ptr() == address


def test_division_of_integers_by_zero_raises():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        facula.floor_divide(facula.ones(2, dtype=facula.int64, device="cuda"), 0)


def test_large_tensors_agree():
    x = values(facula.float32, 1 << 20)
    assert_agrees(lambda t: (t * t + 1).log(), x)


@pytest.mark.parametrize("dtype", [facula.uint16, facula.uint32, facula.uint64], ids=str)
def test_unsigned_integers_agree(dtype):
    a = (facula.arange(-20, 20) * 1234567890123).to(dtype)
    b = (facula.arange(40) * 77777777777777777).to(dtype)
    for name in ("mul", "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "ne"):
        assert_agrees(find(name), a, b)
        assert_agrees(lambda s, t, name=name: find(name)(s[::2], t[1]), a, b)
    for call in (
        lambda t: t * -3,
        lambda t: t * 0.5,
        lambda t: t.signbit(),
        lambda t: t.ceil(),
        lambda t: facula.where(t == 0, t, 7),
        lambda t: t.sum(),
        lambda t: t.view(4, 10).all(1),
        lambda t: t.to(facula.float64).to(dtype),
        lambda t: t.bool(),
        lambda t: t.sort().values,
        lambda t: t.unique(),
    ):
        assert_agrees(call, a)

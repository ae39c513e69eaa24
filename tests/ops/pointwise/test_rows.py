"""What holds for every row of the tables of element-wise operations."""

import inspect

import pytest
from rows import find, names

import facula

# Rows that take numbers without a default, or need arguments of their own.
ARGUMENTS = {"threshold": (0.4, 0.2)}
# Steps, and results that are integers: no derivative to compare.
UNARY, BINARY = names("unary", "activation"), names("binary")
INTEGRAL = {
    name
    for name in names("unary", "binary")
    if name.startswith("bitwise") or name in ("gcd", "lcm")
}
# PyTorch has no derivative of these, or none by the first operand.
NOT_DIFFERENTIABLE = {
    *INTEGRAL,
    *(n for n in UNARY + BINARY if any(kind in n for kind in ("airy", "bessel", "polynomial"))),
    *("floor_divide", "igamma", "igammac", "nextafter", "special_zeta"),
}


def inputs(name, n=1):
    """Tensors inside the domain of the operation, where it is smooth."""
    generator = facula.Generator().manual_seed(0)
    x = [facula.rand(4, 5, generator=generator, dtype=facula.float64) * 0.8 + 0.1 for _ in range(n)]
    if name in ("acosh", "special_zeta"):
        x[0] += 1.5
    return [(t * 20).long() + 1 for t in x] if name in INTEGRAL else x


def layouts(x):
    """The same elements in other places, fewer of them, and shapes at the edge."""
    yield x.t().contiguous().t()
    yield facula.stack([x, x], -1)[..., 1]
    yield x[:1].expand(3, 5)
    yield x[::2, 1:4]
    yield x[1, 2]
    yield x[:0]


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_tensor_does_not_depend_on_the_layout(name):
    (x,) = inputs(name)
    f, more = find(name), ARGUMENTS.get(name, ())
    for view in layouts(x):
        assert facula.equal(f(view, *more), f(view.contiguous(), *more))


@pytest.mark.parametrize("name", BINARY + names("compare"))
def test_a_function_of_two_tensors_broadcasts_in_any_layout(name):
    a, b = inputs(name, 2)
    f = find(name)
    for x in layouts(a):
        whole = facula.broadcast_tensors(x, b[0, :1])
        assert facula.equal(f(x, b[0, :1]), f(*(t.contiguous() for t in whole)))


@pytest.mark.promise("T5")
@pytest.mark.parametrize("name", UNARY + BINARY + names("compare"))
def test_the_form_in_place_and_out_have_the_same_elements(name):
    x, *others = inputs(name, 2 if name in BINARY + names("compare") else 1)
    f, more = find(name), (*others, *ARGUMENTS.get(name, ()))
    expected = f(x, *more)
    in_place = getattr(facula.Tensor, name + "_", None) or find(name + "_")
    if in_place is not None:
        y = x.clone()
        assert in_place(y, *more) is y
        assert facula.equal(y, expected.to(x.dtype))
    if "out:" in str(getattr(f, "__nb_signature__", "")):
        out = facula.empty(0, dtype=expected.dtype)
        assert f(x, *more, out=out) is out
        assert facula.equal(out, expected)


@pytest.mark.parametrize("name", [n for n in UNARY if n not in NOT_DIFFERENTIABLE])
def test_first_and_second_derivatives_agree_with_differences(name):
    x = inputs(name)[0].requires_grad_()
    f, more = find(name), ARGUMENTS.get(name, ())
    assert facula.autograd.gradcheck(lambda t: f(t, *more), (x,))
    assert facula.autograd.gradgradcheck(lambda t: f(t, *more), (x,))


@pytest.mark.parametrize("name", [n for n in BINARY if n not in NOT_DIFFERENTIABLE])
def test_derivatives_by_both_operands_agree_with_differences(name):
    a, b = (x.requires_grad_() for x in inputs(name, 2))
    assert facula.autograd.gradcheck(find(name), (a, b))
    assert facula.autograd.gradgradcheck(find(name), (a, b))


@pytest.mark.parametrize("name", names("ternary"))
def test_derivatives_by_three_operands_agree_with_differences(name):
    operands = tuple(x.requires_grad_() for x in inputs(name, 3))
    assert facula.autograd.gradcheck(lambda *xs: find(name)(*xs, value=0.5), operands)


@pytest.mark.parametrize("name", names("unary", "binary", "compare", "predicate", "ternary"))
def test_function_and_method_of_a_row_have_one_docstring(name):
    # The first paragraph is the signature.
    doc = inspect.getdoc(find(name)).partition("\n\n")[2]
    if name.startswith("special_"):  # a function only
        assert f">>> facula.special.{name.removeprefix('special_')}(" in doc
        return
    assert f">>> facula.{name}(" in doc
    assert inspect.getdoc(getattr(facula.Tensor, name)).partition("\n\n")[2] == doc


@pytest.mark.parametrize("size", [1, 4, 15, 16, 33, 70, 1000])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_formulas_of_16_bits_are_those_of_float32_rounded_once(dtype, size):
    dtype = getattr(facula, dtype)
    facula.manual_seed(0)
    a, b, c = (facula.randn(size).to(dtype) for _ in range(3))
    calls = [
        (facula.add, (a, b)), (facula.sub, (a, 2)), (facula.mul, (3.3, b)), (facula.div, (a, b)),
        (facula.maximum, (a, b)), (facula.copysign, (a, b)), (facula.reciprocal, (a,)),
        (facula.floor, (a,)), (facula.sign, (a,)), (facula.clamp, (a, 0, 1)), (facula.round, (a,)),
        (facula.addcmul, (a, b, c)), (facula.lerp, (a, b, c)), (facula.lerp, (a, b, 0.3)),
    ]  # fmt: skip
    for f, given in calls:
        wide = [x.float() if isinstance(x, facula.Tensor) else x for x in given]
        expected = f(*wide).to(dtype)
        assert facula.equal(f(*given), expected), f
        spaced = [
            facula.stack([x, x], 1)[:, 0] if isinstance(x, facula.Tensor) else x for x in given
        ]
        assert facula.equal(f(*spaced), expected), f

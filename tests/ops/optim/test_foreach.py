"""Lists of tensors: each gets what the operation of the same name does for one."""

import pytest

import facula

# fmt: off
UNARY = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1",
    "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round",
    "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]
# fmt: on
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "pow"]


def lists():
    return [facula.rand(2, 3) + 0.1, facula.rand(()) + 0.1, facula.rand(4) + 0.1]


def one(name, x, *other):
    """The operation for one tensor."""
    name = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)
    function = getattr(facula, name, None) or getattr(facula.Tensor, name)
    return function(x, *other)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_list(name):
    xs = lists()
    expected = [one(name, x) for x in xs]
    result = getattr(facula, f"_foreach_{name}")(xs)
    assert isinstance(result, tuple)
    facula.testing.assert_close(list(result), expected, equal_nan=True)
    assert getattr(facula, f"_foreach_{name}_")(xs) is xs
    facula.testing.assert_close(xs, expected, equal_nan=True)


@pytest.mark.parametrize("other", ["number", "numbers", "tensors"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_a_list_and_what_it_meets(name, other):
    xs = lists()
    partner = {"number": 0.5, "numbers": [0.1, 2, 0.5], "tensors": lists()}[other]
    each = [partner] * 3 if other == "number" else partner
    expected = [one(name, x, y) for x, y in zip(xs, each, strict=True)]
    facula.testing.assert_close(list(getattr(facula, f"_foreach_{name}")(xs, partner)), expected)
    assert getattr(facula, f"_foreach_{name}_")(xs, partner) is xs
    facula.testing.assert_close(xs, expected)


def test_one_tensor_for_all_and_a_factor():
    xs = lists()
    two = facula.tensor(2.0)
    for name in ("add", "mul", "div"):
        result = getattr(facula, f"_foreach_{name}")(xs, two)
        facula.testing.assert_close(list(result), [one(name, x, two) for x in xs])
    result = facula._foreach_add(xs, xs, alpha=3)
    facula.testing.assert_close(list(result), [4 * x for x in xs])
    facula._foreach_sub_(xs, [x.clone() for x in xs], alpha=1)
    assert all(x.abs().sum() == 0 for x in xs)


def test_keywords_are_pytorchs():
    xs = [facula.ones(2)]
    assert facula._foreach_add(self=xs, other=xs)[0].tolist() == [2, 2]
    assert facula._foreach_add(xs, scalar=2)[0].tolist() == [3, 3]
    assert facula._foreach_mul(xs, scalars=[2])[0].tolist() == [2, 2]
    assert facula._foreach_pow(xs, exponent=2)[0].tolist() == [1, 1]
    assert facula._foreach_addcmul(xs, xs, xs, value=2)[0].tolist() == [3, 3]
    assert facula._foreach_lerp(xs, tensors1=[facula.zeros(2)], weight=0.5)[0].tolist() == [0.5] * 2


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
@pytest.mark.parametrize("value", ["number", "list", "tensor"])
def test_products_and_quotients_are_added(name, value):
    xs, a, b = lists(), lists(), lists()
    by = [2.0, 2.0, 2.0] if value == "number" else [1.0, 2.0, 3.0]
    given = {"number": 2, "list": by, "tensor": facula.tensor(by)}[value]
    expected = [
        getattr(facula, name)(x, y, z, value=v) for x, y, z, v in zip(xs, a, b, by, strict=True)
    ]
    result = getattr(facula, f"_foreach_{name}")(xs, a, b, given)
    facula.testing.assert_close(list(result), expected)
    assert getattr(facula, f"_foreach_{name}_")(xs, a, b, given) is xs
    facula.testing.assert_close(xs, expected)


@pytest.mark.parametrize("weight", [0.3, [0.1, 0.2, 0.3], "tensors"])
def test_lerp(weight):
    xs, ends = lists(), lists()
    weight = lists() if weight == "tensors" else weight
    each = weight if isinstance(weight, list) else [weight] * 3
    expected = [facula.lerp(x, y, w) for x, y, w in zip(xs, ends, each, strict=True)]
    facula.testing.assert_close(list(facula._foreach_lerp(xs, ends, weight)), expected)
    facula._foreach_lerp_(xs, ends, weight)
    facula.testing.assert_close(xs, expected)


def test_norms_and_the_largest():
    xs = [facula.tensor([3.0, -4.0]), facula.tensor([[1.0], [2.0]])]
    assert [n.item() for n in facula._foreach_norm(xs)] == pytest.approx([5, 5**0.5])
    assert [n.item() for n in facula._foreach_norm(xs, 1)] == [7, 3]
    assert [n.item() for n in facula._foreach_norm(xs, float("inf"))] == [4, 2]
    assert facula._foreach_norm(xs, 2, dtype=facula.float64)[0].dtype == facula.float64
    assert [n.item() for n in facula._foreach_powsum(xs, 3)] == [91, 9]
    assert [n.item() for n in facula._foreach_max(xs)] == [3, 2]


def test_copies():
    xs, ys = [facula.zeros(2), facula.zeros(3)], [facula.ones(2), facula.ones(3).long()]
    assert facula._foreach_copy_(xs, ys) is xs
    assert [x.tolist() for x in xs] == [[1, 1], [1, 1, 1]]
    clones = facula._foreach_clone(xs)
    facula._foreach_zero_(xs)
    assert [x.tolist() for x in xs] == [[0, 0], [0, 0, 0]] and clones[0].tolist() == [1, 1]
    assert facula._foreach_mm([facula.ones(2, 2)], [facula.ones(2, 1)])[0].tolist() == [[2], [2]]
    assert [x.tolist() for x in facula._foreach_pow(2, xs)] == [[1, 1], [1, 1, 1]]


def test_gradients_flow_through_lists():
    xs = [facula.ones(2, requires_grad=True), facula.ones((), requires_grad=True)]
    y, z = facula._foreach_mul(facula._foreach_exp(xs), [2.0, 3.0])
    (y.sum() + z).backward()
    assert xs[0].grad.tolist() == pytest.approx([2 * 2.7182817] * 2)
    with pytest.raises(RuntimeError, match="leaf"):
        facula._foreach_add_(xs, 1)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda xs: facula._foreach_add([], 1), RuntimeError, "at least one tensor"),
        (lambda xs: facula._foreach_sqrt_([]), RuntimeError, "at least one tensor"),
        (lambda xs: facula._foreach_add(xs, xs[:1]), RuntimeError, "number of tensors, got 2 and"),
        (lambda xs: facula._foreach_add_(xs, [1]), RuntimeError, "as scalar list, got 2 and 1"),
        (lambda xs: facula._foreach_mul(xs, facula.ones(2)), RuntimeError, "expected to be 0 dim"),
        (lambda xs: facula._foreach_addcmul(xs, xs, xs, facula.ones(3)), RuntimeError, "length 2"),
        (lambda xs: facula._foreach_copy_(xs, xs[:1]), RuntimeError, "got 2 and 1"),
        (lambda xs: facula._foreach_max([facula.ones(0)]), RuntimeError, "empty tensor"),
        (lambda xs: facula._foreach_sqrt_([facula.ones(2).long()]), RuntimeError, "int64"),
        (lambda xs: facula._foreach_add(xs, "a"), TypeError, "_foreach_add"),
        (lambda xs: facula._foreach_sqrt(facula.ones(2)), TypeError, "_foreach_sqrt"),
        (lambda xs: facula._foreach_add_(3, 1), TypeError, "list or tuple of tensors, got int"),
        (lambda xs: facula._foreach_add_([3], 1), TypeError, "got int at index 0"),
        (lambda xs: facula._foreach_add(xs, 2.0, alpha=3), TypeError, "alpha is a factor"),
        (lambda xs: facula._foreach_sub_(xs, [1, 2], alpha=3), TypeError, "alpha is a factor"),
        (lambda xs: facula._foreach_norm(xs, ord=1j), RuntimeError, "expected an ord that is real"),
        (lambda xs: facula._foreach_add(xs, [1, facula.ones(1)]), TypeError, "_foreach_add"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call([facula.ones(2), facula.ones(3)])


def test_nothing_changes_where_lists_do_not_fit():
    xs = [facula.ones(2), facula.ones(3)]
    with pytest.raises(RuntimeError):
        facula._foreach_add_(xs, [facula.ones(2)])
    assert xs[0].tolist() == [1, 1]


CALLS = [
    lambda x: facula._foreach_exp([x, x + 1])[1],
    lambda x: facula._foreach_add([x, x], [x, x * 2], alpha=3)[1],
    lambda x: facula._foreach_mul([x], 2.0)[0],
    lambda x: facula._foreach_mul([x, x], scalars=[2.0, 3.0])[1],
    lambda x: facula._foreach_addcdiv([x], [x], [x + 2], facula.tensor([0.5]))[0],
    lambda x: facula._foreach_addcmul([x], [x], [x], value=2)[0],
    lambda x: facula._foreach_lerp([x], [x * x], 0.25)[0],
    lambda x: facula._foreach_pow(2.0, [x])[0],
    lambda x: facula._foreach_maximum([x], 0.5)[0],
    lambda x: facula._foreach_norm([facula.stack([x, x + 1])])[0],
    lambda x: facula._foreach_powsum([facula.stack([x, x + 1])], 3)[0],
    lambda x: facula._foreach_max([facula.stack([x, x + 1])])[0],
    lambda x: facula._foreach_sqrt_([x.clone() + 2])[0],
    lambda x: facula._foreach_add_([x.clone()], [x])[0],
]


@pytest.mark.parametrize("call", CALLS)
def test_transforms_see_the_operations_of_a_list(call):
    xs = facula.tensor([0.1, 0.7, 1.5], dtype=facula.float64)
    facula.testing.assert_close(facula.vmap(call)(xs), facula.stack([call(x) for x in xs]))
    for x in xs:
        _, tangent = facula.func.jvp(call, (x,), (facula.ones_like(x),))
        facula.testing.assert_close(tangent, facula.func.grad(call)(x))


def test_marks_of_views_are_resolved():
    x = facula.tensor([1 + 2j, 3j])
    for function, one in ((facula._foreach_exp, facula.exp), (facula._foreach_neg, facula.neg)):
        facula.testing.assert_close(function([x.conj()])[0], one(x.conj()))
    facula.testing.assert_close(facula._foreach_add([x.conj().imag], 1)[0], 1 - x.imag)
    facula.testing.assert_close(facula._foreach_mul([x], [x.conj()])[0], x * x.conj())
    y = x.conj()
    facula._foreach_mul_([y], 2)
    facula.testing.assert_close(y.resolve_conj(), facula.tensor([2 - 4j, -6j]))
    assert x.tolist() == [2 + 4j, 6j]


def test_sparse_and_meta_tensors_in_lists():
    (doubled,) = facula._foreach_mul([facula.eye(2).to_sparse()], 2)
    assert doubled.is_sparse and doubled.to_dense().tolist() == [[2, 0], [0, 2]]
    assert facula._foreach_add([facula.ones(2, device="meta")], 1)[0].is_meta


def test_subclasses_and_modes_are_asked():
    asked = []

    class Mine(facula.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = facula.ones(2).as_subclass(Mine)
    assert type(facula._foreach_mul([x, x], 2)[1]) is Mine
    assert asked == ["mul", "mul"]

    class Log(facula.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return func(*args, **(kwargs or {}))

    asked.clear()
    plain = facula.ones(2)
    with Log():
        facula._foreach_exp([plain])
    assert asked == ["exp"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: facula._foreach_add(None, None), "_foreach_add: expected a sequence of tensors"),
        (lambda x: facula._foreach_pow([x], None), "a sequence of numbers as exponent, got None"),
        (lambda x: facula._foreach_pow(None, [x]), "a number or a sequence of tensors as self"),
        (lambda x: facula._foreach_lerp([x], [x], None), "expected a number as weight, got None"),
        (lambda x: facula._standard_gamma(None), "^_standard_gamma: expected a tensor as input"),
        (lambda x: facula.nn.functional.conv2d(x, None), "^conv2d: expected a tensor as weight"),
    ],
)
def test_refusals_name_the_function_and_what_it_takes(call, message):
    with pytest.raises(TypeError, match=message) as error:
        call(facula.ones(1, 1, 2, 2))
    assert "stack" not in str(error.value)

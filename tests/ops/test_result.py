"""out= and writes in place: what they take, and what is refused before anything is written."""

import pytest

import facula

SHARED = "the input and the tensor written to share some of their elements"


def shifted():
    """Two overlapping pieces of one tensor."""
    x = facula.arange(6.0)
    return x[1:], x[:-1]


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: facula.add(a, 1, out=b),
        lambda a, b: facula.exp(a, out=b),
        lambda a, b: facula.pow(a, 2, out=b),
        lambda a, b: facula.clamp(a, 0, 2, out=b),
        lambda a, b: facula.maximum(a, a, out=b),
        lambda a, b: facula.where(a > 1, a, a, out=b),
        lambda a, b: facula.cumsum(a, 0, out=b),
        lambda a, b: facula.add(a, 1, out=b[:2]),
        lambda a, b: facula.max(a, 0, out=(b, facula.empty(0, dtype=facula.int64))),
    ],
)
def test_out_that_partly_overlaps_an_input_is_refused(call):
    a, b = shifted()
    with pytest.raises(RuntimeError, match=SHARED):
        call(a, b)
    assert b.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a.add_(b),
        lambda a, b: a.lerp_(b, 0.5),
        lambda a, b: a.clamp_(b),
        lambda a, b: a.copy_(b),
        lambda a, b: a.atan2_(b),
        lambda a, b: a.__setitem__(slice(None), b),
    ],
)
def test_a_write_in_place_from_an_overlapping_operand_is_refused(call):
    a, b = shifted()
    with pytest.raises(RuntimeError, match=SHARED):
        call(a, b)
    assert a.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: facula.eq(x, 2, out=out),
        lambda x, out: facula.lt(facula.full((3,), 2.0), x, out=out),
        lambda x, out: facula.logical_or(x, x - 2, out=out),
        lambda x, out: facula.logical_not(x - 2, out=out),
        lambda x, out: facula.logical_and(x, x - 2, out=out),
    ],
)
@pytest.mark.parametrize("dtype", [facula.bool, facula.float32])
def test_what_has_no_derivative_may_write_to_out_whatever_requires_grad(call, dtype):
    x = facula.tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = facula.empty(3, dtype=dtype)
    result = call(x, out)
    assert result is out and not out.requires_grad
    assert out.tolist() == call(x.detach(), facula.empty(3, dtype=dtype)).tolist()
    with pytest.raises(RuntimeError, match="out= takes no part in differentiation"):
        facula.floor(x, out=facula.empty(3))  # has one, of zeros


def test_out_may_be_an_input():
    x = facula.tensor([1.0, 2.0])
    assert facula.add(x, x, out=x) is x
    assert x.tolist() == [2, 4]
    assert facula.mul(x[:1], x[1:], out=x[:1]).tolist() == [8]


def test_a_write_to_an_expanded_tensor_is_refused():
    x = facula.ones(1).expand(3)
    with pytest.raises(
        RuntimeError, match=r"add_: expected a tensor with a place for each element"
    ):
        x.add_(1)
    with pytest.raises(RuntimeError, match=r"expected out with a place for each element"):
        facula.exp(facula.ones(3), out=x)


def test_an_expanded_tensor_can_be_filled():
    x = facula.ones(1)
    x.expand(3).fill_(2)
    assert x.tolist() == [2]
    x.expand(3).zero_()
    assert x.tolist() == [0]


def test_out_is_looked_at_before_the_operation_is_found_missing():
    z = facula.ones(2, dtype=facula.complex64)
    with pytest.raises(
        RuntimeError, match=r"atan2: the result is .*complex64 and cannot be stored"
    ):
        facula.atan2(z, z, out=facula.empty(2))
    with pytest.raises(NotImplementedError, match=r"atan2: not implemented for complex64"):
        facula.atan2(z, z, out=facula.empty(2, dtype=facula.complex64))
    x = facula.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"floor: out= takes no part in differentiation"):
        facula.floor(x, out=facula.empty(2))


def test_without_promotion_out_must_have_the_dtype_of_the_input():
    with pytest.raises(RuntimeError, match=r"neg: expected out to have dtype .*float32, got"):
        facula.neg(facula.ones(2), out=facula.empty(2, dtype=facula.float64))
    facula.exp(facula.ones(2), out=facula.empty(2, dtype=facula.float64))


def test_the_shape_is_refused_before_the_dtype_in_place():
    a, b = facula.ones(2, 1), facula.ones(2, 3)
    with pytest.raises(
        RuntimeError, match=r"gcd_: expected a result of the shape .* \(2, 1\), got"
    ):
        a.gcd_(b)
    with pytest.raises(NotImplementedError, match=r"gcd_: not implemented for float32"):
        a.gcd_(a)


def test_operator_in_place_names_the_operation():
    x = facula.tensor([1, 2])
    with pytest.raises(RuntimeError, match=r"bitwise_and_: the result is .*float32 and cannot be"):
        x &= facula.ones(2)


def test_operations_that_hooks_call_have_other_destinations():
    x = facula.ones(2, 3, requires_grad=True)
    y = facula.tensor([5.0], requires_grad=True)
    hooks = facula.autograd.graph.saved_tensors_hooks(lambda t: t.mul(2), lambda t: t.mul(0.5))
    with hooks:
        z = (x * 1).mul_(y)
    z.sum().backward()
    assert x.grad.tolist() == [[5] * 3] * 2


ELEMENTWISE = {
    "exp": lambda x, y, **to: facula.exp(x, **to),
    "clamp": lambda x, y, **to: facula.clamp(x, -0.5, 0.5, **to),
    "pow": lambda x, y, **to: facula.pow(x, 3, **to),
    "add": lambda x, y, **to: facula.add(x, y, alpha=2, **to),
    "lerp": lambda x, y, **to: facula.lerp(x, y, 0.25, **to),
    "addcmul": lambda x, y, **to: facula.addcmul(x, x, y, value=3, **to),
    "where": lambda x, y, **to: facula.where(x > 0, x, y, **to),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_out_may_be_an_input_another_layout_or_share_memory_with_an_input(name):
    f = ELEMENTWISE[name]
    x, y = facula.randn(6, 6), facula.randn(6, 6)
    expected = f(x, y)
    strided = facula.zeros(6, 12)[:, ::2]
    assert f(x, y, out=strided) is strided
    assert facula.equal(strided, expected)
    transposed = facula.zeros(6, 6).t()
    assert facula.equal(f(x, y, out=transposed), expected)
    itself = x.clone()
    version = itself._version
    assert facula.equal(f(itself, y, out=itself), expected)
    assert itself._version == version + 1
    line = facula.randn(50)
    left, right = line[:36].view(6, 6), line[14:].view(6, 6)
    with pytest.raises(RuntimeError, match=SHARED):
        f(left, y, out=right)


IN_PLACE = {
    "clamp_": lambda x, y: x.clamp_(-0.5, 0.5),
    "pow_": lambda x, y: x.pow_(2),
    "pow_ by -2": lambda x, y: x.pow_(-2),
    "lerp_": lambda x, y: x.lerp_(y, 0.25),
    "addcmul_": lambda x, y: x.addcmul_(y, y),
    "masked_fill_": lambda x, y: x.masked_fill_(y > 0, y.sum()),
    "div_trunc_": lambda x, y: x.div_(y, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_is_as_out_of_place_whoever_has_a_history(name):
    f = IN_PLACE[name]
    first, second = facula.randn(4, 5), facula.randn(4, 5)
    results, gradients = [], []
    for x_has, y_has in ((False, False), (True, False), (False, True), (True, True)):
        x = first.clone().requires_grad_(x_has)
        y = second.clone().requires_grad_(y_has)
        written = x * 1 if x_has else x
        f(written, y)
        results.append(written.detach())
        if written.requires_grad:
            written.sum().backward()
        gradients.append((x.grad if x_has else None, y.grad if y_has else None))
    assert all(facula.equal(result, results[0]) for result in results)
    for n in (0, 1):  # each with a history alone, then both
        alone, together = gradients[1 + n][n], gradients[3][n]
        assert (alone is None) == (together is None)
        assert alone is None or facula.allclose(alone, together)


def test_cat_writes_into_out_of_any_layout():
    x, y = facula.arange(6.0).view(2, 3), facula.ones(2, 2)
    out = facula.zeros(5, 2).T
    place = out.data_ptr()
    assert facula.cat([x, y], 1, out=out) is out
    assert out.tolist() == [[0.0, 1.0, 2.0, 1.0, 1.0], [3.0, 4.0, 5.0, 1.0, 1.0]]
    assert out.data_ptr() == place and out.stride() == (1, 2)
    version = out._version
    facula.cat([x, y], 1, out=out)
    assert out._version == version + 1


def test_cat_refuses_an_out_with_a_gradient_or_of_its_own_memory():
    x = facula.ones(2, 2)
    with pytest.raises(RuntimeError, match="cat: "):
        facula.cat([x, x], out=facula.zeros(4, 2, requires_grad=True))
    base = facula.arange(8.0).view(4, 2)
    with pytest.raises(RuntimeError, match="cat: "):
        facula.cat([base[2:], base[:2]], out=base)


def test_a_view_written_by_a_power_keeps_its_gradient():
    x = facula.tensor([1.0, 2.0, 4.0], requires_grad=True)
    y = x * 1
    y[1:].pow_(-2)
    y.sum().backward()
    assert x.grad.tolist() == [1, -0.25, -0.03125]
    with pytest.raises(RuntimeError, match="pow: out= takes no part"):
        facula.pow(x, -2, out=facula.empty(3))


def test_an_element_of_a_tensor_can_fill_it():
    x = facula.tensor([1.0, 2.0, 3.0])
    assert x.masked_fill_(x > 1, x[2]).tolist() == [1, 3, 3]


def test_out_of_inference_mode_is_refused_outside_of_it():
    with facula.inference_mode():
        out = facula.ones(3)
    for call in (facula.exp, lambda x, out: facula.cumsum(x, 0, out=out)):
        with pytest.raises(RuntimeError, match="inference tensor outside inference mode"):
            call(facula.ones(3), out=out)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: facula.mm(x, x, out=out),
        lambda x, out: facula.tril(x, out=out),
        lambda x, out: facula.where(x > 1, x, x, out=out),
        lambda x, out: facula.diff(x, out=out),
        lambda x, out: facula.renorm(x, 2, 0, 1.0, out=out),
        lambda x, out: facula.sort(x, out=(out, facula.empty(0, dtype=facula.int64))),
        lambda x, out: facula.frexp(x, out=(facula.empty(0), out)),
    ],
)
def test_out_of_these_has_the_dtype_of_the_result(call):
    x, out = facula.ones(2, 2), facula.full((3,), 7, dtype=facula.float64)
    with pytest.raises(RuntimeError, match="expected out to have dtype"):
        call(x, out)
    assert out.tolist() == [7, 7, 7]

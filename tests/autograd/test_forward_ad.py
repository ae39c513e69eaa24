"""facula.autograd.forward_ad: dual tensors, and the tangents that operations give them."""

import math
import threading

import pytest

import facula
import facula.autograd.forward_ad as fwAD
import facula.nn.functional as F

pytestmark = pytest.mark.promise("A8")


@pytest.fixture
def x():
    return facula.tensor([0.5, -1.0, 2.0], dtype=facula.float64)


@pytest.fixture
def t():
    return facula.tensor([1.0, 2.0, -0.5], dtype=facula.float64)


def tangent(function, x, t):
    with fwAD.dual_level():
        return fwAD.unpack_dual(function(fwAD.make_dual(x, t))).tangent


def difference(function, x, t, eps=1e-6):
    return (function(x + eps * t) - function(x - eps * t)) / (2 * eps)


FUNCTIONS = {
    "an element": lambda x: x.sin() * x.exp() + x.abs().sqrt() / (x + 3),
    "linear": lambda x: x.view(3, 1).expand(3, 2).t().flip(0).cumsum(1)[:, 1:].sum(0),
    "a product": lambda x: facula.outer(x, x) @ x + x.dot(x),
    "softmax": lambda x: x.softmax(0) + x.log_softmax(0),
    "joining": lambda x: facula.cat([x, facula.ones(1, dtype=x.dtype), x * 2]).square(),
    "where": lambda x: facula.where(x > 0, x * x, facula.zeros_like(x)),
    "a norm": lambda x: F.layer_norm(x, (3,)) + x.norm(),
    "conv": lambda x: F.conv1d(x.view(1, 1, 3), x[:2].view(1, 1, 2), x[:1]),
    "linear layer": lambda x: F.linear(x, x.expand(2, 3), x[:2]),
    "a loss": lambda x: F.cross_entropy(x.unsqueeze(0), facula.tensor([1])),
    "sorting": lambda x: x.sort()[0] * x.max() + x.topk(2)[0].sum(),
    "padding": lambda x: F.pad(x, (1, 1), value=3.0) ** 2,
    "attention": lambda x: F.scaled_dot_product_attention(*[x.view(1, 3, 1)] * 3),
    "a reduction": lambda x: x.var() + x.logsumexp(0) + x.prod(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_tangent_is_the_derivative_along_its_direction(name, x, t):
    function = FUNCTIONS[name]
    assert facula.allclose(tangent(function, x, t), difference(function, x, t), rtol=1e-5)


def in_place(x):
    y = x.clone()
    y.mul_(x).add_(1)
    y[0] = x[2] * 3
    y[1:].exp_()
    y += x
    z = facula.zeros(2, 3, dtype=x.dtype)
    z[1].copy_(y)
    z.t()[2].sub_(x[:2])
    return z


def test_tangents_follow_writes_and_views(x, t):
    assert facula.allclose(tangent(in_place, x, t), difference(in_place, x, t), rtol=1e-5)


def test_what_is_detached_or_overwritten_has_no_tangent(x, t):
    with fwAD.dual_level():
        d = fwAD.make_dual(x, t)
        assert fwAD.unpack_dual(d.detach()).tangent is None
        assert fwAD.unpack_dual(d > 0).tangent is None
        assert fwAD.unpack_dual(x).tangent is None
        y = d.clone().zero_()
        assert not fwAD.unpack_dual(y).tangent.any()


def test_tangents_are_gone_with_their_level(x, t):
    with fwAD.dual_level():
        d = fwAD.make_dual(x, t)
        primal, its_tangent = fwAD.unpack_dual(d)
        assert facula.equal(primal, x)
        assert its_tangent is t
    assert fwAD.unpack_dual(d) == (d, None)
    with fwAD.dual_level():
        assert fwAD.unpack_dual(d).tangent is None


def test_no_grad_switches_no_tangents_off(x, t):
    with facula.no_grad():
        assert facula.allclose(tangent(facula.sin, x, t), x.cos() * t)


def test_complex_tangents(x, t):
    z = facula.complex(x, x.flip(0))
    w = facula.complex(t, -t)
    assert facula.allclose(tangent(facula.exp, z, w), z.exp() * w)
    assert facula.allclose(tangent(lambda z: z.abs() ** 2, z, w), 2 * (z.conj() * w).real)


def test_gradients_of_tangents_and_tangents_of_gradients_agree(x, t):
    leaf = x.clone().requires_grad_()
    with fwAD.dual_level():
        d = fwAD.make_dual(leaf, t)
        y = (d**3).sum()
        (g,) = facula.autograd.grad(y, d, create_graph=True)
        assert facula.allclose(fwAD.unpack_dual(g).tangent, 6 * x * t)
        (h,) = facula.autograd.grad(fwAD.unpack_dual(y).tangent, leaf)
    assert facula.allclose(h, 6 * x * t)


def test_levels_and_tangents_are_checked(x, t):
    with pytest.raises(RuntimeError, match="no level exists"):
        fwAD.make_dual(x, t)
    with pytest.raises(RuntimeError, match="no level is currently active"):
        fwAD.exit_dual_level()
    with fwAD.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode"):
            fwAD.enter_dual_level()
        with pytest.raises(RuntimeError, match="different size"):
            fwAD.make_dual(x, t[:2])
        with pytest.raises(ValueError, match="Expected tensor to be floating point or complex"):
            fwAD.make_dual(facula.ones(2, dtype=facula.int64), t)
        with pytest.raises(RuntimeError, match="not the last one"):
            fwAD.exit_dual_level(level=3)
    assert facula._core._transforms() == []


class Cube(facula.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        ctx.factor = factor
        return factor * x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * ctx.factor * x**2 * g, None

    @staticmethod
    def jvp(ctx, t, _):
        (x,) = ctx.saved_tensors
        return 3 * ctx.factor * x**2 * t + 100  # unlike backward, to be told from it


class Square(facula.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def test_a_function_says_its_tangent_itself(x, t):
    found = tangent(lambda x: Cube.apply(x, 2.0), x, t)
    assert facula.allclose(found, 6 * x**2 * t + 100)


def test_without_jvp_the_tangent_of_a_function_comes_from_backward(x, t):
    assert facula.allclose(tangent(Square.apply, x, t), 2 * x * t)


def test_a_wrong_tangent_of_a_function_is_refused(x, t):
    class Wrong(Square):
        @staticmethod
        def jvp(ctx, t):
            return t[:1]

    class TooMany(Square):
        @staticmethod
        def jvp(ctx, t):
            return t, t

    with pytest.raises(RuntimeError, match=r"Wrong.jvp: expected a tangent of shape \(3,\)"):
        tangent(Wrong.apply, x, t)
    with pytest.raises(RuntimeError, match=r"TooMany\.jvp: expected 1 tangents"):
        tangent(TooMany.apply, x, t)
    with pytest.raises(TypeError, match="save_for_forward: expected tensors or None, got int"):
        Square._ctx_type().save_for_forward(3)


def test_random_numbers_are_drawn_once(t):
    x = facula.ones(1000, dtype=facula.float64)
    with fwAD.dual_level():
        y = F.dropout(fwAD.make_dual(x, x), 0.5)
        assert facula.equal(fwAD.unpack_dual(y).tangent, fwAD.unpack_dual(y).primal)


def test_values_decide_the_way_of_a_program(x, t):
    def f(x):
        return x.sin() if x[0] > 0 else x * float(x[1])

    assert facula.allclose(tangent(f, x, t), x.cos() * t)
    assert facula.allclose(tangent(f, -x, t), t * -x[1])
    assert math.isclose(float(tangent(facula.sum, x, t)), float(t.sum()))


def test_out_is_refused_and_names_are_known(x, t):
    with pytest.raises(RuntimeError, match=r"sin: functions with out=\.\.\. arguments"):
        tangent(lambda x: facula.sin(x, out=facula.zeros(3, dtype=x.dtype)), x, t)
    assert facula.allclose(tangent(lambda x: facula.add(input=x, other=x, alpha=2), x, t), 3 * t)
    assert float(tangent(lambda x: facula.sum(input=x, axis=0), x, t)) == float(t.sum())


def test_a_level_belongs_to_its_thread(x, t):
    found = []
    with fwAD.dual_level():
        d = fwAD.make_dual(x, t)
        thread = threading.Thread(target=lambda: found.append(fwAD.unpack_dual(d.sin()).tangent))
        thread.start()
        thread.join()
    assert found == [None]

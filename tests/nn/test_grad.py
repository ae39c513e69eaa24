"""The gradients of convolutions as functions."""

import re

import pytest

import facula
from facula.nn import functional as F
from facula.nn import grad as G

pytestmark = pytest.mark.promise("N2")

OPTIONS = [
    {},
    {"stride": 2},
    {"padding": 1, "dilation": 2},
    {"stride": 3, "padding": 2, "groups": 2},
]


def case(n, options, dtype=facula.float64):
    """An input, a weight and the gradient of an output that has history."""
    sizes = (9, 8, 7)[:n]
    x = facula.randn(2, 4, *sizes, dtype=dtype, requires_grad=True)
    weight = facula.randn(6, 4 // options.get("groups", 1), *[3] * n, dtype=dtype)
    weight.requires_grad_()
    y = getattr(F, f"conv{n}d")(x, weight, **options)
    return x, weight, y, facula.randn_like(y)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_they_are_what_backward_computes(n, options):
    x, weight, y, g = case(n, options)
    of_x, of_weight = facula.autograd.grad(y, (x, weight), g)
    conv_input, conv_weight = getattr(G, f"conv{n}d_input"), getattr(G, f"conv{n}d_weight")
    assert facula.equal(conv_input(x.shape, weight, g, **options), of_x)
    assert facula.equal(conv_weight(x, weight.shape, g, **options), of_weight)


def test_they_have_derivatives():
    x, weight, _, g = case(2, {"stride": 2})
    x, weight, g = (t.detach().requires_grad_() for t in (x, weight, g))
    options = {"stride": 2}
    assert facula.autograd.gradcheck(
        lambda w, g: G.conv2d_input(x.shape, w, g, **options), (weight, g)
    )
    assert facula.autograd.gradcheck(
        lambda x, g: G.conv2d_weight(x, weight.shape, g, **options), (x, g)
    )


def test_an_input_may_be_larger_than_its_windows_reach():
    weight, g = facula.ones(1, 1, 2, 2), facula.ones(1, 1, 2, 2)
    assert G.conv2d_input((1, 1, 5, 5), weight, g, stride=2)[0, 0, 4].tolist() == [0.0] * 5


def test_wrong_shapes_and_dtypes_are_refused():
    x, weight, _, g = case(2, {})
    with pytest.raises(
        RuntimeError, match=re.escape("conv2d_input: expected a grad_output of shape")
    ):
        G.conv2d_input((2, 4, 20, 20), weight, g)
    with pytest.raises(RuntimeError, match="conv2d_input: expected an input of 4 channels"):
        G.conv2d_input((2, 3, 9, 8), weight, g)
    with pytest.raises(RuntimeError, match="conv2d_weight: expected a grad_output of shape"):
        G.conv2d_weight(x, (6, 4, 5, 5), g)
    with pytest.raises(RuntimeError, match="of one dtype"):
        G.conv2d_weight(x, weight.shape, g.float())


@pytest.mark.parametrize("in_dims", [(0, 0), (None, 0), (0, None)])
def test_examples_are_batched(in_dims):
    weights, grads = facula.randn(3, 4, 2, 3, 3), facula.randn(3, 2, 4, 2, 3)
    images = facula.randn(3, 2, 4, 5, 8)
    options = {"stride": 2, "groups": 2}

    def of_input(weight, g):
        return G.conv2d_input((2, 4, 5, 8), weight, g, **options)

    def of_weight(x, g):
        return G.conv2d_weight(x, (4, 2, 3, 3), g, **options)

    for function, first in ((of_input, weights), (of_weight, images)):
        args = [x if d == 0 else x[0] for x, d in zip((first, grads), in_dims, strict=True)]
        got = facula.func.vmap(function, in_dims)(*args)
        for i in range(3):
            one = [x[i] if d == 0 else x for x, d in zip(args, in_dims, strict=True)]
            assert facula.allclose(got[i], function(*one), atol=1e-5)

import math

import pytest

import facula
from facula.vision import ops

pytestmark = pytest.mark.promise("D3")


def test_deform_conv2d_without_shifts_is_a_convolution():
    facula.manual_seed(0)
    x = facula.randn(2, 8, 9, 11, dtype=facula.float64)
    weight, bias = facula.randn(6, 4, 3, 2).double(), facula.randn(6).double()
    offset = facula.zeros(2, 12, 5, 12, dtype=x.dtype)
    y = ops.deform_conv2d(x, offset, weight, bias, stride=(2, 1), padding=1)
    expected = facula.nn.functional.conv2d(x, weight, bias, (2, 1), 1, groups=2)
    facula.testing.assert_close(y, expected)


def test_deform_conv2d_has_gradients_of_any_order():
    facula.manual_seed(0)
    x = facula.randn(1, 2, 4, 4).double().requires_grad_()
    offset = facula.randn(1, 8, 3, 3).double().requires_grad_()
    weight = facula.randn(2, 2, 2, 2).double().requires_grad_()
    mask = facula.rand(1, 4, 3, 3).double().requires_grad_()

    def f(x, offset, weight, mask):
        return ops.deform_conv2d(x, offset, weight, mask=mask)

    facula.autograd.gradcheck(f, (x, offset, weight, mask))
    facula.autograd.gradgradcheck(f, (x, offset, weight, mask))


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30])
def test_deform_conv2d_at_places_far_away(value):
    x = facula.ones(1, 1, 4, 4, requires_grad=True)
    offset = facula.full((1, 2, 4, 4), value, requires_grad=True)
    y = ops.deform_conv2d(x, offset, facula.ones(1, 1, 1, 1))
    assert y.isnan().all() if math.isnan(value) else (y == 0).all()
    y.sum().backward()


def test_deform_conv2d_of_no_images_has_gradients():
    x, offset = facula.ones(0, 1, 4, 4, requires_grad=True), facula.ones(0, 2, 4, 4)
    weight = facula.ones(3, 1, 1, 1, requires_grad=True)
    y = ops.deform_conv2d(x, offset, weight)
    y.sum().backward()
    assert y.shape == (0, 3, 4, 4)
    assert (x.grad.shape, weight.grad.tolist()) == (x.shape, [[[[0.0]]]] * 3)


def test_deform_conv2d_refuses_steps_of_0():
    x, offset, weight = facula.ones(1, 1, 4, 4), facula.ones(1, 2, 4, 4), facula.ones(1, 1, 1, 1)
    for kwargs in ({"stride": 0}, {"dilation": 0}, {"padding": -1}):
        with pytest.raises(RuntimeError, match=r"deform_conv2d: expected stride and dilation of"):
            ops.deform_conv2d(x, offset, weight, **kwargs)

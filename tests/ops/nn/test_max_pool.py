"""The largest elements of boxes."""

import itertools

import numpy as np
import pytest

import facula
from check_op import check_op
from facula.nn import functional as F


def pooled(a, kernel, stride, padding, dilation):
    """The largest elements of windows over the last three dimensions."""
    border = [(0, 0)] * (a.ndim - 3) + [(padding, padding)] * 3
    a = np.pad(a, border, constant_values=-np.inf)
    reach = dilation * (kernel - 1) + 1
    sizes = [(n - reach) // stride + 1 for n in a.shape[-3:]]
    taps = itertools.product(range(0, reach, dilation), repeat=3)
    windows = [
        a[(..., *(slice(t, t + n * stride, stride) for t, n in zip(tap, sizes, strict=True)))][
            ..., : sizes[0], : sizes[1], : sizes[2]
        ]
        for tap in taps
    ]
    return np.max(windows, axis=0)


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "kernel, stride, padding, dilation", [(2, 2, 0, 1), (3, 2, 1, 1), (2, 1, 0, 2), (2, 1, 1, 1)]
)
@pytest.mark.parametrize("shape", [(1, 2, 4, 3, 5), (2, 3, 4, 5)])
def test_max_pool3d_agrees_with_numpy(shape, kernel, stride, padding, dilation):
    check_op(
        lambda x: facula.max_pool3d(x, kernel, stride, padding, dilation),
        lambda a: pooled(a, kernel, stride, padding, dilation),
        [shape],
        dtypes=["bfloat16", "float32", "float64"],
        differentiable=False,
    )


@pytest.mark.promise("N2")
def test_the_gradient_of_max_pool3d_goes_to_the_largest():
    a = np.random.default_rng(0).permutation(48).reshape(1, 1, 4, 3, 4) / 10.0
    x = facula.tensor(a, requires_grad=True)
    for options in ({}, {"stride": 1, "padding": 1}, {"ceil_mode": True}):
        f = lambda x, o=options: facula.max_pool3d(x, 2, **o)  # noqa: E731
        assert facula.autograd.gradcheck(f, (x,))
        assert facula.autograd.gradgradcheck(f, (x,))
        assert facula.equal(f(x), F.max_pool3d(x, 2, **options))


@pytest.mark.promise("N2")
@pytest.mark.parametrize("requires_grad", [False, True])
def test_max_pool1d_knows_no_formats_on_the_cpu_alone(requires_grad):
    strides = {"cpu": (12, 1, 3) if requires_grad else (12, 4, 1), "meta": (12, 1, 3)}
    for device, expected in strides.items():
        x = facula.empty(1, 8, 3, device=device).transpose(1, 2).requires_grad_(requires_grad)
        assert facula.max_pool1d(x, 2).stride() == expected


@pytest.mark.promise("N2")
def test_max_pool3d_refuses_what_has_no_boxes():
    with pytest.raises(RuntimeError, match="max_pool3d"):
        facula.max_pool3d(facula.ones(2, 2), 2)
    with pytest.raises(RuntimeError, match="max_pool3d"):
        facula.max_pool3d(facula.ones(1, 1, 2, 2, 2), 5)
    assert facula.max_pool3d(facula.empty(0, 1, 2, 2, 2), 2).shape == (0, 1, 1, 1, 1)


@pytest.mark.promise("N2")
def test_max_pool1d_with_indices_says_where_the_largest_are():
    x = facula.tensor([[[3.0, 1.0, 2.0, 5.0, 4.0]]], requires_grad=True)
    values, indices = facula.max_pool1d_with_indices(x, 2)
    assert (values.tolist(), indices.tolist()) == ([[[3, 5]]], [[[0, 3]]])
    (grad,) = facula.autograd.grad(values.sum(), x)
    assert grad.tolist() == [[[1, 0, 0, 1, 0]]]
    for options in ({"ceil_mode": True}, {"stride": 1, "padding": 1}, {"dilation": 2}):
        values, indices = facula.max_pool1d_with_indices(x[0], 2, **options)
        assert facula.equal(values, x[0].gather(1, indices))
        assert facula.equal(values, F.max_pool1d(x[0], 2, **options))


def test_one_size_for_all_dimensions_may_be_a_tensor_of_one_element():
    x = facula.arange(16.0).reshape(1, 1, 4, 4)
    facula.testing.assert_close(F.max_pool2d(x, facula.tensor([2])), F.max_pool2d(x, 2))
    facula.testing.assert_close(x.sum(facula.tensor([2])), x.sum(2))
    assert len(x.split(facula.tensor([2]), 2)) == 2
    with pytest.raises(TypeError, match="max_pool2d: expected an int or a sequence of ints"):
        F.max_pool2d(x, facula.tensor([2, 2]))


def gradient_of_tiles(a, g, kernel):
    """Of windows side by side, to the first of the largest, or to the last that is no number."""
    result = np.zeros_like(a)
    for at in np.ndindex(g.shape):
        corner = [i * k for i, k in zip(at[1:], kernel, strict=True)]
        box = (at[0], *(slice(c, c + k) for c, k in zip(corner, kernel, strict=True)))
        window = a[box].ravel()
        nans = np.flatnonzero(np.isnan(window))
        place = nans[-1] if nans.size else window.argmax()
        inside = np.unravel_index(place, kernel)
        result[(at[0], *(c + i for c, i in zip(corner, inside, strict=True)))] = g[at]
    return result


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "sizes, kernel",
    [
        ((64,), (2,)),
        ((65,), (2,)),
        ((1, 2), (1, 2)),
        ((6, 8), (2, 2)),
        ((7, 71), (2, 2)),
        ((9, 66), (4, 2)),
        ((5, 34), (1, 2)),
        ((6, 9), (3, 2)),
        ((4, 6, 36), (2, 2, 2)),
        ((5, 7, 7), (2, 2, 2)),
        ((5, 4, 10), (1, 2, 2)),
    ],
)
def test_the_gradient_of_windows_side_by_side_goes_to_the_first_of_the_largest(
    sizes, kernel, dtype
):
    rng = np.random.default_rng(0)
    pool = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[len(sizes)]
    for has_nan in (False, True):
        a = rng.integers(-3, 3, (2, *sizes)).astype(dtype)
        a[0, ..., :2] = -np.inf
        if has_nan:
            a[rng.random(a.shape) < 0.2] = np.nan
        x = facula.from_numpy(a).requires_grad_()
        y = pool(x, kernel)
        g = rng.standard_normal(y.shape).astype(dtype)
        y.backward(facula.from_numpy(g))
        assert (x.grad.numpy() == gradient_of_tiles(a, g, kernel)).all()

"""Normalisation: values, derivatives, layouts, running statistics."""

import math

import numpy as np
import pytest

import facula
import facula.nn.functional as F
from check_op import check_op, check_threads

EPS = 0.1


def normal(a, axes):
    return (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + EPS)


def per_channel(w, a):
    return w.reshape([1, -1] + [1] * (a.ndim - 2))


def over_batch(a, w, b):
    axes = (0, *range(2, a.ndim))
    return normal(a, axes) * per_channel(w, a) + per_channel(b, a)


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "shape", [(4, 3), (4, 3, 5), (2, 3, 2, 3), (2, 20, 2, 2), (3, 17), (16, 3, 2)]
)
def test_batch_norm_agrees_with_the_formula(shape, device):
    def op(x, w, b):
        return F.batch_norm(x, None, None, w, b, True, 0.1, EPS)

    check_op(op, over_batch, [shape, (shape[1],), (shape[1],)], device)


@pytest.mark.promise("N2")
def test_batch_norm_with_running_statistics_agrees_with_the_formula(device):
    mean, var = facula.tensor([0.5, -1.0, 2.0]), facula.tensor([1.0, 4.0, 0.25])

    def op(x, w, b):
        kind = x.dtype, x.device
        return F.batch_norm(x, mean.to(kind[1], kind[0]), var.to(kind[1], kind[0]), w, b, eps=EPS)

    def formula(a, w, b):
        shift, scale = (per_channel(t.double().numpy(), a) for t in (mean, var))
        return (a - shift) / np.sqrt(scale + EPS) * per_channel(w, a) + per_channel(b, a)

    check_op(op, formula, [(4, 3, 5), (3,), (3,)], device)


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "norm",
    [lambda x: F.batch_norm(x, None, None, training=True), lambda x: F.group_norm(x, 4)],
)
def test_channels_last_stays_channels_last_and_gives_the_same(norm):
    x = facula.randn(4, 20, 5, 3)
    g = facula.randn(4, 20, 5, 3)
    results = []
    for layout in (facula.contiguous_format, facula.channels_last):
        leaf = x.to(memory_format=layout).detach().requires_grad_()
        y = norm(leaf)
        assert y.is_contiguous(memory_format=layout)
        (grad,) = facula.autograd.grad(y, leaf, g)
        assert grad.is_contiguous(memory_format=layout)
        results.append((y, grad))
    for plain, last in zip(*results, strict=True):
        assert facula.allclose(plain, last, atol=1e-6)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("dtype", [facula.float32, facula.float64, facula.float16, facula.bfloat16])
@pytest.mark.parametrize("shape", [(2, 6, 5, 3), (1, 90, 40, 41), (3, 12, 2, 3, 4), (2, 4, 1, 1)])
def test_groups_of_channels_that_lie_together_are_normalised_as_they_lie(shape, dtype):
    last = facula.channels_last if len(shape) == 4 else facula.channels_last_3d
    x = (facula.randn(shape) * 2 + 3).to(dtype).to(memory_format=last)
    weight, bias = (facula.randn(shape[1]).to(dtype) for _ in range(2))
    y, mean, rstd = facula.native_group_norm(
        x, weight, bias, shape[0], shape[1], math.prod(shape[2:]), 2, EPS
    )
    a = x.double().numpy().reshape(shape[0], 2, -1)
    expected = (a - a.mean(2, keepdims=True)) / np.sqrt(a.var(2, keepdims=True) + EPS)
    w, b = (per_channel(t.double().numpy(), np.empty(shape)) for t in (weight, bias))
    precision = {facula.float64: 1e-11, facula.float32: 1e-5}.get(dtype, 5e-2)
    close = {"rtol": precision, "atol": precision}
    assert y.is_contiguous(memory_format=last)
    np.testing.assert_allclose(y.double().numpy(), expected.reshape(shape) * w + b, **close)
    np.testing.assert_allclose(mean.double().numpy(), a.mean(2), **close)
    np.testing.assert_allclose(rstd.double().numpy(), 1 / np.sqrt(a.var(2) + EPS), **close)


@pytest.mark.promise("N5")
def test_running_statistics_move_towards_those_of_the_batch():
    mean, var = facula.zeros(1), facula.ones(1)
    x = facula.tensor([[1.0], [3.0]])
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    assert mean.tolist() == [0.5]
    assert var.tolist() == [1.25]  # the variance of the batch, unbiased, is 2
    F.batch_norm(x, mean, var, training=False)
    assert mean.tolist() == [0.5]


@pytest.mark.promise("N2")
def test_instance_norm_agrees_with_the_formula(device):
    def formula(a, w, b):
        return normal(a, (2,)) * per_channel(w, a) + per_channel(b, a)

    def op(x, w, b):
        return F.instance_norm(x, weight=w, bias=b, eps=EPS)

    check_op(op, formula, [(2, 3, 5), (3,), (3,)], device)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("shape, n_groups", [((2, 6, 4), 3), ((2, 4), 2), ((2, 4, 2, 3), 1)])
def test_group_norm_agrees_with_the_formula(shape, n_groups, device):
    def formula(a, w, b):
        y = normal(a.reshape(a.shape[0], n_groups, -1), (2,)).reshape(a.shape)
        return y * per_channel(w, a) + per_channel(b, a)

    def op(x, w, b):
        return F.group_norm(x, n_groups, w, b, EPS)

    check_op(op, formula, [shape, (shape[1],), (shape[1],)], device)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("shape, n_last", [((3, 5), 1), ((2, 3, 4), 2), ((2, 35), 1), ((4,), 1)])
def test_layer_norm_agrees_with_the_formula(shape, n_last, device):
    last = shape[-n_last:]
    axes = tuple(range(-n_last, 0))

    def op(x, w, b):
        return F.layer_norm(x, last, w, b, EPS)

    check_op(op, lambda a, w, b: normal(a, axes) * w + b, [shape, last, last], device)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("shape", [(3, 5), (2, 35)])
def test_rms_norm_agrees_with_the_formula(shape, device):
    def formula(a, w):
        return a / np.sqrt((a * a).mean(-1, keepdims=True) + EPS) * w

    check_op(lambda x, w: F.rms_norm(x, shape[-1:], w, EPS), formula, [shape, shape[-1:]], device)


@pytest.mark.promise("N2")
def test_normalize_gives_rows_of_norm_one():
    def formula(a):
        return a / np.linalg.norm(a, axis=1, keepdims=True)

    check_op(F.normalize, formula, [(3, 4)], low=0.5)


@pytest.mark.promise("N2")
def test_local_response_norm_divides_by_the_neighbours():
    y = F.local_response_norm(facula.ones(1, 3, 1), 3, alpha=3.0, beta=1.0, k=1.0)
    assert y.flatten().tolist() == pytest.approx([1 / 3, 1 / 4, 1 / 3])


@pytest.mark.promise("N2")
def test_a_large_mean_costs_no_digits():
    x = facula.randn(2, 3, 64) + 10_000
    exact = F.layer_norm(x.double(), (64,)).float()
    assert facula.allclose(F.layer_norm(x, (64,)), exact, atol=1e-5)
    exact = F.batch_norm(x.double(), None, None, training=True).float()
    assert facula.allclose(F.batch_norm(x, None, None, training=True), exact, atol=1e-5)


@pytest.mark.promise("N2")
def test_weights_may_be_wider_than_a_16_bit_input():
    x = facula.randn(4, 8).bfloat16().requires_grad_()
    w, b = facula.ones(8, requires_grad=True), facula.zeros(8, requires_grad=True)
    for y in (
        F.layer_norm(x, (8,), w, b),
        F.batch_norm(x, facula.zeros(8), facula.ones(8), w, b, True),
        F.group_norm(x, 2, w, b),
    ):
        assert y.dtype == facula.bfloat16
        y.float().square().sum().backward()
        assert (x.grad.dtype, w.grad.dtype) == (facula.bfloat16, facula.float32)


@pytest.mark.promise("T10")
def test_bits_do_not_depend_on_threads():
    x = facula.randn(4, 24, 41, 43)
    columns = x.to(memory_format=facula.channels_last)
    rows = facula.randn(700, 130)

    def gradients(op, x, n):
        inputs = [x.detach().requires_grad_(), facula.linspace(0.5, 2, n).requires_grad_()]
        y = op(*inputs)
        grads = facula.autograd.grad(y, inputs, y.detach().cos())
        return facula.cat([t.flatten() for t in (y.detach(), *grads)])

    check_threads(
        lambda: gradients(lambda x, w: F.batch_norm(x, None, None, w, training=True), x, 24),
        lambda: gradients(lambda x, w: F.batch_norm(x, None, None, w, training=True), columns, 24),
        lambda: gradients(lambda x, w: F.group_norm(x, 6, w), x, 24),
        lambda: gradients(lambda x, w: F.group_norm(x, 6, w), columns, 24),
        lambda: gradients(lambda x, w: F.layer_norm(x, (130,), w), rows, 130),
        lambda: gradients(lambda x, w: F.rms_norm(x, (130,), w), rows, 130),
    )


@pytest.mark.promise("N2")
def test_nothing_to_normalise_gives_nothing_and_zero_gradients():
    w = facula.ones(3, requires_grad=True)
    x = facula.ones(0, 3, requires_grad=True)
    for y in (F.batch_norm(x, None, None, w, training=True), F.layer_norm(x, (3,), w)):
        (grad,) = facula.autograd.grad(y.sum(), w)
        assert y.shape == (0, 3)
        assert grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: F.batch_norm(facula.ones(2, 3), facula.ones(2), facula.ones(2)),
            RuntimeError,
            r"batch_norm: expected running_mean of 3 elements, one per channel \(dim 1\) of the "
            r"input float32 \(2, 3\), got \(2,\)",
        ),
        (
            lambda: F.batch_norm(facula.ones(1, 3), None, None, training=True),
            ValueError,
            r"batch_norm: training needs at least 2 values .* got an input \(1, 3\)",
        ),
        (lambda: F.batch_norm(facula.ones(2, 3), None, None), RuntimeError, "running_mean in eval"),
        (
            lambda: F.batch_norm(facula.ones(2, 3), None, None, training=True, eps=0),
            ValueError,
            "batch_norm: expected a positive eps, got 0",
        ),
        (
            lambda: F.batch_norm(facula.ones(2, 3).int(), facula.ones(3), facula.ones(3)),
            NotImplementedError,
            r"batch_norm: expected a floating-point input, got int32 \(2, 3\)",
        ),
        (
            lambda: F.batch_norm(facula.ones(2, 1), facula.ones(1).double(), None, training=True),
            RuntimeError,
            "batch_norm: mixed dtype: expected running_mean to be float32, got float64",
        ),
        (
            lambda: F.layer_norm(facula.ones(2, 3), (2,)),
            RuntimeError,
            r"layer_norm: expected an input whose last dimensions are normalized_shape \(2,\), got "
            r"float32 \(2, 3\)",
        ),
        (
            lambda: F.layer_norm(facula.ones(2, 3), (3,), facula.ones(2)),
            RuntimeError,
            r"layer_norm: expected weight of the shape of normalized_shape \(3,\), got \(2,\)",
        ),
        (lambda: F.group_norm(facula.ones(2, 3), 2), RuntimeError, "divisible by num_groups=2"),
        (lambda: F.instance_norm(facula.ones(2, 3, 1)), ValueError, "at least 2 places"),
        (lambda: F.rms_norm(facula.ones(2, 3), ()), RuntimeError, "rms_norm: expected normalized"),
        (lambda: F.local_response_norm(facula.ones(2, 3), 2), ValueError, "at least 3 dimensions"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.promise("N2")
def test_refused_input_leaves_the_running_statistics_alone():
    mean, var = facula.zeros(3), facula.ones(3)
    with pytest.raises(RuntimeError):
        F.batch_norm(facula.ones(2, 3), mean, var, facula.ones(2), training=True)
    assert mean.tolist() == [0.0] * 3
    assert var.tolist() == [1.0] * 3


def statistics(a, axes, shape):
    """Means and inverse standard deviations over these axes."""
    mean, variance = a.mean(axes), a.var(axes)
    return mean.reshape(shape), 1 / np.sqrt(variance + 1e-5).reshape(shape)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("name", ["native_batch_norm", "native_group_norm", "native_layer_norm"])
def test_native_norms_give_the_result_the_means_and_the_inverse_deviations(name, part):
    shape = (3, 4, 5)
    more, axes, kept = {
        "native_batch_norm": ((None, None, None, None, True, 0.1, 1e-5), (0, 2), (4,)),
        "native_group_norm": ((None, None, 3, 4, 5, 2, 1e-5), (2, 3), (3, 2)),
        "native_layer_norm": (((5,), None, None, 1e-5), (2,), (3, 4, 1)),
    }[name]

    def reference(a):
        b = a.reshape(3, 2, 2, 5) if name == "native_group_norm" else a
        if part:
            return statistics(b, axes, kept)[part - 1]
        return (
            (b - b.mean(axes, keepdims=True)) / np.sqrt(b.var(axes, keepdims=True) + 1e-5)
        ).reshape(shape)

    check_op(
        lambda x: getattr(facula, name)(x, *more)[part],
        reference,
        [shape],
        dtypes=["float32", "float64"],
        differentiable=part == 0,
    )


@pytest.mark.promise("N2")
def test_native_norms_weigh_and_shift_as_the_functions_above_them():
    x, w, b = facula.rand(2, 4, 3), facula.rand(4), facula.rand(4)
    found = facula.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)[0]
    assert facula.allclose(found, F.batch_norm(x, None, None, w, b, True), atol=1e-6)
    found = facula.native_group_norm(x, w, b, 2, 4, 3, 2, 1e-5)[0]
    assert facula.allclose(found, F.group_norm(x, 2, w, b), atol=1e-6)
    w, b = facula.rand(4, 3), facula.rand(4, 3)
    found = facula.native_layer_norm(x, (4, 3), w, b, 1e-5)[0]
    assert facula.allclose(found, F.layer_norm(x, (4, 3), w, b), atol=1e-6)


@pytest.mark.promise("N5")
def test_native_batch_norm_moves_and_uses_running_statistics():
    x, mean, variance = facula.rand(6, 2), facula.zeros(2), facula.ones(2)
    facula.native_batch_norm(x, None, None, mean, variance, True, 0.25, 1e-5)
    assert facula.allclose(mean, 0.25 * x.mean(0))
    assert facula.allclose(variance, 0.75 + 0.25 * x.var(0))
    found, *rest = facula.native_batch_norm(x, None, None, mean, variance, False, 0.25, 1e-5)
    assert facula.allclose(found, (x - mean) / (variance + 1e-5).sqrt(), atol=1e-6)
    assert [t.numel() for t in rest] == [0, 0]


def test_statistics_of_group_norm_have_derivatives():
    x = facula.randn(2, 4, 3, dtype=facula.float64, requires_grad=True)

    def statistics(x):
        return facula.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)[1:]

    assert facula.autograd.gradcheck(statistics, x)
    assert not statistics(x.detach())[0].requires_grad


def test_statistics_of_no_elements_are_the_same_with_a_derivative():
    x = facula.rand(2, 4, 0)
    plain = facula.native_group_norm(x, None, None, 2, 4, 0, 2, 1e-5)
    with_grad = facula.native_group_norm(x.clone().requires_grad_(), None, None, 2, 4, 0, 2, 1e-5)
    for a, b in zip(plain[1:], with_grad[1:], strict=True):
        assert facula.equal(a, b.detach())

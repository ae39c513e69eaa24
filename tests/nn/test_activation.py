"""Activation functions and their layers."""

import math

import numpy as np
import pytest

import facula
import facula.nn.functional as F
from check_op import check_op
from facula import nn

erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def softplus(a):
    return np.log1p(np.exp(a))


FORMULAS = {
    "threshold": (lambda x: F.threshold(x, 0.5, 9.0), lambda a: np.where(a > 0.5, a, 9.0)),
    "relu": (F.relu, lambda a: np.maximum(a, 0)),
    "relu6": (lambda x: F.relu6(x * 5), lambda a: np.clip(a * 5, 0, 6)),
    "elu": (lambda x: F.elu(x, 1.5), lambda a: np.where(a > 0, a, 1.5 * np.expm1(a))),
    "selu": (
        F.selu,
        lambda a: 1.0507009873554805 * np.where(a > 0, a, 1.6732632423543772 * np.expm1(a)),
    ),
    "celu": (lambda x: F.celu(x, 2.0), lambda a: np.where(a > 0, a, 2 * np.expm1(a / 2))),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), lambda a: np.where(a > 0, a, 0.1 * a)),
    "rrelu": (F.rrelu, lambda a: np.where(a > 0, a, a * (1 / 8 + 1 / 3) / 2)),
    "gelu": (F.gelu, lambda a: a * (1 + erf(a / math.sqrt(2))) / 2),
    "silu": (F.silu, lambda a: a * sigmoid(a)),
    "mish": (F.mish, lambda a: a * np.tanh(softplus(a))),
    "hardswish": (lambda x: F.hardswish(x * 2), lambda a: a * 2 * np.clip(a * 2 + 3, 0, 6) / 6),
    "hardsigmoid": (lambda x: F.hardsigmoid(x * 2), lambda a: np.clip(a * 2 + 3, 0, 6) / 6),
    "hardtanh": (F.hardtanh, lambda a: np.clip(a, -1, 1)),
    "hardshrink": (F.hardshrink, lambda a: np.where(abs(a) > 0.5, a, 0)),
    "softshrink": (F.softshrink, lambda a: np.sign(a) * np.maximum(abs(a) - 0.5, 0)),
    "tanhshrink": (F.tanhshrink, lambda a: a - np.tanh(a)),
    "softsign": (F.softsign, lambda a: a / (1 + abs(a))),
    "softplus": (
        lambda x: F.softplus(x, 2.0, 3.0),
        lambda a: np.where(a > 1.5, a, softplus(2 * a) / 2),
    ),
    "logsigmoid": (F.logsigmoid, lambda a: np.log(sigmoid(a))),
}


@pytest.mark.promise("N2")
@pytest.mark.parametrize("name", FORMULAS)
def test_activation_agrees_with_its_formula(name, device):
    op, formula = FORMULAS[name]
    check_op(op, formula, [(3, 5)], device, elementwise=True)


@pytest.mark.promise("N2")
def test_glu_gates_one_half_with_the_other():
    check_op(F.glu, lambda a: a[..., :2] * sigmoid(a[..., 2:]), [(3, 4)])


@pytest.mark.promise("N2")
@pytest.mark.parametrize("shape, n_weights", [((4, 3), 3), ((2, 3, 2), 3), ((5,), 1)])
def test_prelu_has_a_slope_per_channel(shape, n_weights):
    def formula(a, w):
        return np.where(a > 0, a, a * w.reshape([-1] + [1] * (a.ndim - 2)))

    check_op(facula.prelu, formula, [shape, (n_weights,)])


@pytest.mark.promise("N2", "T5")
@pytest.mark.parametrize(
    "function",
    [
        F.relu, F.relu6, F.elu, F.selu, F.celu, F.leaky_relu, F.silu, F.mish, F.hardswish,
        F.hardsigmoid, F.hardtanh, F.rrelu,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_in_place_form_writes_the_same_and_keeps_the_gradient(function):
    start = facula.linspace(-4, 4, 17, requires_grad=True)
    plain = function(start)
    x = start * 1
    assert function(x, inplace=True) is x
    assert facula.equal(x, plain)
    (expected,) = facula.autograd.grad(plain.sum(), start)
    (grad,) = facula.autograd.grad(x.sum(), start)
    assert facula.equal(grad, expected)


@pytest.mark.promise("N2")
def test_nan_passes_through():
    x = facula.tensor([facula.nan])
    for op, _ in FORMULAS.values():
        assert op(x).isnan().all()


@pytest.mark.promise("N2")
def test_softmax_without_a_dimension_warns_and_chooses_one():
    with pytest.warns(UserWarning, match=r"softmax: the choice of a dimension is deprecated"):
        y = F.softmax(facula.zeros(2, 4))
    assert y.sum(1).tolist() == [1.0, 1.0]


@pytest.mark.promise("N2")
def test_gumbel_softmax_samples_one_hot_vectors_with_a_gradient():
    logits = facula.randn(6, 4, requires_grad=True)
    y = F.gumbel_softmax(logits, tau=0.5, hard=True)
    assert sorted(set(y.flatten().tolist())) == [0.0, 1.0]
    (y * facula.randn(6, 4)).sum().backward()
    assert logits.grad.abs().sum() > 0


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "layer, expected",
    [
        (nn.ReLU(inplace=True), "ReLU(inplace=True)"),
        (nn.Hardtanh(-2, 2), "Hardtanh(min_val=-2, max_val=2)"),
        (nn.GELU("tanh"), "GELU(approximate='tanh')"),
        (nn.Softplus(), "Softplus(beta=1.0, threshold=20.0)"),
        (nn.LeakyReLU(0.2), "LeakyReLU(negative_slope=0.2)"),
        (nn.Softmax(dim=1), "Softmax(dim=1)"),
        (nn.Hardswish(inplace=True), "Hardswish()"),
        (nn.PReLU(3), "PReLU(num_parameters=3)"),
    ],
)
def test_layer_prints_as_in_pytorch(layer, expected):
    assert repr(layer) == expected


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: F.glu(facula.ones(3)), RuntimeError, r"glu: expected an even size in dim"),
        (lambda: F.hardtanh(facula.ones(1), 2, 1), ValueError, r"hardtanh: expected min_val <="),
        (lambda: F.softshrink(facula.ones(1), -1), RuntimeError, r"softshrink: expected lambd to"),
        (lambda: F.elu(facula.ones(1).int()), NotImplementedError, r"elu: not implemented for int"),
        (lambda: F.rrelu(facula.ones(1), 1, 0), RuntimeError, r"rrelu: expected lower <= upper"),
        (
            lambda: F.prelu(facula.ones(2, 3), facula.ones(2)),
            RuntimeError,
            r"prelu: expected a weight of 1 or of 3 elements, one per channel \(dim 1\)",
        ),
        (lambda: nn.Softmax2d()(facula.ones(2)), ValueError, r"Softmax2d: expected an input"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["elu", "leaky_relu", "softplus", "celu", "hardshrink"])
def test_complex_numbers_of_activations_are_refused(name):
    with pytest.raises(RuntimeError, match=f"{name}: expected real numbers, got a complex one"):
        getattr(F, name)(facula.ones(2), 1j)


def test_pieces_of_gelu_meet():
    """In float32 it is pieced together: around every joint, and where the last piece ends."""
    joints = (np.arange(16) + 0.5) * 25 / 64
    near = np.concatenate([joints + d for d in np.linspace(-1e-5, 1e-5, 41)] + [[6.04, 6.5, 30]])
    a = np.concatenate([near, -near]).astype(np.float32)
    wide = a.astype(np.float64)
    exact = np.array([v * math.erfc(-v / math.sqrt(2)) / 2 for v in wide])
    got = F.gelu(facula.from_numpy(a)).numpy()
    assert (np.abs(got - exact) <= np.maximum(np.abs(exact) * 1.2e-7, 3e-8)).all()
    # Far below zero the result is small, and still right to four digits.
    low = (wide > -5.5) & (wide < 0)
    assert (np.abs(got - exact)[low] <= 2e-4 * np.abs(exact[low])).all()


def test_gelu_of_tiny_numbers_is_half_of_them():
    x = facula.tensor([1e-30, -1e-30, 1e-12, -1e-12])
    assert facula.equal(F.gelu(x), x / 2)

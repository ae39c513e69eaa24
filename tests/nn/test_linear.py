"""F.linear, one operation of its own."""

import numpy as np
import pytest

import facula
from facula.nn import functional as F
from tests.check_op import check_op, check_threads

pytestmark = pytest.mark.promise("N2")


@pytest.mark.parametrize("lead", [(), (2,), (0,), (2, 3), (0, 3), (2, 1, 3)])
def test_linear_agrees_with_the_formula(lead, device):
    check_op(F.linear, lambda x, w, b: x @ w.T + b, [(*lead, 4), (5, 4), (5,)], device)


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4)])
def test_linear_without_bias_agrees_with_the_formula(shape, device):
    check_op(F.linear, lambda x, w: x @ w.T, [shape, (5, 4)], device)


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4)])
def test_a_weight_of_one_dimension_gives_one_number_a_vector(shape, device):
    check_op(F.linear, lambda x, w: x @ w, [shape, (4,)], device)


def test_linear_of_complex_numbers_agrees_with_the_formula():
    check_op(F.linear, lambda x, w, b: x @ w.T + b, [(2, 4), (3, 4), (3,)], dtypes=("complex64",))


def test_the_node_has_pytorchs_name():
    weight, bias = facula.ones(5, 4, requires_grad=True), facula.ones(5)
    assert F.linear(facula.ones(2, 4), weight, bias).grad_fn.name() == "AddmmBackward0"
    assert F.linear(facula.ones(2, 4), weight).grad_fn.name() == "MmBackward0"


def test_results_do_not_depend_on_the_number_of_threads():
    def run():
        facula.manual_seed(0)
        x, w = facula.randn(300, 200), facula.randn(150, 200, requires_grad=True)
        b = facula.randn(150, requires_grad=True)
        y = F.linear(x, w, b)
        y.square().sum().backward()
        return facula.cat([y.detach().flatten(), w.grad.flatten(), b.grad])

    check_threads(run)


def test_half_precision_rounds_once():
    x = facula.full((1, 4096), 1.0, dtype=facula.float16)
    bias = facula.tensor([0.5], dtype=facula.float16)
    assert F.linear(x, x, bias).item() == 4096.0
    assert F.linear(x[:, :1000], x[:, :1000], bias).item() == 1000.5


@pytest.mark.parametrize(
    "shapes, message",
    [
        (
            [(2, 5), (4, 3)],
            r"linear: expected an input of 3 features \(its last dimension\), got float32 \(2, 5\)."
            r" Was the layer meant to have in_features=5\?",
        ),
        ([(2, 3), (4, 3), (3,)], r"linear: expected a bias of 4 elements for a weight \(4, 3\)"),
        ([(), (4, 3)], "linear: expected an input and a weight of at least one dimension"),
        ([(2, 3), (1, 4, 3)], r"linear: expected a weight \(out_features, in_features\)"),
        ([(2, 3), (3,), (1,)], r"linear: expected a weight \(out_features, in_features\) with"),
    ],
)
def test_wrong_shapes_are_named(shapes, message):
    with pytest.raises(RuntimeError, match=message):
        F.linear(*(facula.ones(shape) for shape in shapes))


def test_other_dtypes_are_refused():
    with pytest.raises(RuntimeError, match="linear: expected input, weight and bias of one"):
        F.linear(facula.ones(2, 3, dtype=facula.float64), facula.ones(4, 3))


def test_saved_tensors_are_only_those_that_a_gradient_needs():
    saved = []

    def pack(x):
        saved.append(tuple(x.shape))
        return x

    with facula.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        F.linear(facula.ones(2, 4), facula.ones(5, 4, requires_grad=True))
    assert saved == [(2, 4)]


def test_second_derivatives_are_those_of_the_product():
    x = facula.tensor(np.array([[1.0, 2.0]]), requires_grad=True)
    w = facula.tensor(np.array([[3.0, 4.0]]), requires_grad=True)
    (gx,) = facula.autograd.grad(F.linear(x, w).square().sum(), x, create_graph=True)
    (gw,) = facula.autograd.grad(gx.sum(), w)
    # gx.sum() = 2 (x w) (w1 + w2), with x w = 11
    assert gw.tolist() == [[2 * (1 * 7 + 11), 2 * (2 * 7 + 11)]]


def test_bilinear_agrees_with_the_formula(device):
    check_op(
        F.bilinear,
        lambda x, y, w, b: np.einsum("ni,oij,nj->no", x, w, y) + b,
        [(2, 3), (2, 4), (5, 3, 4), (5,)],
        device,
    )


@pytest.mark.parametrize(
    "shapes, text",
    [
        (((2, 3), (2, 4), (3, 4)), r"expected a weight of 3 dimensions, got \(3, 4\)"),
        (((2, 3), (3, 4), (5, 3, 4)), r"agree in all dimensions but the last.*\(2, 3\).*\(3, 4\)"),
        (((2, 9), (2, 4), (5, 3, 4)), r"expected input1 to have 3 features.*got \(2, 9\)"),
        (((2, 3), (2, 9), (5, 3, 4)), r"expected input2 to have 4 features.*got \(2, 9\)"),
        (((2, 3), (2, 4), (5, 3, 4), (4,)), r"expected a bias of 5 elements, got \(4,\)"),
    ],
)
def test_bilinear_refuses_shapes_that_do_not_fit(shapes, text):
    with pytest.raises(RuntimeError, match=f"bilinear: .*{text}"):
        F.bilinear(*map(facula.ones, shapes))

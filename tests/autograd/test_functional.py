"""autograd.functional: Jacobians, Hessians and products with them."""

import pytest

import facula
from facula.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

pytestmark = pytest.mark.promise("A8")


def cube_sum(x):
    return (x**3).sum()


def pair(x, y):
    return x * y, (x * x).sum()


@pytest.fixture
def x():
    return facula.tensor([1.0, 2.0], dtype=facula.float64)


@pytest.fixture
def y():
    return facula.tensor([3.0, 5.0], dtype=facula.float64)


@pytest.mark.parametrize("options", [{}, {"vectorize": True, "strategy": "forward-mode"}])
def test_jacobian_has_a_block_for_each_output_and_input(x, y, options):
    blocks = jacobian(pair, (x, y), **options)
    assert blocks[0][0].tolist() == [[3, 0], [0, 5]]
    assert blocks[0][1].tolist() == [[1, 0], [0, 2]]
    assert blocks[1][0].tolist() == [2, 4]
    assert blocks[1][1].tolist() == [0, 0]
    assert jacobian(cube_sum, x, **options).tolist() == [3, 12]


def test_jacobian_with_create_graph_is_differentiable(x):
    x.requires_grad_()
    assert facula.autograd.gradcheck(lambda x: jacobian(facula.sin, x, create_graph=True), x)


@pytest.mark.parametrize(
    "options",
    [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}],
    ids=["rows", "at_once", "forward"],
)
def test_hessian_is_the_matrix_of_second_derivatives(x, y, options):
    assert hessian(cube_sum, x, **options).tolist() == [[6, 0], [0, 12]]
    blocks = hessian(lambda x, y: (x * x * y).sum(), (x, y), **options)
    assert blocks[0][0].tolist() == [[6, 0], [0, 10]]
    assert blocks[0][1].tolist() == blocks[1][0].tolist() == [[2, 0], [0, 4]]
    assert blocks[1][1].tolist() == [[0, 0], [0, 0]]


def test_products_agree_with_the_matrices(x, y):
    v = (facula.tensor([1.0, -1.0]).double(), facula.tensor(2.0).double())
    output, product = vjp(pair, (x, y), v)
    assert output[0].tolist() == [3, 10]
    assert [p.tolist() for p in product] == [[3 + 4, -5 + 8], [1, -2]]
    _, product = jvp(pair, (x, y), (y, x))
    assert [p.tolist() for p in product] == [[9 + 1, 25 + 4], 6 + 20]
    for hessian_product in (vhp, hvp):
        output, product = hessian_product(cube_sum, x, y)
        assert output.item() == 9
        assert product.tolist() == [18, 60]


def test_results_are_detached_unless_asked_for(x):
    x.requires_grad_()
    for create_graph in (False, True):
        output, product = vjp(cube_sum, x, create_graph=create_graph)
        assert output.requires_grad == product.requires_grad == create_graph


def test_strict_mode_refuses_independent_outputs(x):
    with pytest.raises(RuntimeError, match="output 0 of the function is independent"):
        jacobian(lambda x: facula.ones(2), x, strict=True)
    with pytest.raises(RuntimeError, match="independent of input 1"):
        vjp(lambda a, b: (a * 2).sum(), (x, x), strict=True)
    assert jacobian(lambda x: facula.ones(2).double(), x).tolist() == [[0, 0], [0, 0]]


def test_wrong_arguments_are_refused(x):
    with pytest.raises(TypeError, match="jacobian: expected inputs to be a tensor"):
        jacobian(cube_sum, [x])
    with pytest.raises(RuntimeError, match=r"vjp: v may be left out only"):
        vjp(facula.sin, x)
    with pytest.raises(RuntimeError, match=r"v has shape \(3,\) at index 0"):
        vjp(facula.sin, x, facula.ones(3))
    with pytest.raises(RuntimeError, match=r"hessian: expected func to return one element"):
        hessian(facula.sin, x)
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        jacobian(cube_sum, x, strategy="forward-mode")

"""Operations on sparse tensors agree with the same ones on dense tensors, gradients included."""

import copy
import pickle

import numpy as np
import pytest

import facula
from facula import nn, sparse

pytestmark = pytest.mark.promise("T11")

A = [[0.0, 2.0, 0.0, -1.0], [3.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0]]
B = [[1.0, -2.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.5], [0.0, 3.0, 0.0, 0.0]]
DENSE = facula.arange(12.0, dtype=facula.float64).reshape(3, 4).sin()
LAYOUTS = {
    "coo": lambda x: x.to_sparse(),
    "duplicates": lambda x: doubled(x.to_sparse()),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
}


def doubled(x):
    """The same tensor with every value in two halves, unsorted."""
    indices, values = x.indices().flip(1), x.values().flip(0)
    return facula.sparse_coo_tensor(
        facula.cat([indices, indices], 1), facula.cat([values, values]) / 2, x.shape
    )


def dense(rows=A):
    return facula.tensor(rows, dtype=facula.float64)


UNARY = """
abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf
isposinf log1p nan_to_num neg positive rad2deg relu round sgn sign signbit sin sinh sqrt square tan
tanh trunc
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", UNARY.split())
def test_functions_that_keep_zero_act_on_the_values(name, layout):
    x = dense() / 4
    result = getattr(facula, name)(LAYOUTS[layout](x))
    assert result.layout is LAYOUTS[layout](x).layout
    expected = getattr(facula, name)(x).to(result.dtype)
    assert np.allclose(result.to_dense().numpy(), expected.numpy(), equal_nan=True)


OPERATIONS = {
    "scaled": lambda x: x * 3,
    "scaled from the left": lambda x: 3 * x,
    "scaled by a tensor": lambda x: x * facula.tensor(2.0),
    "divided": lambda x: x / 4,
    "rounded quotient": lambda x: x.div(4, rounding_mode="floor"),
    "squared": lambda x: x**2,
    "negated": lambda x: -x,
    "sine": lambda x: x.sin(),
    "transposed": lambda x: x.t(),
    "total": lambda x: x.sum(),
    "times a matrix": lambda x: x @ DENSE.t(),
    "times a vector": lambda x: x @ DENSE[0],
    "a matrix times it": lambda x: DENSE.t() @ x,
    "a vector times it": lambda x: DENSE[:, 0] @ x,
    "added product": lambda x: facula.addmm(DENSE[:, :3], x, DENSE.t(), beta=2, alpha=3),
    "times dense, element-wise": lambda x: x * DENSE,
    "dense times it": lambda x: DENSE * x,
    "times a row": lambda x: x * DENSE[0],
    "times a column": lambda x: x * DENSE[:, :1],
    "dense plus it": lambda x: DENSE + x,
    "dense minus it": lambda x: DENSE - x,
    "one row": lambda x: x[1],
    "one element": lambda x: x[1, 3],
    "one column": lambda x: x[:, 1],
    "copy": lambda x: x.clone(),
    "another dtype": lambda x: x.float(),
    "linear": lambda x: nn.functional.linear(x, DENSE),
    "norm": lambda x: x.norm(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_agree_with_those_on_dense_tensors(name, layout):
    operation = OPERATIONS[name]
    plain = dense().requires_grad_()
    x = LAYOUTS[layout](dense()).requires_grad_()
    expected, result = operation(plain), operation(x)
    assert np.allclose(result.detach().to_dense().numpy(), expected.detach().numpy())

    weight = (facula.arange(expected.numel()) + 1.0).cos().reshape(expected.shape)
    (expected * weight).sum().backward()
    (result.to_dense() * weight).sum().backward()
    # A gradient is dense, or has the places of the tensor.
    wanted = plain.grad.numpy()
    if x.grad.layout is not facula.strided:
        wanted = wanted * (dense().numpy() != 0)
    assert np.allclose(x.grad.to_dense().numpy(), wanted)


COO_OPERATIONS = {
    "sum of rows": lambda x: sparse.sum(x, 1),
    "sum of columns, kept": lambda x: x.sum(0, keepdim=True),
    "permuted": lambda x: x.permute(1, 0),
    "chosen rows": lambda x: x.index_select(0, facula.tensor([1, 1, 0])),
    "chosen columns": lambda x: x.index_select(1, facula.tensor([3, 0])),
    "part": lambda x: x.narrow_copy(1, 1, 3),
    "slice": lambda x: x[:2, 1:],
    "joined": lambda x: facula.cat([x, x]),
    "joined along 1": lambda x: facula.cat([x, x * 2], 1),
    "stacked": lambda x: facula.stack([x, x]),
    "new dimension": lambda x: x.unsqueeze(1),
    "and none": lambda x: x.unsqueeze(1).squeeze(1),
    "sum with itself": lambda x: x + x * 2,
    "product with itself": lambda x: x * x,
    "product with another": lambda x: x * dense(B).to_sparse(),
    "difference": lambda x: x - dense(B).to_sparse(),
}
AS_DENSE = {
    "sum of rows": lambda x: x.sum(1),
    "product with another": lambda x: x * dense(B),
    "difference": lambda x: x - dense(B),
}


@pytest.mark.parametrize("layout", ["coo", "duplicates"])
@pytest.mark.parametrize("name", COO_OPERATIONS)
def test_operations_on_coo_tensors_agree_with_those_on_dense_ones(name, layout):
    plain = dense().requires_grad_()
    x = LAYOUTS[layout](dense()).requires_grad_()
    expected = AS_DENSE.get(name, COO_OPERATIONS[name])(plain)
    result = COO_OPERATIONS[name](x)
    assert np.allclose(result.detach().to_dense().numpy(), expected.detach().numpy())
    weight = (facula.arange(expected.numel()) + 1.0).cos().reshape(expected.shape)
    (expected * weight).sum().backward()
    (result.to_dense() * weight).sum().backward()
    places = dense().numpy() != 0
    grad = x.grad.to_dense().numpy()
    assert np.allclose(grad[places], plain.grad.numpy()[places])


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_products_of_two_sparse_matrices_are_sparse(layout):
    a, b = LAYOUTS[layout](dense()), LAYOUTS[layout](dense(B).t().contiguous())
    product = a @ b
    assert product.layout is a.layout
    assert np.allclose(product.to_dense().numpy(), (dense() @ dense(B).t()).numpy())


def test_batches_of_matrices_are_multiplied():
    batch = facula.stack([dense(), dense(B)])
    other = DENSE.t().expand(2, -1, -1)
    assert np.allclose(facula.bmm(batch.to_sparse(), other).numpy(), (batch @ other).numpy())
    assert np.allclose((batch.to_sparse() @ other).numpy(), (batch @ other).numpy())


def test_integers_are_multiplied():
    x = facula.tensor([[0, 2], [3, 0]])
    assert (x.to_sparse() @ facula.tensor([[1, 2], [3, 4]])).tolist() == [[6, 8], [3, 6]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_products_are_computed_in_every_dtype(dtype):
    a, b = (t.to(getattr(facula, dtype)) for t in (dense(), DENSE.t()))
    assert np.allclose(
        (a.to_sparse() @ b).to(facula.complex64).numpy(),
        (a.to(facula.complex64) @ b.to(facula.complex64)).numpy(),
        atol=0.05,
    )


def test_bits_of_a_product_do_not_depend_on_threads():
    generator = facula.Generator().manual_seed(0)
    x = facula.rand(300, 200, generator=generator)
    x = (x * (x > 0.7)).to_sparse_csr()
    dense = facula.rand(200, 64, generator=generator)
    before, products = facula.get_num_threads(), []
    for n in (1, 2, 3):
        facula.set_num_threads(n)
        products.append(x @ dense)
    facula.set_num_threads(before)
    assert facula.equal(products[0], products[1])
    assert facula.equal(products[0], products[2])
    assert np.allclose(products[0].numpy(), (x.to_dense() @ dense).numpy(), rtol=1e-5)


def test_softmax_counts_only_elements_that_are_there():
    x = facula.sparse_coo_tensor(
        [[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3), dtype=facula.float64, requires_grad=True
    )
    y = sparse.softmax(x, 1)
    assert y.to_dense().detach().tolist()[0] == [0, 0, 1]
    assert np.allclose(y.to_dense().detach().numpy()[1], [0.26894142, 0, 0.73105858])
    log = sparse.log_softmax(x, 1)
    assert np.allclose(log.detach().coalesce().values().exp().numpy(), y.values().detach().numpy())
    check = sparse.as_sparse_gradcheck(facula.autograd.gradcheck)
    assert check(lambda x: sparse.softmax(x, 1), x.detach().requires_grad_())
    assert check(lambda x: sparse.log_softmax(x, 0), x.detach().requires_grad_())
    hybrid = dense().to_sparse(1)
    rows = hybrid.coalesce().indices()[0]
    assert np.allclose(
        sparse.softmax(hybrid, 1).to_dense().numpy()[rows.numpy()],
        dense().softmax(1).numpy()[rows.numpy()],
    )


def test_sampled_addmm_computes_the_places_of_the_input():
    pattern = dense().to_sparse_csr().requires_grad_()
    a, b = DENSE[:, :2].contiguous().requires_grad_(), DENSE[:2].contiguous().requires_grad_()
    result = sparse.sampled_addmm(pattern, a, b, beta=0.5, alpha=2)
    mask = dense() != 0
    expected = (dense() * 0.5 + 2 * (a @ b)) * mask
    assert np.allclose(result.detach().to_dense().numpy(), expected.detach().numpy())
    check = sparse.as_sparse_gradcheck(facula.autograd.gradcheck)
    assert check(sparse.sampled_addmm, (pattern, a, b))


def test_masked_products_have_derivatives_of_first_and_second_order():
    x = dense().to_sparse().requires_grad_()
    other = DENSE.t().contiguous().requires_grad_()
    for function in (sparse.mm, lambda x, d: sparse.addmm(d[:3, :3], x, d, beta=2, alpha=3)):
        for gradcheck in (facula.autograd.gradcheck, facula.autograd.gradgradcheck):
            assert sparse.as_sparse_gradcheck(gradcheck)(function, (x, other))


def test_the_masked_mean_divides_by_the_values_of_a_row():
    x = dense().to_sparse_csr()
    mean = sparse.mm(x, DENSE.t(), "mean")
    counts = facula.tensor([[2.0], [2.0], [1.0]])
    assert np.allclose(mean.numpy(), ((dense() @ DENSE.t()) / counts).numpy())
    with pytest.raises(NotImplementedError, match="reduce"):
        sparse.mm(x, DENSE.t(), "amax")


def test_operations_in_place_change_the_tensor_itself():
    x = facula.eye(2).to_sparse()
    version = x._version
    for change in (lambda: x.mul_(3), lambda: x.add_(x), lambda: x.div_(2), lambda: x.neg_()):
        assert change() is x
    assert x.to_dense().tolist() == [[-3, 0], [0, -3]]
    assert x._version > version
    assert x.zero_()._nnz() == 0
    x.copy_(facula.eye(2).to_sparse())
    assert x.to_dense().tolist() == [[1, 0], [0, 1]]
    x.sparse_resize_((3, 2), 2, 0)
    assert (x.shape, x.numel(), x.to_dense().shape) == ((3, 2), 6, (3, 2))
    x.sparse_resize_and_clear_((4,), 1, 0)
    assert (x.shape, x._nnz()) == ((4,), 0)


def test_a_sparse_tensor_is_added_to_a_dense_one_in_place():
    x = facula.eye(2).to_sparse()
    y = facula.ones(2, 2)
    assert y.add_(x, alpha=2) is y
    assert y.tolist() == [[3, 1], [1, 3]]
    assert facula.ones(2, 2).t().sub_(x).tolist() == [[0, 1], [1, 0]]


def test_copies_are_equal_and_apart():
    x = facula.eye(2).to_sparse().requires_grad_()
    for y in (x.detach().clone(), copy.deepcopy(x), pickle.loads(pickle.dumps(x.detach()))):
        y = y.detach()
        assert y.is_coalesced()
        y.values().fill_(5)
        assert x.detach().values().tolist() == [1, 1]


def test_a_huge_shape_costs_nothing():
    x = facula.sparse_coo_tensor([[0, 10**9 - 1], [5, 7]], [1.0, 2.0], (10**9, 10**9))
    y = (x + x.t() * 2).coalesce()
    assert y._nnz() == 4
    assert y.sum().item() == 9
    assert x[10**9 - 1, 7].item() == 2


def test_values_of_a_leaf_get_gradients_through_the_tensor():
    values = facula.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = facula.sparse_coo_tensor([[1, 0, 1], [2, 1, 2]], values, (2, 3))  # one place is there twice
    (x.to_dense() * facula.arange(6.0).reshape(2, 3)).sum().backward()
    assert values.grad.tolist() == [5, 1, 5]
    values.grad = None
    y = facula.sparse_csr_tensor([0, 1, 3], [2, 0, 2], values, (2, 3))
    (y @ facula.arange(3.0)).sum().backward()
    assert values.grad.tolist() == [2, 0, 2]


def test_a_sparse_leaf_accumulates_sparse_gradients():
    x = facula.eye(2).to_sparse().requires_grad_()
    sparse.sum(x).backward()
    grad = x.grad
    assert grad.is_sparse
    sparse.sum(x * 2).backward()
    assert x.grad is grad
    assert grad.to_dense().tolist() == [[3, 0], [0, 3]]
    x.sum().backward()  # dense
    assert x.grad.tolist() == [[4, 1], [1, 4]]


def test_gradients_flow_back_from_a_sparse_result():
    x = facula.eye(2).to_sparse().requires_grad_()
    y = x * 2
    y.retain_grad()
    seen = []
    y.register_hook(lambda grad: seen.append(grad.layout))
    y.backward(facula.eye(2).to_sparse())
    assert seen == [facula.sparse_coo]
    assert x.grad.to_dense().tolist() == [[2, 0], [0, 2]]
    assert y.grad.to_dense().tolist() == [[1, 0], [0, 1]]


def test_a_sparse_gradient_is_made_dense_for_derivatives_of_the_core():
    table = facula.ones(3, 2, requires_grad=True)
    nn.functional.embedding(facula.tensor([0, 2, 2]), table * 3, sparse=True).sum().backward()
    assert table.grad.tolist() == [[3, 3], [0, 0], [6, 6]]
    x = facula.ones(2, 2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad.to_sparse())
    (y * 3).sum().backward()
    assert x.grad.tolist() == [[6, 6], [6, 6]]


def test_a_parameter_may_be_sparse():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(facula.eye(2).to_sparse())
            self.register_buffer("adjacency", facula.eye(2).to_sparse_csr())

    model = copy.deepcopy(Model()).double()
    assert [name for name, _ in model.named_parameters()] == ["weight"]
    assert isinstance(pickle.loads(pickle.dumps(model.weight)), nn.Parameter)
    assert repr(model.weight).startswith("Parameter containing:\ntensor(indices=")
    optimizer = facula.optim.SGD(model.parameters(), lr=0.5)
    product = sparse.mm(model.weight, model.adjacency.to_dense())
    product.sum().backward()
    optimizer.step()
    assert model.weight.to_dense().tolist() == [[0.5, 0], [0, 0.5]]
    other = Model()
    other.load_state_dict(model.state_dict())
    assert other.weight.to_dense().tolist() == [[0.5, 0], [0, 0.5]]


def test_assert_close_compares_sparse_tensors():
    x = facula.eye(2).to_sparse()
    facula.testing.assert_close(x, x.clone())
    facula.testing.assert_close(x, facula.eye(2), check_layout=False)
    with pytest.raises(AssertionError, match="'layout' do not match"):
        facula.testing.assert_close(x, facula.eye(2))
    with pytest.raises(AssertionError, match="not close"):
        facula.testing.assert_close(x, x * 2)


def test_questions_about_parts_do_not_enter_as_operations():
    x, rows = dense().to_sparse(), dense().to_sparse_csr()
    with facula._core._count_operations() as counts:
        assert (x.sparse_dim(), x.dense_dim(), x.is_coalesced()) == (2, 0, True)
        assert (rows.sparse_dim(), rows.dense_dim(), rows._nnz()) == (2, 0, 4)
    assert set(counts) <= {"Tensor.__len__"}


@pytest.mark.parametrize("layout", ["sparse_bsr", "sparse_bsc"])
def test_dimensions_of_blocks_are_counted(layout):
    x = facula.ones(4, 6, 5).to_sparse(
        layout=getattr(facula, layout), blocksize=(2, 3), dense_dim=1
    )
    assert (x.sparse_dim(), x.dense_dim()) == (2, 1)


def test_rules_are_found_by_function_method_and_class():
    x = dense().to_sparse()
    for found in (x.sin(), facula.sin(x), facula.Tensor.sin(x)):
        assert facula.equal(found.to_dense(), dense().sin())
    assert facula.Tensor.dense_dim(x) == 0
    assert facula.sum(x, axis=0, keepdims=True).shape == (1, 4)
    assert type(x).__torch_function__(facula.Tensor.dense_dim, (type(x),), (x,)) == 0
    assert type(x).__torch_function__(facula.sum, (type(x),), (x,), {"axis": 0}).shape == (4,)
    assert type(x).__torch_function__(facula.sum, (int,), (x,)) is NotImplemented


def test_lists_for_each_column_are_those_of_the_transpose():
    x = dense()
    columns, rows = x.to_sparse_csc(), x.t().to_sparse_csr()
    assert facula.equal(columns.ccol_indices(), rows.crow_indices())
    assert facula.equal(columns.row_indices(), rows.col_indices())
    assert facula.equal(columns.values(), rows.values())
    hybrid = facula.ones(2, 3, 2).to_sparse_csc(dense_dim=1)
    assert hybrid.values().shape == (6, 2)
    assert facula.equal(hybrid.to_dense(), facula.ones(2, 3, 2))


def test_products_without_history_make_no_node():
    x = dense().to_sparse()
    assert (x @ dense().t()).grad_fn is None
    assert x.values().grad_fn is None
    values = facula.ones(2, requires_grad=True)
    made = facula.sparse_coo_tensor([[0, 1]], values, (3,))
    assert made.requires_grad
    with facula.no_grad():
        assert not facula.sparse_coo_tensor([[0, 1]], values, (3,)).requires_grad

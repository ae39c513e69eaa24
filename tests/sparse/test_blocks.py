"""Matrices of blocks: what they are made of, conversions, products, gradients, files."""

import io

import numpy as np
import pytest

import facula

pytestmark = pytest.mark.promise("T11")

LAYOUTS = ["bsr", "bsc"]


def dense(dtype=facula.float64):
    x = facula.arange(24.0, dtype=dtype).reshape(4, 6)
    x[:2, 2:4] = 0
    return x


def blocks(layout, blocksize=(2, 2), x=None):
    x = dense() if x is None else x
    return getattr(x, f"to_sparse_{layout}")(blocksize)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("blocksize", [(2, 2), (2, 3), (1, 6), (4, 1), (4, 6), (1, 1)])
def test_a_matrix_becomes_blocks_and_comes_back(layout, blocksize):
    x = blocks(layout, blocksize)
    assert str(x.layout) == f"torch.sparse_{layout}"
    assert tuple(x.values().shape[1:]) == blocksize
    assert x.to_dense().tolist() == dense().tolist()
    assert x.to_sparse().to_dense().tolist() == dense().tolist()
    assert x.to_sparse_csr().to_dense().tolist() == dense().tolist()
    assert x.t().to_dense().tolist() == dense().t().tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_other_layouts_become_blocks(layout, source):
    x = getattr(dense(), source)()
    made = getattr(x, f"to_sparse_{layout}")((2, 2))
    expected = blocks(layout)
    assert repr(made) == repr(expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_that_are_zero_are_not_kept(layout):
    assert blocks(layout)._nnz() == 5
    assert blocks(layout, x=facula.zeros(4, 4))._nnz() == 0
    assert blocks(layout, x=facula.zeros(4, 4)).to_dense().tolist() == [[0] * 4] * 4


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_with_dense_matrices(layout):
    x, other = blocks(layout), facula.arange(12.0, dtype=facula.float64).reshape(6, 2)
    expected = dense() @ other
    assert (x @ other).tolist() == expected.tolist()
    assert facula.mm(x, other).tolist() == expected.tolist()
    assert facula.sparse.mm(x, other).tolist() == expected.tolist()
    assert (other.t() @ x.t()).tolist() == expected.t().tolist()
    assert (x @ other[:, 0]).tolist() == expected[:, 0].tolist()
    total = facula.addmm(facula.ones(4, 2, dtype=facula.float64), x, other, beta=2, alpha=3)
    assert total.tolist() == (2 + 3 * expected).tolist()
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        x @ other.t()
    with pytest.raises(NotImplementedError, match="two sparse matrices"):
        x @ x.t()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_blocks_have_their_places(layout):
    x, other = blocks(layout).requires_grad_(), dense().t().contiguous().requires_grad_()
    weight = facula.arange(16.0, dtype=facula.float64).reshape(4, 4)
    (x @ other * weight).sum().backward()
    plain, again = dense().requires_grad_(), dense().t().contiguous().requires_grad_()
    (plain @ again * weight).sum().backward()
    assert str(x.grad.layout) == f"torch.sparse_{layout}"
    is_kept = facula.ones_like(x.detach()).to_dense()
    assert x.grad.to_dense().tolist() == (plain.grad * is_kept).tolist()
    assert other.grad.tolist() == again.grad.tolist()
    x.grad = None
    (x.sin() * 2 + x).to_dense().sum().backward()
    expected = (dense().cos() * 2 + 1) * is_kept
    np.testing.assert_allclose(x.grad.to_dense().numpy(), expected.numpy())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_pass_conversions(layout):
    def through(x):
        made = getattr(x, f"to_sparse_{layout}")((2, 3))
        return (made * made).to_dense() + made.to_sparse().to_dense()

    x = (dense() + 1).requires_grad_()
    through(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (2 * x.detach() + 1).numpy())
    values = facula.ones(2, 2, 3, dtype=facula.float64, requires_grad=True)
    make = getattr(facula, f"sparse_{layout}_tensor")
    (make([0, 1, 2], [0, 1], values).to_dense() * 3).sum().backward()
    assert values.grad.tolist() == facula.full((2, 2, 3), 3.0).tolist()
    y = dense().to_sparse().requires_grad_()
    (getattr(y, f"to_sparse_{layout}")((2, 2)).values() * 2).sum().backward()
    assert y.grad.to_dense().sum().item() == 2 * int((dense() != 0).sum())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arithmetic_keeps_the_layout(layout):
    x = blocks(layout)
    other = blocks(layout, x=dense().flip(0))
    for made, expected in (
        (x + other, dense() + dense().flip(0)),
        (x - other, dense() - dense().flip(0)),
        (x * other, dense() * dense().flip(0)),
        (x * dense().flip(0), dense() * dense().flip(0)),
        (x / 2, dense() / 2),
        (3 * x, 3 * dense()),
        (x.sqrt(), dense().sqrt()),
    ):
        assert made.layout is x.layout
        assert made.to_dense().tolist() == expected.tolist()
    assert (dense() + x).tolist() == (2 * dense()).tolist()
    assert x.sum().item() == dense().sum().item()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_are_saved_and_copied(layout):
    import copy
    import pickle

    x = blocks(layout)
    file = io.BytesIO()
    facula.save(x, file)
    file.seek(0)
    for again in (facula.load(file), pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone()):
        assert repr(again) == repr(x)


def test_parts_that_do_not_fit_are_refused():
    make, values = facula.sparse_bsr_tensor, facula.ones(2, 2, 3)
    for call, message in (
        (lambda: make([0, 1, 2], [0, 1], values, (4, 8)), "divisible"),
        (lambda: make([0, 1, 2], [0, 1], values, (6, 6)), "number of rows"),
        (lambda: make([0, 1, 2], [0], values), "nnz"),
        (lambda: make([0, 1, 2], [0, 1], facula.ones(2)), "dimensionality"),
        (lambda: make([0, 1, 2], [0, 1], facula.ones(2, 0, 3)), "blocks with elements"),
        (lambda: make([0, 1, 2], [0, 7], values, (4, 6), check_invariants=True), "plain_dim"),
        (lambda: make([0, 1, 2], [0, 7], values, (4, 6)).to_dense(), "index 7"),
        (lambda: make([0, 1, 2], [0, 7], values, (4, 6)) @ facula.ones(6, 1), "index 7"),
        (lambda: make([0, 1, 2], [0, 7], values, (4, 6)).to_sparse(), "size is 6 but found"),
        (lambda: make([0, 1, 2], [0, 7], values, (4, 6)).to_sparse_csc(), "size is 6 but found"),
        (lambda: make([0, 1, 2], [-1, 1], values, (4, 6)).to_sparse_csr(), "negative index"),
        (lambda: make([0, 2, 1], [0, 1], values, (4, 6)).to_dense(), "must rise"),
        (lambda: dense().to_sparse_bsr((3, 2)), "divisible"),
        (lambda: dense().to_sparse_bsr((0, 2)), "positive"),
        (lambda: dense().to_sparse(layout=facula.sparse_bsr), "blocksize"),
        (lambda: blocks("bsr").to_sparse_bsr((1, 2)), "blocksize changed"),
        (lambda: blocks("bsr") + blocks("bsc"), "one layout"),
        (lambda: blocks("bsr") + 1, "to_dense"),
        (lambda: blocks("bsr").ccol_indices(), "column compressed"),
        (lambda: blocks("bsr").coalesce(), "coordinate.*SparseBsr"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_operations_without_a_rule_are_refused():
    x = blocks("bsr")
    for call in (
        lambda: x[0],
        lambda: x.view(6, 4),
        lambda: facula.cat([x, x]),
        lambda: x.exp(),
        lambda: x.sum(0),
        lambda: facula.softmax(x, 1),
    ):
        with pytest.raises(NotImplementedError, match="sparse_bsr"):
            call()


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "bsc"])
def test_compressed_tensors_have_no_strides(kind):
    x = blocks(kind) if kind in ("bsr", "bsc") else getattr(dense(), f"to_sparse_{kind}")()
    for call in (x.stride, lambda: x.stride(0), x.dim_order):
        with pytest.raises(
            RuntimeError, match=f"Sparse {kind.upper()} tensors do not have strides"
        ):
            call()
    with pytest.raises(RuntimeError, match=f"{kind.upper()} tensors do not have is_contiguous"):
        x.is_contiguous()


def test_strides_of_coordinates_are_zeros():
    x = dense().to_sparse()
    assert x.stride() == (0, 0) and x.stride(-1) == 0 and not x.is_contiguous()
    assert facula.tensor(1.0).to_sparse().stride() == ()
    with pytest.raises(IndexError):
        x.stride(2)
    with pytest.raises(AttributeError, match="dim order on sparse type"):
        x.dim_order()

"""Sparse tensors from indices and values: what they hold, what is refused, how they print."""

import pytest

import facula
from facula import sparse

pytestmark = pytest.mark.promise("T11")

INDICES, VALUES = [[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0]
DENSE = [[0, 0, 3], [4, 0, 5]]


def coo(**options):
    return facula.sparse_coo_tensor(INDICES, VALUES, (2, 3), **options)


def csr(**options):
    return facula.sparse_csr_tensor([0, 1, 3], [2, 0, 2], VALUES, (2, 3), **options)


def csc(**options):
    return facula.sparse_csc_tensor([0, 1, 1, 3], [1, 0, 1], [4.0, 3.0, 5.0], (2, 3), **options)


@pytest.mark.parametrize("make", [coo, csr, csc])
def test_every_layout_has_the_same_elements(make):
    x = make()
    assert isinstance(x, facula.Tensor)
    assert x.to_dense().tolist() == DENSE
    assert (x.shape, x.dtype, x.dim(), x.numel(), len(x)) == ((2, 3), facula.float32, 2, 6, 2)
    assert x._nnz() == 3
    assert (x.sparse_dim(), x.dense_dim()) == (2, 0)
    assert x.layout is getattr(facula, f"sparse_{make.__name__}")
    assert x.is_sparse is (make is coo)
    assert x.is_sparse_csr is (make is csr)


def test_a_dense_tensor_is_strided():
    x = facula.ones(2)
    assert x.layout is facula.strided
    assert not x.is_sparse
    assert not x.is_sparse_csr
    assert x.to_dense() is x
    assert (x.sparse_dim(), x.dense_dim()) == (0, 1)


def test_layouts_have_pytorchs_names():
    names = ["strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]
    assert [str(getattr(facula, name)) for name in names] == [f"torch.{name}" for name in names]


def test_coalesce_sorts_indices_and_adds_values_of_equal_ones():
    x = facula.sparse_coo_tensor([[1, 0, 1], [2, 1, 2]], [1.0, 2.0, 3.0], (2, 3))
    assert not x.is_coalesced()
    y = x.coalesce()
    assert y.is_coalesced()
    assert y.indices().tolist() == [[0, 1], [1, 2]]
    assert y.values().tolist() == [2, 4]
    assert y.coalesce() is y
    assert x._indices().tolist() == [[1, 0, 1], [2, 1, 2]]
    assert x.to_dense().tolist() == [[0, 2, 0], [0, 0, 4]]


def test_coalesce_of_truths_says_whether_one_is_true():
    x = facula.sparse_coo_tensor([[1, 0, 1]], [True, False, True], (2,)).coalesce()
    assert x.values().tolist() == [False, True]


def test_indices_and_values_of_an_uncoalesced_tensor_are_refused():
    x = coo()
    for name in ("indices", "values"):
        with pytest.raises(RuntimeError, match=f"Cannot get {name} on an uncoalesced tensor"):
            getattr(x, name)()


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16], ids=str)
def test_many_values_of_half_precision_add_up_at_one_place(dtype):
    x = facula.sparse_coo_tensor(
        facula.zeros(1, 3072, dtype=facula.int64), facula.ones(3072, 2, dtype=dtype), (2, 2)
    )
    assert x.to_dense().dtype == dtype
    assert x.to_dense().tolist() == x.coalesce().to_dense().tolist() == [[3072, 3072], [0, 0]]


def test_values_may_have_dense_dimensions():
    x = facula.sparse_coo_tensor([[2, 0]], [[1.0, 2.0], [3.0, 4.0]], (3, 2))
    assert (x.sparse_dim(), x.dense_dim()) == (1, 1)
    assert x.to_dense().tolist() == [[3, 4], [0, 0], [1, 2]]
    assert x.to_dense().to_sparse(1).coalesce().values().tolist() == [[3, 4], [1, 2]]


def test_the_smallest_size_is_taken_without_one():
    assert facula.sparse_coo_tensor(INDICES, VALUES).shape == (2, 3)
    assert facula.sparse_csr_tensor([0, 1, 3], [2, 0, 2], VALUES).shape == (2, 3)
    assert facula.sparse_csc_tensor([0, 1, 1, 3], [1, 0, 1], VALUES).shape == (2, 3)


def test_a_size_alone_gives_a_tensor_without_values():
    x = facula.sparse_coo_tensor(size=(2, 3))
    assert x.to_dense().tolist() == [[0] * 3] * 2
    assert x.is_coalesced()
    assert facula.sparse_coo_tensor((2, 3))._nnz() == 0


def test_options_set_dtype_and_grad():
    x = coo(dtype=facula.float64, requires_grad=True)
    assert x.dtype == facula.float64
    assert x.is_leaf
    assert x.requires_grad


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: facula.sparse_coo_tensor([0, 1], [1.0, 2.0], (2,)), "sparse_dim x nnz"),
        (lambda: facula.sparse_coo_tensor([[0, 1]], [1.0], (2,)), "must have same nnz"),
        (lambda: facula.sparse_coo_tensor([[0]], [1.0], (2, 2)), "is not satisfied: len"),
        (lambda: facula.sparse_coo_tensor([[0]], [[1.0]], (2, 2)), "values has incorrect size"),
        (lambda: facula.sparse_coo_tensor([[0]], [1.0], (-2,)), "sizes of at least 0"),
        (lambda: facula.sparse_coo_tensor(size=(2**40, 2**40)), "more elements than an int64"),
        (lambda: facula.sparse_csr_tensor([0, 1], [0], [1.0], (2, 2)), r"number of rows \+ 1"),
        (lambda: facula.sparse_csr_tensor([0, 1], [0, 1], [1.0], (1, 2)), "must be equal to nnz"),
        (lambda: facula.sparse_csr_tensor([0, 1], [0], [1.0], (1, 2, 2)), "size: expected two"),
        (
            lambda: facula.sparse_compressed_tensor(
                [0, 1], [0], [1.0], (1, 2), layout=facula.sparse_coo
            ),
            "expected sparse compressed tensor layout",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_batches_of_compressed_matrices_are_refused():
    for call in (
        lambda: facula.sparse_csr_tensor([[0, 1]], [[0]], [[1.0]]),
        lambda: facula.ones(3, 4, 4).to_sparse_bsr((2, 2)),
    ):
        with pytest.raises(NotImplementedError, match="batch"):
            call()


def test_zeros_and_empty_may_be_sparse():
    for make in (facula.zeros, facula.empty):
        for layout in ("sparse_coo", "sparse_csr", "sparse_csc"):
            x = make(2, 3, dtype=facula.float64, layout=getattr(facula, layout), requires_grad=True)
            assert (x.layout, x._nnz()) == (getattr(facula, layout), 0)
            assert (x.dtype, x.requires_grad) == (facula.float64, True)
            assert x.detach().to_dense().tolist() == [[0] * 3] * 2
    for layout in (facula.sparse_csr, facula.sparse_bsr):
        with pytest.raises(NotImplementedError, match=f"layout {layout} is not implemented"):
            facula.zeros(2, layout=layout)


def test_other_factories_refuse_sparse_layouts():
    for call in (
        lambda: facula.ones(2, layout=facula.sparse_coo),
        lambda: facula.rand(2, layout=facula.sparse_csr),
        lambda: facula.ones_like(facula.ones(2), layout=facula.sparse_coo),
    ):
        with pytest.raises(NotImplementedError, match=r"layout: expected torch\.strided"):
            call()
    assert facula.zeros(2, layout=facula.strided).tolist() == [0, 0]


BAD = [
    (lambda **o: facula.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,), **o), "found index 5"),
    (lambda **o: facula.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (3,), **o), "negative index -1"),
    (lambda **o: facula.sparse_csr_tensor([0, 1], [7], [1.0], (1, 3), **o), "col_indices < plain"),
    (
        lambda **o: facula.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0], (2, 3), **o),
        r"crow_indices\[..., -1\] == nnz",
    ),
    (
        lambda **o: facula.sparse_csr_tensor([0, 2**40], [0, 1], [1.0, 2.0], (1, 3), **o),
        r"crow_indices\[..., -1\] == nnz",
    ),
    (
        lambda **o: facula.sparse_csr_tensor([1, 2], [0, 1], [1.0, 2.0], (1, 3), **o),
        r"crow_indices\[..., 0\] == 0",
    ),
    (
        lambda **o: facula.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 3), **o),
        "sorted and distinct",
    ),
]


@pytest.mark.parametrize("make, message", BAD)
def test_indices_are_checked_where_that_is_asked_for(make, message):
    with pytest.raises(RuntimeError, match=message):
        make(check_invariants=True)
    with sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match=message):
        make()
    make()  # unchecked, and harmless: see the next test


@pytest.mark.parametrize("make, message", BAD[:-1])
def test_operations_refuse_indices_that_are_out_of_range(make, message):
    x = make()
    for use in (
        lambda: x.to_dense(),
        lambda: x @ facula.ones(x.shape[-1], 2),
        lambda: facula.ones(x.shape) + x,
        lambda: (x * facula.ones(x.shape)).to_dense(),
        lambda: (x + x).to_dense(),
        lambda: x.to_sparse_csc() if x.layout is facula.sparse_csr else x.to_sparse_csr(),
        lambda: x.coalesce() if x.layout is facula.sparse_coo else x.to_sparse(),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            use()


def test_the_checks_are_a_context_a_decorator_and_a_switch():
    check = sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
        with check(enable=False):
            assert not check.is_enabled()
    assert check()(check.is_enabled)()
    check.enable()
    assert check.is_enabled()
    check.disable()
    assert not check.is_enabled()


def test_parts_of_dense_tensors_are_refused():
    x = facula.ones(2)
    for name in ("indices", "values", "coalesce", "is_coalesced", "crow_indices", "row_indices"):
        with pytest.raises(RuntimeError, match=f"{name} expected sparse"):
            getattr(x, name)()


def test_historic_constructors_make_coo_tensors():
    x = sparse.FloatTensor(facula.tensor(INDICES), facula.tensor(VALUES), facula.Size((2, 3)))
    assert x.to_dense().tolist() == DENSE
    assert sparse.DoubleTensor(2, 3).dtype == facula.float64
    assert sparse.LongTensor().shape == (0,)
    assert isinstance(x, sparse.FloatTensor)
    assert not isinstance(x, facula.FloatTensor)
    assert not isinstance(x.to_dense(), sparse.FloatTensor)
    assert x.type() == "torch.sparse.FloatTensor"
    assert x.type(sparse.DoubleTensor).type() == "torch.sparse.DoubleTensor"


PRINTED = """\
tensor(indices=tensor([[0, 1, 1],
                       [2, 0, 2]]),
       values=tensor([3., 4., 5.]),
       size=(2, 3), nnz=3, layout=torch.sparse_coo)"""
PRINTED_CSR = """\
tensor(crow_indices=tensor([0, 1, 3]),
       col_indices=tensor([2, 0, 2]),
       values=tensor([3., 4., 5.]), size=(2, 3), nnz=3, dtype=torch.float64,
       layout=torch.sparse_csr, requires_grad=True)"""
PRINTED_EMPTY = """\
tensor(indices=tensor([], size=(2, 0)),
       values=tensor([], size=(0,)),
       size=(2, 3), nnz=0, layout=torch.sparse_coo)"""


def test_sparse_tensors_are_printed_as_pytorch_prints_them():
    assert repr(coo()) == PRINTED
    assert repr(csr(dtype=facula.float64, requires_grad=True)) == PRINTED_CSR
    assert repr(facula.sparse_coo_tensor(size=(2, 3))) == PRINTED_EMPTY
    assert repr(csc()).startswith("tensor(ccol_indices=tensor([0, 1, 1, 3]),\n       row_indices=")


def test_spdiags_puts_diagonals_into_a_matrix():
    diagonals = facula.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    x = sparse.spdiags(diagonals, facula.tensor([0, -1]), (3, 3), facula.sparse_csr)
    assert x.layout is facula.sparse_csr
    assert x.to_dense().tolist() == [[1, 0, 0], [4, 2, 0], [0, 5, 3]]
    with pytest.raises(RuntimeError, match="duplicate"):
        sparse.spdiags(diagonals, facula.tensor([1, 1]), (3, 3))

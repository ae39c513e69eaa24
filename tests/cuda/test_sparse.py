"""Sparse tensors on a GPU."""

import pytest
from agree import assert_agrees

import facula
from facula import _core, cuda

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
INDICES = [[0, 2, 1, 2], [4, 0, 3, 0], [1, 1, 0, 1]]
SIZES = (3, 5, 2)


def test_numbers_of_places_agree():
    assert_agrees(lambda at: _core._places(at, SIZES), facula.tensor(INDICES))
    assert_agrees(lambda at: _core._places(at, SIZES), facula.zeros(3, 0, dtype=facula.int64))
    assert_agrees(lambda at: _core._places(at, SIZES), facula.zeros(0, 4, dtype=facula.int64))


@pytest.mark.parametrize(
    "place, message",
    [
        ((0, 3), "for dim 0, size is 3 but found index 7"),
        ((2, 0), "for dim 2, size is 2 but found index 7"),
    ],
)
def test_indices_outside_of_the_sizes_are_refused(place, message):
    indices = facula.tensor(INDICES)
    indices[place] = 7
    with pytest.raises(RuntimeError, match=message):
        _core._places(indices.cuda(), SIZES)
    indices[place] = -1
    with pytest.raises(RuntimeError, match=f"found negative index -1 for dim {place[0]}"):
        _core._places(indices.cuda(), SIZES)


def test_indices_that_are_known_to_be_inside_are_not_waited_for():
    indices = facula.tensor(INDICES).cuda()
    graph = cuda.CUDAGraph()
    cuda.synchronize()
    with cuda.graph(graph):  # where whatever waits is refused
        places = _core._places(indices, SIZES, is_inside=True)
    graph.replay()
    assert facula.equal(places.cpu(), _core._places(indices.cpu(), SIZES))


@pytest.mark.parametrize("layout", [facula.sparse_coo, facula.sparse_csr, facula.sparse_csc])
def test_layouts_agree(layout):
    dense = (facula.arange(42.0).reshape(6, 7) % 5).relu() * (facula.arange(7) % 3 > 0)
    sparse = dense.cuda().to_sparse(layout=layout)
    assert facula.equal(sparse.to_dense().cpu(), dense)
    for other in (facula.sparse_coo, facula.sparse_csr, facula.sparse_csc):
        assert facula.equal(sparse.to_sparse(layout=other).to_dense().cpu(), dense)
    doubled = facula.sparse_coo_tensor(
        facula.tensor([[1, 0, 1], [2, 1, 2]]), facula.tensor([3.0, 4.0, 5.0]), (2, 3)
    )
    expected = doubled.to_dense()
    assert facula.equal(doubled.to("cuda").to_sparse(layout=layout).to_dense().cpu(), expected)


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16], ids=str)
def test_values_of_half_precision_add_up_as_on_the_cpu(dtype):
    at, values = facula.zeros(1, 5000, dtype=facula.int64), facula.ones(5000, 3, dtype=dtype)
    assert_agrees(lambda i, v: facula.sparse_coo_tensor(i, v, (4, 3)).to_dense(), at, values)

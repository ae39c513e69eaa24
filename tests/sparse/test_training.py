"""Trainings with sparse tensors give the numbers that PyTorch 2.13 gives, and files keep them."""

import io

import pytest
from sparse_programs import PROGRAMS, spread

import facula
from facula import nn, optim

pytestmark = pytest.mark.promise("T11")

# First loss, last loss and last weights: those of PyTorch 2.13 (tests/parity/test_sparse.py).
GRAPH = (
    1.0889853108843426,
    0.7405034432183726,
    [
        *[-0.771990662, 1.096645283, 0.547640049, -1.001659162, -0.507189636, -0.326772735],
        *[-0.764100757, 1.267821563, -0.902704991],
    ],
)
EXPECTED = {
    "a graph network, CSR": GRAPH,
    "a graph network, COO": GRAPH,
    "weights of edges": (
        1.2032680167997727,
        0.05928497683025483,
        [-0.076014775, 0.57184718, -0.127770551, -0.448524977, 0.056456624, 0.575461244],
    ),
    "word vectors, SparseAdam": (
        0.8142086686864799,
        0.41148605346964007,
        [
            *[0.348333513, 0.108937971, -0.393569949, 0.015269216],
            *[0.496359897, -0.410028044, -0.35053144, 0.505943961],
        ],
    ),
    "word vectors, SGD": (
        0.8142086686864799,
        0.3424999610150679,
        [
            *[0.236942879, -0.266518102, -0.168264099, 0.309877908],
            *[0.376712232, -0.605395368, -0.220708511, 0.662269521],
        ],
    ),
    "word vectors, Adagrad": (
        0.8142086686864799,
        0.37397272479608196,
        [
            *[0.299384335, 0.04189055, -0.331427032, 0.082044531],
            *[0.459465116, -0.433874492, -0.309452836, 0.510693618],
        ],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_training_gives_pytorchs_numbers(name):
    losses, weights = PROGRAMS[name](facula)
    first, last, expected = EXPECTED[name]
    assert (losses[0], losses[-1]) == pytest.approx((first, last), abs=1e-12)
    assert weights == pytest.approx(expected, abs=2e-9)


def table(**options):
    made = nn.Embedding(5, 2, sparse=True, **options)
    with facula.no_grad():
        made.weight.copy_(spread(facula, 5, 2))
    return made


def test_an_embedding_has_a_sparse_gradient_of_the_rows_asked_for():
    layer = table(padding_idx=0)
    layer(facula.tensor([[0, 3], [3, 1]])).sum().backward()
    grad = layer.weight.grad
    assert grad.is_sparse
    assert not grad.is_coalesced()
    assert grad._indices().tolist() == [[3, 3, 1]]  # without the padding
    assert grad.to_dense().tolist() == [[0, 0], [1, 1], [0, 0], [2, 2], [0, 0]]
    layer(facula.tensor([4])).sum().backward()
    assert layer.weight.grad is grad
    assert grad.to_dense()[4].tolist() == [1, 1]


def test_a_bag_has_a_sparse_gradient_with_its_weights():
    layer = nn.EmbeddingBag(5, 2, mode="mean", sparse=True, padding_idx=4)
    layer(facula.tensor([[0, 1], [4, 1]])).sum().backward()
    assert layer.weight.grad.is_sparse
    assert layer.weight.grad.to_dense()[:, 0].tolist() == [0.5, 1.5, 0, 0, 0]
    weight = facula.ones(3, 2, requires_grad=True)
    factors = facula.tensor([2.0, 3.0], requires_grad=True)
    nn.functional.embedding_bag(
        facula.tensor([0, 2]),
        weight,
        facula.tensor([0]),
        mode="sum",
        sparse=True,
        per_sample_weights=factors,
    ).sum().backward()
    assert weight.grad.to_dense().tolist() == [[2, 2], [0, 0], [3, 3]]
    assert factors.grad.tolist() == [2, 2]


def test_sparse_and_dense_gradients_add_up():
    index = facula.tensor([0])
    for uses in ("sd", "ds", "b"):
        weight = facula.ones(2, 1, requires_grad=True)
        row = nn.functional.embedding(index, weight, sparse=True).sum
        if uses == "b":
            (row() + weight.sum()).backward()
        else:
            for use in uses:
                (row() if use == "s" else weight.sum()).backward()
        assert weight.grad.layout is facula.strided
        assert weight.grad.tolist() == [[2], [1]]


def test_frequencies_and_sparse_gradients_exclude_each_other():
    layer = table(scale_grad_by_freq=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse"):
        layer(facula.tensor([1])).sum().backward()


@pytest.mark.parametrize("set_to_none", [True, False])
def test_gradients_are_cleared(set_to_none):
    for clear in (
        lambda layer: layer.zero_grad(set_to_none),
        lambda layer: optim.SGD(layer.parameters(), 0.1).zero_grad(set_to_none),
    ):
        layer = table()
        layer(facula.tensor([1])).sum().backward()
        clear(layer)
        grad = layer.weight.grad
        assert grad is None if set_to_none else (grad.is_sparse and grad._nnz() == 0)


def test_optimisers_refuse_gradients_that_they_do_not_know():
    layer = table()
    layer(facula.tensor([1])).sum().backward()
    before = layer.weight.tolist()
    for name in ("Adam", "AdamW", "RMSprop", "Adafactor", "Rprop"):
        optimizer = getattr(optim, name)(layer.parameters())
        with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
            optimizer.step()
        assert not optimizer.state[layer.weight]
    for name in ("SGD", "Adagrad"):
        with pytest.raises(RuntimeError, match="weight_decay"):
            getattr(optim, name)(layer.parameters(), weight_decay=0.1).step()
    assert layer.weight.tolist() == before
    layer.weight.grad = facula.ones(5, 2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        optim.SparseAdam(layer.parameters()).step()


def test_sparse_adam_refuses_bad_options_and_sparse_parameters():
    weight = facula.ones(2, requires_grad=True)
    for options in ({"lr": 0}, {"eps": 0}, {"betas": (1.0, 0.9)}):
        with pytest.raises(ValueError, match="SparseAdam: "):
            optim.SparseAdam([weight], **options)
    with pytest.raises(ValueError, match="requires dense parameter tensors"):
        optim.SparseAdam([facula.eye(2).to_sparse().requires_grad_()])


def test_a_dense_layer_is_stepped_beside_a_sparse_one():
    layer, dense = table(), nn.Parameter(facula.ones(2))
    optimizer = optim.SGD([layer.weight, dense], lr=0.5)
    (layer(facula.tensor([1])) * dense).sum().backward()
    before = layer.weight[1].detach().clone()
    optimizer.step()
    assert layer.weight[1].tolist() == pytest.approx((before - 0.5).tolist())
    assert dense.tolist() == pytest.approx((1 - 0.5 * before).tolist())


def test_an_optimiser_goes_on_from_its_file():
    def steps(layer, optimizer, n):
        for step in range(n):
            optimizer.zero_grad()
            (layer(facula.tensor([step % 5, 2])) ** 2).sum().backward()
            optimizer.step()

    for name, options in (("SparseAdam", {}), ("SGD", {"momentum": 0.9}), ("Adagrad", {})):
        layer = table()
        optimizer = getattr(optim, name)(layer.parameters(), lr=0.1, **options)
        steps(layer, optimizer, 3)
        file = io.BytesIO()
        facula.save([layer.state_dict(), optimizer.state_dict()], file)
        steps(layer, optimizer, 2)
        other = table()
        resumed = getattr(optim, name)(other.parameters(), lr=0.1, **options)
        file.seek(0)
        weights, state = facula.load(file)
        other.load_state_dict(weights)
        resumed.load_state_dict(state)
        steps(other, resumed, 2)
        assert facula.equal(other.weight, layer.weight), name


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_files_keep_sparse_tensors(layout):
    x = facula.eye(3, dtype=facula.float64).to_sparse(layout=getattr(facula, layout))
    file = io.BytesIO()
    facula.save({"x": x, "again": x}, file)
    for trusted in (False, True):
        file.seek(0)
        loaded = facula.load(file, trusted=trusted)
        assert loaded["x"] is loaded["again"]
        assert repr(loaded["x"]) == repr(x)


def test_old_files_with_sparse_tensors_are_refused():
    file = io.BytesIO()
    facula.save(facula.eye(2).to_sparse(), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    with pytest.raises(facula.serialization.CheckpointError, match="older format"):
        facula.load(file)

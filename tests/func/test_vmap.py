"""facula.func.vmap."""

import pytest

import facula
from facula import func
from facula.func import vmap

pytestmark = pytest.mark.promise("A8")


@pytest.fixture
def batch():
    return facula.arange(12.0).reshape(4, 3)


def test_the_function_sees_single_examples(batch):
    shapes = []

    def f(x):
        shapes.append(tuple(x.shape))
        return x.sum()

    assert vmap(f)(batch).tolist() == batch.sum(1).tolist()
    assert set(shapes) == {(3,)}


def test_in_dims_and_out_dims_place_the_batch(batch):
    x = facula.ones(3)
    assert facula.equal(vmap(facula.mul, in_dims=(0, None))(batch, x), batch)
    assert facula.equal(vmap(facula.neg, in_dims=1, out_dims=1)(batch), -batch)
    assert facula.equal(vmap(facula.neg, in_dims=-1)(batch), -batch.t())


def test_containers_are_followed(batch):
    def f(tree, scale):
        return {"product": tree["a"] * tree["b"] * scale, "pair": (tree["a"],)}

    tree = {"a": batch, "b": facula.ones(3)}
    result = vmap(f, in_dims=({"a": 0, "b": None}, None), out_dims={"product": 1, "pair": 0})(
        tree, 2.0
    )
    assert facula.equal(result["product"], 2 * batch.t())
    assert facula.equal(result["pair"][0], batch)


def test_vmap_nests_and_mixes_with_derivatives(batch):
    outer = vmap(vmap(facula.mul, in_dims=(None, 0)), in_dims=(0, None))
    x = facula.arange(3.0)
    assert facula.equal(outer(x, x), facula.outer(x, x))
    assert facula.equal(vmap(func.grad(lambda x: (x**2).sum()))(batch), 2 * batch)
    g = func.grad(lambda w: vmap(lambda x: x @ w)(batch).sum())(x)
    assert g.tolist() == batch.sum(0).tolist()
    assert vmap(func.hessian(lambda x: (x**2).sum()))(batch).shape == (4, 3, 3)


def test_an_empty_batch_gives_empty_results():
    total, double = vmap(lambda x: (x.sum(), x * 2))(facula.ones(0, 3))
    assert total.shape == (0,)
    assert double.shape == (0, 3)


def test_randomness_must_be_chosen(batch):
    def noise(x):
        return x * 0 + facula.rand(3)

    with pytest.raises(RuntimeError, match="randomness='different'"):
        vmap(noise)(batch)
    same = vmap(noise, randomness="same")(batch)
    assert all(facula.equal(row, same[0]) for row in same)
    different = vmap(noise, randomness="different")(batch)
    assert not facula.equal(different[0], different[1])
    with pytest.raises(RuntimeError, match="got 'never'"):
        vmap(noise, randomness="never")


def test_wrong_arguments_are_refused(batch):
    with pytest.raises(ValueError, match=r"differ in size: \[4, 3\]"):
        vmap(facula.add)(batch, facula.ones(3))
    with pytest.raises(ValueError, match="in_dim=2 is out of range"):
        vmap(facula.neg, in_dims=2)(batch)
    with pytest.raises(ValueError, match="is no tensor but int"):
        vmap(facula.add)(batch, 3)
    with pytest.raises(ValueError, match="does not fit the structure of the arguments"):
        vmap(facula.neg, in_dims=(0, 0))(batch)
    with pytest.raises(ValueError, match="in_dims is None for every argument"):
        vmap(facula.neg, in_dims=(None,))(batch)
    with pytest.raises(ValueError, match="without arguments"):
        vmap(facula.neg)()
    with pytest.raises(ValueError, match="must return tensors, got int"):
        vmap(lambda x: 1)(batch)
    with pytest.raises(ValueError, match="does not fit the structure of the results"):
        vmap(lambda x: (x, x), out_dims=(0,))(batch)

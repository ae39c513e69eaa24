"""facula.func.vmap: its arguments, and what it refuses."""

from importlib import import_module

import pytest

import facula
from facula import func
from facula.func import vmap

pytestmark = pytest.mark.promise("A8")


@pytest.fixture
def batch():
    return facula.arange(12.0).reshape(4, 3)


def test_the_function_is_called_once_and_sees_single_examples(batch):
    shapes = []

    def f(x):
        shapes.append(tuple(x.shape))
        return x.sum()

    assert vmap(f)(batch).tolist() == batch.sum(1).tolist()
    assert shapes == [(3,)]


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


def test_an_input_that_examples_share_has_a_gradient_in_each(batch):
    w = facula.tensor([1.0, 2.0, 3.0])
    grads = vmap(func.grad(lambda w, x: (w * w * x).sum()), in_dims=(None, 0))(w, batch)
    assert facula.equal(grads, 2 * w * batch)
    captured = w.clone().requires_grad_()
    grads = vmap(lambda x: facula.autograd.grad((captured**2 * x).sum(), captured)[0])(batch)
    assert facula.equal(grads, 2 * w * batch)


def test_an_empty_batch_gives_empty_results():
    total, double = vmap(lambda x: (x.sum(), x * 2))(facula.ones(0, 3))
    assert total.shape == (0,)
    assert double.shape == (0, 3)


@pytest.mark.parametrize("chunk_size", [1, 3, 4, 9])
def test_chunks_give_what_the_whole_gives(batch, chunk_size):
    sizes = []

    def f(x, y):
        sizes.append(1)
        return x * y, y.sum()

    product, total = vmap(f, in_dims=(0, None), out_dims=(1, 0), chunk_size=chunk_size)(
        batch, facula.ones(3)
    )
    assert facula.equal(product, batch.t())
    assert total.tolist() == [3.0] * 4
    assert len(sizes) == -(-4 // chunk_size)


def test_chunks_draw_the_same_numbers_where_they_should(batch):
    same = vmap(lambda x: x * 0 + facula.rand(3), randomness="same", chunk_size=1)(batch)
    assert all(facula.equal(row, same[0]) for row in same)


def test_all_levels_can_be_looked_at(batch):
    shapes = []

    def f(x):
        shapes.append(tuple(func.debug_unwrap(x).shape))
        shapes.append(tuple(func.debug_unwrap(x, recurse=False).shape))
        return x

    vmap(vmap(f))(batch)
    assert shapes == [(4, 3), (3,)]


def test_randomness_must_be_chosen(batch):
    def noise(x):
        return x * 0 + facula.rand(3)

    with pytest.raises(RuntimeError, match="called random operation while in randomness error"):
        vmap(noise)(batch)
    same = vmap(noise, randomness="same")(batch)
    assert all(facula.equal(row, same[0]) for row in same)
    different = vmap(noise, randomness="different")(batch)
    assert not facula.equal(different[0], different[1])
    with pytest.raises(RuntimeError, match="got 'never'"):
        vmap(noise, randomness="never")


_DRAWS = {
    "dropout": lambda x: facula.nn.functional.dropout(x, 0.5),
    "dropout2d": lambda x: facula.nn.functional.dropout2d(x.reshape(1, 4, 2, 2), 0.5),
    "bernoulli": lambda x: facula.bernoulli(x * 0.5),
    "rand_like": facula.rand_like,
    "uniform_": lambda x: x.clone().uniform_(),
    "normal": lambda x: facula.normal(x, 1.0),
    "randperm": lambda x: facula.randperm(16) + 0 * x,
    "randint": lambda x: facula.randint(0, 1000, (16,)) + 0 * x,
    "multinomial": lambda x: facula.multinomial(x, 8),
    "rrelu": lambda x: facula.nn.functional.rrelu(-x, training=True),
}


@pytest.mark.parametrize("name", _DRAWS)
def test_random_operations_follow_randomness(name):
    x = facula.ones(3, 16)
    draw = _DRAWS[name]
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(draw)(x)
    same = vmap(draw, randomness="same")(x)
    assert facula.equal(same[0], same[1])
    assert facula.equal(same[0], same[2])
    different = vmap(draw, randomness="different")(x)
    assert different.shape == same.shape
    assert not facula.equal(different[0], different[1])


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
    with pytest.raises(ValueError, match="BatchedTensor when out_dim is None"):
        vmap(lambda x: x, out_dims=None)(batch)
    with pytest.raises(ValueError, match="positive chunk_size"):
        vmap(facula.neg, chunk_size=0)


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: x if x.sum() > 0 else -x, "data-dependent control flow"),
        (lambda x: x * x.sum().item(), r"calling .item\(\)"),
        (lambda x: x * float(x[0]), r"calling .item\(\)"),
        (lambda x: facula.from_numpy(x.numpy()), r"calling .item\(\)"),
        (lambda x: x.nonzero(), "dynamic shape"),
        (lambda x: x[x > 1], "batched mask selects another number"),
        (lambda x: facula.add(x, 1, out=facula.zeros(3)), "out=. is not possible inside of vmap"),
        (lambda x: facula.zeros(3).add_(x), "writes to a tensor that all examples share"),
        (lambda x: x.sum().backward(), "backward is not possible inside of vmap"),
    ],
)
def test_what_no_batch_can_do_is_refused_with_a_way_out(batch, function, message):
    with pytest.raises(RuntimeError, match=message):
        vmap(function)(batch)


def test_an_example_is_refused_when_its_vmap_is_over(batch):
    kept = []

    def f(x):
        kept.append(x)
        return x

    vmap(f)(batch)
    with pytest.raises(RuntimeError, match="BatchedTensor outside of its vmap"):
        kept[0] + 1


def test_a_batch_is_printed_with_all_examples(batch):
    texts = []

    def f(x):
        texts.append(str(x))
        return x

    vmap(f)(batch[:2])
    assert texts[0].startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[0., 1., 2.],")


def test_an_operation_without_a_rule_runs_in_a_loop_with_a_warning(batch, monkeypatch):
    from facula.func._batching import _batch, load

    load()
    monkeypatch.delitem(_batch.RULES, "linspace")
    monkeypatch.setattr(_batch, "_FOUND", {})

    def f(x):
        return facula.linspace(x[0], x[1], 3)

    with pytest.warns(UserWarning, match="batching rule for linspace"):
        result = vmap(f)(batch)
    assert result.tolist() == [[0, 0.5, 1], [3, 3.5, 4], [6, 6.5, 7], [9, 9.5, 10]]


def test_an_error_inside_leaves_no_transform_behind(batch):
    with pytest.raises(RuntimeError):
        vmap(lambda x: x.sum().item())(batch)
    assert facula._core._transforms() == []
    assert (batch + 1).shape == (4, 3)


def test_users_modes_work_inside_of_vmap(batch):
    seen = []

    class Log(facula.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    def f(x):
        with Log():
            return facula.nn.functional.softplus(x).sum()

    assert vmap(f)(batch).shape == (4,)
    assert seen == ["softplus", "sum"]


class Table:
    """Columns of equally many rows, which becomes one row, and all rows again, by itself."""

    def __init__(self, columns):
        self.columns = columns

    def dim(self):
        return 1

    def size(self, dim):
        return next(iter(self.columns.values())).size(dim)

    def __getitem__(self, rows):
        return Table({name: column[rows] for name, column in self.columns.items()})

    def _add_batch_dim(self, *, in_dim, vmap_level):
        wrap = import_module("facula._functorch.vmap")._add_batch_dim
        return Table({k: wrap(v, in_dim, vmap_level) for k, v in self.columns.items()})

    def _maybe_remove_batch_dim(self, name, level, batch_size, out_dim):
        unwrap = import_module("facula._functorch.vmap")._maybe_remove_batch_dim
        columns = self.columns.items()
        return Table({k: unwrap(name, v, level, batch_size, out_dim) for k, v in columns})


def test_an_object_that_knows_how_becomes_one_example_by_itself():
    table = Table({"a": facula.arange(6.0).view(3, 2), "b": facula.ones(3)})

    def change(row, factor):
        assert row.columns["a"].shape == (2,)
        return Table({"c": row.columns["a"].sum() * factor + row.columns["b"]})

    changed = vmap(change, in_dims=(0, None))(table, 2.0)
    assert changed.columns["c"].tolist() == [3.0, 11.0, 19.0]


def test_levels_of_vmap_are_not_entered_by_hand():
    from facula._C import _functorch

    with pytest.raises(RuntimeError, match=r"Use torch\.vmap"):
        _functorch._remove_batch_dim(facula.ones(1), 1, 1, 0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(5, 1, 3), (5, 4, 3), (5, 3), (5, 2, 2, 3)])
def test_gradients_of_weights_are_contiguous_for_each_example(shape, bias):
    layer = facula.nn.Linear(3, 2, bias=bias)
    params = {name: p.detach() for name, p in layer.named_parameters()}
    x = facula.randn(shape)

    def loss(params, x):
        return func.functional_call(layer, params, (x,)).square().sum()

    grads = func.vmap(func.grad(loss), in_dims=(None, 0))(params, x)
    one_by_one = [func.grad(loss)(params, row) for row in x]
    for name, grad in grads.items():
        expected = facula.stack([one[name] for one in one_by_one])
        facula.testing.assert_close(grad, expected)
        assert grad.is_contiguous()


def test_vectors_of_weights_of_each_example_meet_its_rows():
    x, weight = facula.randn(3, 2, 4), facula.randn(3, 4)
    y = func.vmap(facula.nn.functional.linear)(x, weight)
    facula.testing.assert_close(y, (x * weight.unsqueeze(1)).sum(-1))

"""Graphs of what was done with tensors, and networks made faster."""

import pytest

import facula
from facula import fx, nn
from facula.fx.experimental.optimization import fuse, remove_dropout
from facula.fx.experimental.proxy_tensor import (
    disable_proxy_modes_tracing,
    get_isolated_graphmodule,
    get_proxy_mode,
    make_fx,
)

X = facula.tensor([[1.0, -2.0], [3.0, 4.0]])
OTHER = facula.tensor([[5.0, -6.0], [-7.0, 8.0]])
CONSTANT = facula.full((2,), 3.0)


def in_place(x):
    y = x.clone()
    y[0] = 1
    y += 2
    return y.t_()


def gradient(x):
    return facula.func.grad(lambda v: (v**3).sum())(x)


def several(x):
    values, indices = x.max(1)
    return {"values": values * indices, "parts": x.T.split(1)}


@pytest.mark.promise("U7")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: facula.relu(x) @ x.T + CONSTANT * facula.zeros(2),
        in_place,
        gradient,
        several,
        facula.vmap(lambda row: row * row.sum()),
        nn.Sequential(nn.Linear(2, 3), nn.Tanh()),
        lambda x: x * x.shape[0] if x.dim() == 2 else x,
    ],
)
def test_the_graph_computes_the_same_for_other_tensors(f):
    traced = make_fx(f)(X)
    traced.graph.lint()
    assert not hasattr(f, "graph")
    expected, result = f(OTHER), traced(OTHER)
    for a, b in zip(
        *(facula.utils._pytree.tree_leaves(y) for y in (result, expected)), strict=True
    ):
        assert facula.equal(a, b)


def test_gradients_of_inputs_are_recorded():
    def f(x):
        (grad,) = facula.autograd.grad((x * x).sum(), x)
        return grad

    traced = make_fx(f)(X.clone().requires_grad_())
    assert facula.equal(traced(OTHER.clone().requires_grad_()), 2 * OTHER)


def test_trees_of_arguments_are_taken_apart():
    traced = make_fx(lambda d, pair: [d["a"] + pair[0] * pair[1]])({"a": X}, (X, 2))
    assert facula.equal(traced({"a": OTHER}, (OTHER, 2))[0], 3 * OTHER)
    assert [n.name for n in traced.graph.nodes if n.op == "placeholder"] == [
        "d_1",
        "pair_1",
        "pair_2",
    ]


@pytest.mark.parametrize(
    "f", [lambda x: x.sum().item(), lambda x: x if x.sum() > 0 else -x, lambda x: x.tolist()]
)
def test_values_are_not_told(f):
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(f)(X)
    assert get_proxy_mode() is None


def test_values_that_hold_for_all_inputs_are_told():
    def f(x):
        places = facula.arange(x.shape[0])
        return x * 2 if (places.diff() == 1).all() else x

    assert facula.equal(make_fx(f)(X)(OTHER), OTHER * 2)

    def changed(x):
        places = facula.zeros(2)
        view = places[:1]
        places.add_(x[0])
        return x if view.sum() > 0 else -x

    def drawn(x):
        return x if facula.rand(1) > 0.5 else -x

    for other in (changed, drawn):
        with pytest.raises(RuntimeError, match="get value out of a tracing tensor"):
            make_fx(other)(X)


def test_what_is_not_traced_is_a_constant():
    def f(x):
        with disable_proxy_modes_tracing():
            y = x + 1
        assert get_proxy_mode() is not None
        return x * y

    traced = make_fx(f)(X)
    assert facula.equal(traced(OTHER), OTHER * (X + 1))
    assert facula.equal(get_isolated_graphmodule(f, (X,), {})(OTHER), OTHER * (X + 1))


def test_other_ways_of_tracing_are_refused():
    with pytest.raises(NotImplementedError, match="tracing_mode 'real' or 'fake'"):
        make_fx(in_place, tracing_mode="symbolic")
    with pytest.raises(NotImplementedError, match="decomposition_table must be None"):
        make_fx(in_place, {facula.add: None})


def test_norms_are_folded_into_layers():
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.ReLU(),
        nn.Dropout(),
        nn.Flatten(),
        nn.Linear(18, 3),
        nn.BatchNorm1d(3),
    )
    x = facula.rand(4, 1, 5, 5)
    net(x)
    net.eval()
    fused = fuse(net)
    assert [type(layer).__name__ for layer in fused.children()] == [
        "Conv2d",
        "ReLU",
        "Dropout",
        "Flatten",
        "Linear",
    ]
    facula.testing.assert_close(fused(x), net(x))
    assert "Dropout" not in str(remove_dropout(net))
    with pytest.raises(AssertionError, match="eval"):
        fuse(net.train())


def test_a_layer_that_is_used_twice_is_not_folded():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)

        def forward(self, x):
            y = self.conv(x)
            return self.norm(y) + y

    net = Net().eval()
    assert facula.equal(fuse(net)(facula.ones(1, 1, 2, 2)), net(facula.ones(1, 1, 2, 2)))


def test_backward_is_no_dead_code():
    traced = make_fx(lambda x: x.sum().backward() or x.grad)(X.clone().requires_grad_())
    assert not traced.graph.eliminate_dead_code()
    assert isinstance(traced, fx.GraphModule)

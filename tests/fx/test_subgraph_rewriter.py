"""Patterns found and replaced, and graphs cut into modules."""

import pytest

import facula
from facula import fx, nn
from facula.fx.passes.infra.pass_base import PassBase, PassResult
from facula.fx.passes.infra.pass_manager import PassManager, this_before_that_pass_constraint
from facula.fx.passes.split_module import split_module
from facula.fx.passes.tools_common import legalize_graph, stable_topological_sort
from facula.fx.passes.utils.matcher_utils import SubgraphMatcher
from facula.fx.subgraph_rewriter import replace_pattern_with_filters


def relu(x):
    return facula.relu(x)


def exp(x):
    return facula.exp(x)


def functions(module):
    return [n.name for n in module.graph.nodes if n.op.startswith("call")]


def replaced(f, pattern, replacement, **options):
    traced = fx.symbolic_trace(f)
    matches = replace_pattern_with_filters(traced, pattern, replacement, **options)
    return len(matches), functions(traced)


@pytest.mark.promise("U7")
def test_a_pattern_is_replaced_wherever_it_fits():
    def f(x, w1, w2):
        return x + facula.cat([w1, w2]).sum() * facula.cat([w2, w1]).sum()

    traced = fx.symbolic_trace(f)
    matches = fx.replace_pattern(
        traced, lambda a, b: facula.cat([a, b]).sum(), lambda a, b: a.sum() + b.sum()
    )
    assert len(matches) == 2
    x, a, b = facula.ones(1), facula.arange(3.0), facula.arange(4.0)
    assert facula.equal(traced(x, a, b), f(x, a, b))
    assert "cat" not in traced.code


def test_overlapping_matches_count_once():
    f = replaced(lambda x: relu(relu(relu(x))), lambda x: relu(relu(x)), exp)
    assert f == (1, ["exp", "relu_2"])


def test_what_is_used_outside_is_not_replaced():
    def f(x):
        y = facula.neg(x)
        return facula.relu(y) + y

    assert replaced(f, lambda x: facula.relu(facula.neg(x)), exp)[0] == 0


def test_numbers_must_be_equal_unless_they_are_ignored_or_inputs():
    def f(x):
        return facula.add(x, 3) * 2

    assert replaced(f, lambda x: facula.add(x, 4), exp)[0] == 0
    assert replaced(f, lambda x: facula.add(x, 4), exp, ignore_literals=True)[0] == 1
    assert replaced(f, lambda x, y: facula.add(x, y), lambda x, y: x - y) == (1, ["sub", "mul"])


def test_inputs_of_a_pattern_stand_for_different_nodes():
    assert (
        replaced(lambda x: facula.add(x, x), lambda x, y: facula.add(x, y), lambda x, y: x - y)[0]
        == 0
    )
    assert replaced(lambda x: facula.add(x, x), lambda x: facula.add(x, x), exp)[0] == 1


def test_filters_and_callbacks_decide():
    def f(x):
        return facula.relu(facula.relu(x))

    def is_second(match, graph, pattern):
        return match.returning_nodes[0].name == "relu_1"

    assert replaced(f, relu, exp, match_filters=[is_second]) == (1, ["relu", "exp"])
    graph = fx.symbolic_trace(exp).graph
    assert replaced(f, relu, None, replacement_callback=lambda *_: graph)[1] == [
        "exp",
        "exp_1",
    ]
    with pytest.raises(AssertionError, match="replacement or a replacement_callback"):
        replaced(f, relu, None)


def test_a_replacement_brings_its_parameters():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Tanh()
            self.scale = nn.Parameter(facula.full((2,), 3.0))

        def forward(self, x):
            return self.inner(x) * self.scale

    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    traced = fx.symbolic_trace(net)
    pattern = fx.Graph()
    pattern.output(pattern.call_module("1", (pattern.placeholder("x"),)))
    replace_pattern_with_filters(traced, pattern, fx.symbolic_trace(Scaled()))
    x = facula.rand(4, 2)
    assert facula.equal(traced(x), net[0](x).tanh() * 3)
    assert not hasattr(traced, "1") and "scale" in traced.state_dict()


def test_several_results_of_a_pattern_are_replaced_together():
    traced = fx.symbolic_trace(lambda x: facula.relu(x) - facula.neg(x))
    fx.replace_pattern(
        traced,
        lambda x: (facula.relu(x), facula.neg(x)),
        lambda x: (facula.exp(x), facula.sin(x)),
    )
    assert functions(traced) == ["exp", "sin", "sub"]


def test_a_matcher_may_ask_for_inputs_and_output():
    pattern = fx.symbolic_trace(lambda x: facula.relu(x)).graph
    graph = fx.symbolic_trace(lambda x: facula.relu(x.neg())).graph
    assert len(SubgraphMatcher(pattern).match(graph)) == 1
    assert SubgraphMatcher(pattern, match_placeholder=True).match(graph) == []
    assert len(SubgraphMatcher(pattern, match_output=True).match(graph)) == 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.last = nn.Linear(3, 3)
        self.shift = nn.Parameter(facula.ones(3))

    def forward(self, x, y):
        z = self.first(x + self.shift)
        return z + self.last(y), z.sum()


def test_a_graph_is_cut_into_modules():
    net = Net()
    traced = fx.symbolic_trace(net)
    paths = {}
    parts = {"add": 0, "first": 0, "last": 1, "add_1": 2, "sum_1": 1}
    split = split_module(traced, net, lambda node: parts[node.name], paths)
    x, y = facula.rand(2, 3), facula.rand(2, 3)
    for a, b in zip(split(x, y), net(x, y), strict=True):
        assert facula.equal(a, b)
    assert [name for name, _ in split.named_children()] == ["submod_0", "submod_1", "submod_2"]
    assert paths == {"submod_0.first": "first", "submod_1.last": "last"}
    assert split.submod_0.first is net.first


def test_parts_that_need_each_other_are_refused():
    traced = fx.symbolic_trace(lambda x: x.neg().abs().exp())
    parts = {"neg": 0, "abs_1": 1, "exp": 0}
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        split_module(traced, nn.Module(), lambda node: parts[node.name])


@pytest.mark.parametrize("sort", [legalize_graph, stable_topological_sort])
def test_nodes_are_brought_into_order(sort):
    traced = fx.symbolic_trace(lambda x: x.neg().abs())
    _, neg, abs_1, _ = traced.graph.nodes
    abs_1.append(neg)
    sort(traced).graph.lint()
    assert functions(traced) == ["neg", "abs_1"]
    neg.args = (abs_1,)
    with pytest.raises(RuntimeError, match="cycles"):
        sort(traced)


def test_passes_run_in_an_order_that_constraints_allow():
    ran = []

    class First(PassBase):
        def call(self, graph_module):
            ran.append("first")
            return PassResult(graph_module, False)

    def second(module):
        ran.append("second")

    first = First()
    manager = PassManager([second, first], [this_before_that_pass_constraint(first, second)])
    assert manager(fx.symbolic_trace(lambda x: x)).modified
    assert ran == ["first", "second"]
    manager.add_constraint(this_before_that_pass_constraint(second, first))
    with pytest.raises(RuntimeError, match="Circular dependency"):
        manager.solve_constraints()

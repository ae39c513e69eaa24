"""Passes that divide graphs among those who can run their nodes."""

import operator

import pytest

import facula
from facula import fx, nn
from facula.fx.passes.graph_manipulation import (
    get_size_of_all_nodes,
    get_tensor_meta,
    replace_target_nodes_with,
)
from facula.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from facula.fx.passes.operator_support import (
    OperatorSupport,
    OpSupports,
    any_chain,
    chain,
    create_op_support,
)
from facula.fx.passes.shape_prop import ShapeProp
from facula.fx.passes.split_utils import getattr_recursive, setattr_recursive, split_by_tags
from facula.fx.passes.utils.common import compare_graphs, lift_subgraph_as_module
from facula.fx.passes.utils.fuser_utils import (
    fuse_as_graphmodule,
    fuse_by_partitions,
    topo_sort,
    validate_partition,
)
from facula.fx.passes.utils.source_matcher_utils import (
    check_subgraphs_connected,
    get_source_partitions,
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
        self.b = nn.Sequential(nn.ReLU(), nn.Linear(3, 2))
        self.w = nn.Parameter(facula.ones(2))

    def forward(self, x):
        return facula.sigmoid(self.b(self.a(x)) + self.w).sum()


def nodes_by_name(module):
    return {node.name: node for node in module.graph.nodes}


# ---- what is supported


def supported(support, module):
    return [node.name for node in module.graph.nodes if support.is_node_supported({}, node)]


def test_operator_support_asks_for_targets_and_dtypes():
    traced = fx.symbolic_trace(lambda x, y: (facula.relu(x) + y).neg())
    ShapeProp(traced).propagate(facula.ones(2), facula.ones(2, dtype=facula.int64))
    edges = ["x", "y", "output"]
    floats, ints = [facula.float32], [facula.int64]

    def names(table):
        return [n for n in supported(OperatorSupport(table), traced) if n not in edges]

    assert names({}) == []
    assert names({"facula.relu": None, "neg": None}) == ["relu", "neg"]
    assert names({"_operator.add": ([floats, ints], {})}) == ["add"]
    assert names({"_operator.add": ([floats, floats], {})}) == []
    assert names({"_operator.add": ([floats, None], {})}) == ["add"]


def test_rules_are_joined():
    traced = fx.symbolic_trace(lambda x, y: (facula.relu(x) + y).neg())
    ShapeProp(traced).propagate(facula.ones(2), facula.ones(2, dtype=facula.int64))
    table = OperatorSupport({"neg": None})
    assert supported(OpSupports.decline_if_input_dtype(facula.int64), traced) == [
        "x",
        "y",
        "relu",
        "neg",
        "output",
    ]
    assert supported(chain(OpSupports.decline_if_node_in_names({"neg"}), table), traced) == [
        "x",
        "y",
        "output",
    ]
    is_relu = create_op_support(lambda modules, node: node.name == "relu")
    assert supported(any_chain(table, is_relu), traced) == ["x", "y", "relu", "neg", "output"]


# ---- groups of nodes


def divided(function, names, **options):
    """The groups of a function's nodes of which those of these names are supported."""
    support = create_op_support(lambda modules, node: node.name in names)
    partitioner = CapabilityBasedPartitioner(fx.symbolic_trace(function), support, **options)
    parts = partitioner.propose_partitions()
    return partitioner, parts, [sorted(node.name for node in part.nodes) for part in parts]


def test_groups_are_as_large_as_possible():
    def function(x):
        a = facula.relu(x)
        b = facula.exp(a)
        return facula.sin(a) + b

    assert divided(function, {"relu", "sin", "exp", "add"})[2] == [["add", "exp", "relu", "sin"]]
    # With exp outside, relu and add in one group would need a result that needs theirs.
    assert divided(function, {"relu", "sin", "add"})[2] == [["add", "sin"]]
    names = {"relu", "sin", "add"}
    assert divided(function, names, allows_single_node_partition=True)[2] == [
        ["add", "sin"],
        ["relu"],
    ]


def test_nodes_side_by_side_are_one_group_unless_asked_otherwise():
    def function(x):
        return facula.relu(facula.neg(x)), facula.exp(facula.sin(x))

    names = {"neg", "relu", "sin", "exp"}
    assert divided(function, names)[2] == [["exp", "neg", "relu", "sin"]]
    assert divided(function, names, skip_horizontal_fusion=True)[2] == [
        ["exp", "sin"],
        ["neg", "relu"],
    ]


def test_elements_of_tuples_are_taken_where_the_tuple_is_made():
    def function(x):
        first, second = x.split(1)[0], facula.relu(x)
        return facula.neg(second) + first

    _, _, groups = divided(function, {"relu", "neg", "add", "getitem"})
    assert groups == [["add", "neg", "relu"]]


def test_nodes_that_do_not_compute_make_no_group_and_leave_its_ends():
    def function(x):
        return facula.neg(facula.relu(facula.neg(x)).exp())

    names = {"neg", "relu", "exp", "neg_1"}
    target = ["facula.neg"]
    partitioner, parts, groups = divided(function, names, non_compute_ops=target)
    assert groups == [["exp", "neg", "neg_1", "relu"]]
    partitioner.remove_bookend_non_compute_ops(parts)
    assert [sorted(map(str, part.nodes)) for part in parts] == [["exp", "relu"]]
    assert divided(function, {"neg", "relu"}, non_compute_ops=target)[2] == []
    alone = {"allowed_single_node_partition_ops": ["facula.relu"]}
    assert divided(function, {"neg", "relu"}, non_compute_ops=target, **alone)[2] == [
        ["neg", "relu"]
    ]


def test_groups_become_modules_that_share_parameters():
    net = Net()
    traced = fx.symbolic_trace(net)
    table = OperatorSupport(
        {"torch.nn.modules.linear.Linear": None, "torch.nn.modules.activation.ReLU": None}
        | {"facula.nn.modules.linear.Linear": None, "facula.nn.modules.activation.ReLU": None}
    )
    fused = CapabilityBasedPartitioner(traced, table).partition_and_fuse(prefix="part_")
    assert "part_0" in [node.name for node in fused.graph.nodes]
    x = facula.ones(4, 2)
    assert fused(x).equal(net(x))
    assert fused.part_0.a is net.a
    assert next(node.op for node in fused.part_0.graph.nodes) == "placeholder"


def test_a_partition_is_a_dict_of_nodes():
    x, neg, _ = fx.symbolic_trace(lambda x: x.neg()).graph.nodes
    part = Partition(3, [x], [0])
    part.add_node(neg, 1)
    assert (part.id, part.size(), str(part)) == (3, 2, "{x: 0, neg: 1}")
    part.remove_node(x)
    assert list(part.nodes) == [neg]


# ---- nodes that become one


def test_nodes_with_others_between_them_cannot_become_one():
    traced = fx.symbolic_trace(lambda x: x.neg().abs().exp())
    _, neg, abs_, exp, _ = traced.graph.nodes
    assert topo_sort([exp, neg, abs_]) == [neg, abs_, exp]
    assert validate_partition([neg, abs_]) and not validate_partition([neg, exp])
    with pytest.raises(AssertionError, match="found dependency cycles"):
        fuse_as_graphmodule(traced, [neg, exp], "Part")
    with pytest.raises(AssertionError, match="doesn't belong"):
        fuse_as_graphmodule(fx.symbolic_trace(lambda x: x.neg()), [neg], "Part")


@pytest.mark.parametrize("always_return_tuple", [False, True])
def test_several_groups_are_fused(always_return_tuple):
    def function(x, y):
        a = facula.relu(x) + y
        b = facula.exp(a)
        return b.neg(), a.abs()

    traced = fx.symbolic_trace(function)
    nodes = nodes_by_name(traced)
    groups = [
        {nodes["exp"]: None, nodes["neg"]: None},
        {nodes["add"]: None, nodes["relu"]: None},
    ]
    fused = fuse_by_partitions(traced, groups, always_return_tuple=always_return_tuple)
    calls = [node.name for node in fused.graph.nodes if node.op == "call_module"]
    assert calls == ["fused_1", "fused_0"]
    x, y = facula.tensor([1.0, -2.0]), facula.tensor([3.0, 4.0])
    for got, expected in zip(fused(x, y), function(x, y), strict=True):
        assert got.equal(expected)
    assert isinstance(fused.fused_0(x), tuple) is always_return_tuple


def test_graphs_are_lifted_and_compared():
    net = Net()
    traced = fx.symbolic_trace(net)
    part, paths = lift_subgraph_as_module(traced, traced.graph, "part", "Part")
    assert paths == {"a": "part.a", "b.0": "part.b.0", "b.1": "part.b.1", "w": "part.w"}
    assert type(part).__name__ == "Part"
    assert part.get_submodule("b.1") is net.b[1]
    assert compare_graphs(traced.graph, fx.symbolic_trace(net).graph)
    assert not compare_graphs(traced.graph, fx.symbolic_trace(lambda x: x.neg()).graph)


# ---- tags


def test_a_graph_is_cut_by_tags():
    net = Net()
    traced = fx.symbolic_trace(net)
    tags = {"a": "left", "b_0": "left", "b_1": "right", "add": "right"}
    for node in traced.graph.nodes:
        node.tag = tags.get(node.name, "end")
    split, paths = split_by_tags(traced, ["left", "right", "end"], return_fqn_mapping=True)
    assert [node.name for node in split.graph.nodes] == ["x", "left", "right", "end", "output"]
    assert paths == {"a": "left.a", "b.0": "left.b.0", "b.1": "right.b.1", "w": "right.w"}
    names = ["b_0", "b.1", "w", operator.add, "output"]
    assert [node.target for node in split.right.graph.nodes] == names
    assert [name for name, _ in split.named_children()] == ["left", "right", "end"]
    x = facula.ones(4, 2)
    assert split(x).equal(net(x)) and split.right.w is net.w
    assert traced(x).equal(net(x))


def test_nodes_without_a_tag_cannot_be_cut():
    traced = fx.symbolic_trace(lambda x: x.neg())
    with pytest.raises(AssertionError, match=r"node neg to have one of the tags \['a'\], got None"):
        split_by_tags(traced, ["a"])


def test_modules_of_tags_give_tuples_if_asked():
    def function(x):
        y = x.neg()
        return y.abs(), y + 1

    traced = fx.symbolic_trace(function)
    for node in traced.graph.nodes:
        node.tag = "p" if node.name == "neg" else "q"
    split = split_by_tags(traced, ["p", "q"], return_tuple=True)
    assert [node.name for node in split.graph.nodes] == [
        "x",
        "p",
        "getitem",
        "q",
        "getitem_1",
        "getitem_2",
        "output",
    ]
    assert [y.item() for y in split(facula.tensor(2.0))] == [2.0, -1.0]


def test_paths_lead_to_parts():
    net = Net()
    assert getattr_recursive(net, "b.1") is net.b[1]
    assert getattr_recursive(net, "b.nothing.at.all") is None
    setattr_recursive(net, "b.0", nn.Tanh())
    assert isinstance(net.b[0], nn.Tanh)


# ---- sizes and targets


def test_sizes_of_nodes_count_parameters():
    traced = fx.symbolic_trace(Net())
    with pytest.raises(RuntimeError, match="Check that shape propagation has run"):
        get_tensor_meta(nodes_by_name(traced)["a"])
    get_size_of_all_nodes(traced, [facula.ones(4, 2)])
    sizes = [tuple(node.size_bytes) for node in traced.graph.nodes if node.op != "output"]
    assert sizes == [(32, 32), (48, 84), (48, 48), (32, 64), (8, 8), (32, 32), (32, 32), (4, 4)]


def test_targets_are_replaced():
    traced = fx.symbolic_trace(lambda x: facula.relu(x) + facula.relu(-x))
    replace_target_nodes_with(traced, "call_function", facula.relu, "call_method", "abs")
    assert traced(facula.tensor(-2.0)).item() == 4.0


# ---- sources


def test_nodes_are_grouped_by_their_source():
    traced = fx.symbolic_trace(Net())
    nodes = nodes_by_name(traced)
    for name in ("a", "b_1"):
        nodes[name].meta["source_fn_stack"] = [(name, nn.Linear)]
    for name in ("add", "w"):
        nodes[name].meta["source_fn_stack"] = [("net", Net), ("add", operator.add)]
    found = get_source_partitions(traced.graph, [nn.Linear, operator.add, nn.ReLU])
    assert list(found) == [nn.Linear, operator.add]
    first, second = found[nn.Linear]
    (add,) = found[operator.add]
    assert (first.nodes, first.input_nodes) == ([nodes["a"]], [nodes["x"]])
    assert (add.input_nodes, add.output_nodes) == ([nodes["b_1"]], [nodes["add"]])
    assert add.params == [nodes["w"]]
    assert check_subgraphs_connected(second, add) and not check_subgraphs_connected(add, second)
    only = get_source_partitions(traced.graph, [nn.Linear], lambda node: node.name == "a")
    assert [part.nodes for part in only[nn.Linear]] == [[nodes["a"]]]

"""Graphs and nodes: made, changed, checked and printed."""

import copy
import pickle

import pytest

import facula
from facula import fx, nn


def small():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(facula.relu, (x,))
    z = graph.call_method("add", (y, 1), {"alpha": 2})
    graph.output(z)
    return graph


def test_a_graph_prints_as_pytorch_s_does():
    assert str(small()).splitlines() == [
        "graph():",
        "    %x : [num_users=1] = placeholder[target=x]",
        "    %relu : [num_users=1] = call_function[target=facula.relu](args = (%x,), kwargs = {})",
        "    %add : [num_users=1] = call_method[target=add]"
        "(args = (%relu, 1), kwargs = {alpha: 2})",
        "    return add",
    ]


@pytest.mark.promise("U7")
def test_a_graph_made_by_hand_runs():
    module = fx.GraphModule({}, small())
    assert module(facula.tensor([-1.0, 1.0])).tolist() == [2.0, 3.0]


def test_users_follow_the_arguments():
    x, relu, add, output = small().nodes
    assert list(relu.users) == [add] and add.all_input_nodes == [relu]
    add.args = (x, x)
    assert list(relu.users) == [] and list(x.users) == [relu, add]
    add.update_arg(1, 3)
    add.update_kwarg("alpha", x)
    add.insert_arg(2, relu)
    assert add.args == (x, 3, relu) and add.kwargs == {"alpha": x}
    output.replace_input_with(add, relu)
    assert output.args == (relu,) and list(add.users) == []


def test_all_uses_of_a_node_are_replaced():
    graph = small()
    x, relu, add, output = graph.nodes
    with graph.inserting_after(relu):
        neg = graph.call_function(facula.neg, (relu,))
    assert relu.replace_all_uses_with(neg, lambda user: user is not neg) == [add]
    assert list(graph.nodes) == [x, relu, neg, add, output]
    assert fx.GraphModule({}, graph)(facula.ones(1)).item() == 1.0


def test_nodes_move():
    graph = small()
    x, relu, add, output = graph.nodes
    x.append(add)
    assert list(graph.nodes) == [x, add, relu, output]
    assert x < add < relu <= output and not relu < add
    relu.append(add)
    assert list(reversed(graph.nodes)) == [output, add, relu, x]
    assert x.next is relu and relu.prev is x


def test_new_nodes_go_where_the_context_says():
    graph = small()
    x, relu, *_ = graph.nodes
    with graph.inserting_before(relu):
        graph.call_function(facula.neg, (x,))
        with graph.inserting_before():
            graph.placeholder("first")
        graph.call_function(facula.abs, (x,))
    assert [n.name for n in graph.nodes] == ["first", "x", "neg", "abs_1", "relu", "add", "output"]


def test_names_are_unique_and_legal():
    graph = fx.Graph()
    wished = ["x", "x", "x_1", "for", "max", "0.weight", "a b", "", "x_0"]
    names = [graph.create_node("placeholder", name).name for name in wished]
    assert names == ["x", "x_1", "x_2", "for_1", "max_1", "_0_weight", "a_b", "_unnamed", "x_0"]


def test_a_node_in_use_cannot_be_erased():
    graph = small()
    _, relu, add, output = graph.nodes
    with pytest.raises(RuntimeError, match="Tried to erase Node relu but it still had 1 users"):
        graph.erase_node(relu)
    output.args = (relu,)
    graph.erase_node(add)
    assert len(graph.nodes) == 3
    with pytest.warns(UserWarning, match="already erased"):
        graph.erase_node(add)


def test_arguments_cannot_be_changed_behind_the_node():
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(facula.cat, ([x, x],), {"dim": 0})
    with pytest.raises(TypeError, match="does not support mutation"):
        node.args[0].append(x)
    with pytest.raises(TypeError, match="does not support mutation"):
        node.kwargs["dim"] = 1
    with pytest.raises(TypeError, match="expected a tuple as args"):
        node.args = [x]


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda g: g.create_node("call", "x"), AssertionError, "'call' is not in _legal_ops"),
        (lambda g: g.call_function("relu"), ValueError, "a Callable is expected"),
        (lambda g: g.call_method(3), ValueError, "a str is expected"),
        (lambda g: g.create_node("output", "output", [1]), AssertionError, "must be a tuple"),
        (lambda g: g.inserting_before(fx.Graph().placeholder("x")), AssertionError, "not in graph"),
        (lambda g: g.find_nodes(op="call_function"), AssertionError, "give the target"),
    ],
)
def test_wrong_nodes_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make(small())


def test_lint_finds_what_is_wrong():
    graph = small()
    graph.lint()
    _, relu, add, output = graph.nodes
    output.append(relu)
    with pytest.raises(RuntimeError, match="'relu' of Node 'add' was used before it has been"):
        graph.lint()
    graph = small()
    add = list(graph.nodes)[2]
    add.args = (fx.Graph().placeholder("other"),)
    with pytest.raises(RuntimeError, match="'other' of Node 'add' does not belong to this Graph"):
        graph.lint()
    module = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    module.delete_submodule("0")
    with pytest.raises(RuntimeError, match="references nonexistent attribute 0"):
        module.graph.lint()


def test_dead_code_goes_and_changes_stay():
    def f(x):
        x.neg()
        facula.relu(x * 2)
        x.add_(1)
        facula.relu_(x)
        facula.bernoulli(x)
        return x + 1

    graph = fx.Tracer().trace(f)
    assert graph.eliminate_dead_code()
    names = ["x", "add_", "relu_", "bernoulli", "add", "output"]
    assert [n.name for n in graph.nodes] == names
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
    assert [n.name for n in graph.nodes] == ["x", "add", "output"]


def test_nodes_of_a_kind_are_found():
    graph = fx.Tracer().trace(lambda x: facula.relu(facula.relu(x)).neg())
    assert [n.name for n in graph.find_nodes(op="call_function", target=facula.relu)] == [
        "relu",
        "relu_1",
    ]
    graph.find_nodes(op="call_function", target=facula.relu)[0].target = facula.exp
    assert len(graph.find_nodes(op="call_function", target=facula.exp)) == 1
    assert graph.find_nodes(op="placeholder")[0].name == "x"
    assert graph.output_node().op == "output"


def test_copies_of_a_graph_are_apart():
    graph = small()
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert str(other) == str(graph)
        assert not set(other.nodes) & set(graph.nodes)
        next(iter(other.nodes)).users.clear()
    assert len(next(iter(graph.nodes)).users) == 1


def test_a_long_graph_can_be_copied_and_pickled():
    graph = fx.Graph()
    x = graph.placeholder("x")
    for _ in range(5000):
        x = graph.call_function(facula.neg, (x,))
    graph.output(x)
    assert len(copy.deepcopy(graph).nodes) == len(pickle.loads(pickle.dumps(graph)).nodes) == 5002


def test_a_graph_is_copied_into_another():
    graph = fx.Graph()
    copies = {}
    result = graph.graph_copy(small(), copies)
    assert result is copies[list(copies)[-1]] and len(graph.nodes) == 3


def test_the_table_has_a_line_for_each_node(capsys):
    small().print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[4].split() == ["call_method", "add", "add", "(relu,", "1)", "{'alpha':", "2}"]


def test_code_can_be_changed_when_it_is_made():
    module = fx.GraphModule({}, small())
    with module.graph.on_generate_code(lambda before: lambda body: ["# begin\n", *body]):
        module.recompile()
    assert module.code.splitlines()[4] == "    # begin"
    module.recompile()
    assert "# begin" not in module.code


def test_arguments_are_normalised():
    graph = fx.Tracer().trace(lambda x: facula.flatten(x, 1) + facula.conv2d(x, x, padding="same"))
    (flatten,) = graph.find_nodes(op="call_function", target=facula.flatten)
    (conv,) = graph.find_nodes(op="call_function", target=facula.conv2d)
    x = next(iter(graph.nodes))
    assert flatten.normalized_arguments(nn.Module(), normalize_to_only_use_kwargs=True).kwargs == {
        "input": x,
        "start_dim": 1,
        "end_dim": -1,
    }
    assert conv.normalized_arguments(nn.Module()).kwargs["padding"] == "same"


def test_side_effects_are_kept():
    @fx.has_side_effect
    def log(x):
        return x

    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(log, (x,))
    graph.output(x)
    assert not graph.eliminate_dead_code()


def test_a_graph_without_output_gives_nothing():
    graph = fx.Graph()
    graph.placeholder("x")
    assert fx.GraphModule({}, graph)(1) is None
    assert fx.GraphModule({}, fx.Graph())() is None
    with pytest.raises(AssertionError, match="has no output"):
        graph.output_node()

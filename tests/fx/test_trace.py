"""Programs traced: what becomes a node, and what cannot be recorded."""

import math
import threading

import numpy as np
import pytest
from data_tools import run_script

import facula
from facula import fx, nn
from facula.nn import functional as F

fx.wrap("len")


@fx.wrap
def by_sign(x):
    return x if x.sum() > 0 else -x


def names(graph):
    return [node.name for node in graph.nodes]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.scale = nn.Parameter(facula.full((4,), 2.0))
        self.register_buffer("shift", facula.ones(4))
        self.plain = facula.arange(4.0)

    def forward(self, x, *, times: int = 2):
        return self.layers(x) * self.scale * times + self.shift + self.plain


@pytest.mark.promise("U7")
def test_a_module_computes_the_same_after_tracing():
    net = Net()
    traced = fx.symbolic_trace(net)
    x = facula.randn(5, 3)
    assert facula.equal(traced(x), net(x))
    assert facula.equal(traced(x, times=3), net(x, times=3))
    assert traced.scale is net.scale
    assert list(traced.state_dict()) == ["scale", "shift", "plain", *list(net.state_dict())[2:]]


def test_what_a_module_does_becomes_nodes():
    graph = fx.Tracer().trace(Net())
    assert [(node.op, node.target) for node in graph.nodes][:4] == [
        ("placeholder", "x"),
        ("placeholder", "times"),
        ("call_module", "layers.0"),
        ("call_module", "layers.1"),
    ]
    assert [n.target for n in graph.nodes if n.op == "get_attr"] == ["scale", "shift", "plain"]


def test_gradients_flow_through_a_traced_module():
    net = Net()
    fx.symbolic_trace(net)(facula.ones(1, 3)).sum().backward()
    grad = net.scale.grad.clone()
    net.zero_grad()
    net(facula.ones(1, 3)).sum().backward()
    assert facula.equal(net.scale.grad, grad)


def test_a_parameter_that_is_not_part_of_an_operation_is_read_when_the_graph_runs():
    class Doubled(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(facula.ones(2))

        def forward(self, x):
            return x + self.weight * 2

    net = Doubled()
    traced = fx.symbolic_trace(net)
    with facula.no_grad():
        net.weight.fill_(5.0)
    assert traced(facula.zeros(2)).tolist() == [10.0, 10.0]


def test_operators_methods_and_attributes_are_recorded():
    def f(x):
        y = (x + 1) * (2 - x) ** 2 / 3 // 1 % 5 @ x
        z = -y.view(-1)[None, ..., 1:2] > ~x.shape[0]
        return abs(z) & 1 | x.T ^ x << 1

    targets = [n.target for n in fx.Tracer().trace(f).nodes if n.op.startswith("call")]
    assert [target if isinstance(target, str) else target.__name__ for target in targets] == [
        "add",
        "sub",
        "pow",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "matmul",
        "view",
        "getitem",
        "neg",
        "getattr",
        "getitem",
        "invert",
        "gt",
        "abs",
        "and_",
        "lshift",
        "getattr",
        "xor",
        "or_",
    ]


def test_a_tensor_that_is_made_while_tracing_is_a_constant():
    traced = fx.symbolic_trace(lambda x: x + facula.ones(2))
    assert names(traced.graph) == ["x", "_tensor_constant0", "add", "output"]
    assert list(traced.state_dict()) == ["_tensor_constant0"]
    assert traced(facula.ones(2)).tolist() == [2.0, 2.0]


def test_an_unpacked_proxy_gives_as_many_items_as_there_are_names():
    def f(x):
        a, b, c = x.chunk(3)
        return a + b + c

    x = facula.arange(6.0)
    assert facula.equal(fx.symbolic_trace(f)(x), f(x))


def test_functions_of_math_are_recorded():
    graph = fx.Tracer().trace(lambda x: x * math.sqrt(x.size(0)))
    assert math.sqrt in [node.target for node in graph.nodes]
    assert math.sqrt(4) == 2.0
    traced = fx.symbolic_trace(lambda x: x * math.sqrt(x.size(0)))
    assert fx.symbolic_trace(traced).code == traced.code


def test_wrapped_functions_are_one_step_and_run_as_they_are():
    def f(x):
        return by_sign(x) * len(x)

    traced = fx.symbolic_trace(f)
    assert names(traced.graph) == ["x", "by_sign", "len_1", "mul", "output"]
    assert traced(facula.tensor([-1.0, -2.0])).tolist() == [2.0, 4.0]
    assert by_sign(facula.ones(1)).item() == 1.0


def test_wrap_belongs_at_the_top_of_a_module():
    with pytest.raises(NotImplementedError, match="top level of a module"):
        fx.wrap("len")
    with pytest.raises(RuntimeError, match="callable or string name"):
        fx.wrap(3)


def branch(x):
    return x if x.sum() > 0 else -x


def loop(x):
    for y in x:
        return y


@pytest.mark.parametrize(
    "f, error, words",
    [
        (branch, fx.proxy.TraceError, "control flow: the value of 'gt' is not known"),
        (loop, fx.proxy.TraceError, "cannot be iterated"),
        (lambda x: print(*x), fx.proxy.TraceError, "cannot be iterated"),
        (lambda x: dict(**x), fx.proxy.TraceError, "cannot be iterated"),
        (lambda x: not x, fx.proxy.TraceError, "control flow"),
        (lambda x: x.__len__(), RuntimeError, "'len' is not supported"),
        (lambda x: {x: 1}, RuntimeError, "cannot contain a Node"),
        (lambda x: range(x), TypeError, "cannot be interpreted as an integer"),
        (lambda x: facula.add(x, object()), NotImplementedError, "argument of type"),
    ],
)
def test_what_cannot_be_recorded_is_refused(f, error, words):
    with pytest.raises(error, match=words):
        fx.symbolic_trace(f)
    # Nothing stays replaced after an error.
    assert not fx._symbolic_trace.is_fx_tracing()
    assert nn.Module.__call__ is fx._symbolic_trace._orig_module_call
    assert "__getattribute__" not in vars(nn.Module)


def test_asserts_are_recorded_if_the_tracer_says_so():
    class Asserting(fx.Tracer):
        trace_asserts = True

    # As a text: pytest makes other code of the asserts in its files.
    namespace = {}
    exec("def f(x):\n    assert x.sum() > 0, 'the sum is not positive'\n    return x", namespace)
    traced = fx.GraphModule({}, Asserting().trace(namespace["f"]))
    assert traced(facula.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(AssertionError, match="the sum is not positive"):
        traced(facula.zeros(2))


def test_the_lines_of_the_program_are_recorded_if_the_tracer_says_so():
    class Recording(fx.Tracer):
        record_stack_traces = True

    graph = Recording().trace(lambda x: x.neg())
    (neg,) = graph.find_nodes(op="call_method", target="neg")
    assert "lambda x: x.neg()" in neg.stack_trace
    readable = fx.GraphModule({}, graph).print_readable(print_output=False)
    assert "in <lambda>, code: graph = Recording().trace(lambda x: x.neg())" in readable


def test_modules_are_leaves_as_the_tracer_says():
    class Inside(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    graph = Inside().trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    assert F.linear in [node.target for node in graph.nodes]
    assert [n.target for n in graph.nodes if n.op == "get_attr"] == ["0.weight", "0.bias"]


def test_shapes_of_parameters_are_numbers_if_asked_for():
    class Square(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(facula.ones(2, 2))

        def forward(self, x):
            return x @ self.weight if self.weight.shape[0] == 2 else x

    with pytest.raises(fx.proxy.TraceError):
        fx.Tracer().trace(Square())
    graph = fx.Tracer(param_shapes_constant=True).trace(Square())
    assert names(graph) == ["x", "weight", "matmul", "output"]


def test_a_module_that_is_not_inside_of_the_root_is_refused():
    outside = nn.ReLU()
    with pytest.raises(NameError, match="not installed as a submodule"):
        fx.symbolic_trace(lambda x: outside(x))


def test_nodes_know_the_modules_they_come_from():
    graph = fx.Tracer().trace(Net())
    linear = graph.find_nodes(op="call_module")[0]
    assert list(linear.meta["nn_module_stack"]) == ["layers", "layers.0"]


def flagged(x, flag=True, pair=(1, {"a": 2})):
    return x * pair[0] + pair[1]["a"] if flag else x


def test_concrete_arguments_are_fixed_and_checked():
    traced = fx.symbolic_trace(flagged, concrete_args={"flag": True})
    x = facula.ones(2)
    assert traced(x, True, (3, {"a": 4})).tolist() == [7.0, 7.0]
    with pytest.raises(AssertionError, match="flag has been specialized to have value True"):
        traced(x, False)


def test_concrete_arguments_are_trees_of_inputs():
    traced = fx.symbolic_trace(
        lambda x, pair: {"sum": x * pair[0] + pair[1]["a"]},
        concrete_args={"pair": (fx.PH, {"a": fx.PH})},
    )
    x = facula.ones(2)
    result = traced(x, (3, {"a": 4}))
    assert list(result) == ["sum"] and result["sum"].tolist() == [7.0, 7.0]
    assert fx.Interpreter(traced).run(x, (3, {"a": 4}))["sum"].tolist() == [7.0, 7.0]


def test_defaults_beside_trees_stay():
    traced = fx.symbolic_trace(
        lambda pair, y=1, flag=True: pair[0] + y,
        concrete_args={"pair": [fx.PH], "flag": True},
    )
    assert traced([2]) == 3
    assert "def forward(self, pair, y = 1, flag = True):" in traced.code


def test_none_as_a_concrete_argument():
    traced = fx.symbolic_trace(lambda x, y: x if y is None else y, concrete_args={"y": None})
    assert traced(1, None) == 1
    with pytest.raises(AssertionError, match="y has been specialized"):
        traced(1, 2)


def test_stars_are_inputs():
    traced = fx.symbolic_trace(lambda x, *rest, **named: x + rest[0] + named["z"])
    assert traced(1, 2, 3, z=4) == 7


def test_facula_is_the_same_while_and_after_a_program_is_traced():
    before = math.sqrt, nn.Module.__call__, nn.Module.__getattr__
    fx.symbolic_trace(Net())
    assert before == (math.sqrt, nn.Module.__call__, nn.Module.__getattr__)


def test_modules_in_other_threads_run_while_a_program_is_traced():
    other = nn.Linear(2, 2)
    results = []

    class Waits(nn.Module):
        def forward(self, x):
            thread = threading.Thread(target=lambda: results.append(other(facula.ones(1, 2))))
            thread.start()
            thread.join()
            return x + 1

    assert names(fx.Tracer().trace(Waits())) == ["x", "add", "output"]
    assert facula.equal(results[0], other(facula.ones(1, 2)))


def test_numbers_of_numpy_leave_operators_to_the_proxy():
    traced = fx.symbolic_trace(lambda x: np.float64(2.0) * x)
    assert traced(facula.ones(1)).item() == 2.0


@pytest.mark.parametrize("packed", [list, tuple])
def test_einsum_is_recorded_with_the_operands_of_a_list(packed):
    graph = fx.symbolic_trace(lambda a, b: facula.einsum("ij,jk->ik", packed((a, b)))).graph
    a, b, product, _ = graph.nodes
    assert product.args == ("ij,jk->ik", a, b)


def test_the_first_call_with_any_number_of_proxies_is_one_node(tmp_path):
    # In a process of its own: once anybody has overridden an operation, all are asked anew.
    program = """
        import facula
        from facula import fx

        graph = fx.symbolic_trace(lambda a, b: facula.broadcast_tensors(a, b)[0]).graph
        print([node.name for node in graph.nodes])
    """
    printed = "['a', 'b', 'broadcast_tensors', 'getitem', 'output']\n"
    assert run_script(program, tmp_path) == (0, printed, "")

"""Graphs run node by node, transformed, and the shapes of their results."""

import pytest

import facula
from facula import fx, nn
from facula.fx.passes.shape_prop import ShapeProp

NET = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
X = facula.randn(4, 3)


def test_an_interpreter_computes_what_the_module_does():
    assert facula.equal(fx.Interpreter(fx.symbolic_trace(NET)).run(X), NET(X))
    assert facula.equal(fx.Interpreter(fx.symbolic_trace(NET)).boxed_run([X]), NET(X))


def test_results_are_dropped_after_their_last_use():
    interpreter = fx.Interpreter(fx.symbolic_trace(NET))
    interpreter.run(X)
    assert [node.op for node in interpreter.env] == ["output"]
    interpreter = fx.Interpreter(fx.symbolic_trace(NET), garbage_collect_values=False)
    interpreter.run(X)
    assert len(interpreter.env) == 4


def test_known_results_are_not_computed():
    traced = fx.symbolic_trace(lambda x: facula.relu(x) + 1)
    _, relu, *_ = traced.graph.nodes
    assert fx.Interpreter(traced).run(1, initial_env={relu: 5}) == 6


def test_an_error_names_its_node():
    traced = fx.symbolic_trace(lambda x: x @ x)
    with pytest.raises(RuntimeError) as info:
        fx.Interpreter(traced).run(facula.ones(2, 3))
    text = " ".join([str(info.value), *getattr(info.value, "__notes__", [])])
    assert "While executing %matmul" in text
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x"):
        fx.Interpreter(traced).run()


def test_defaults_and_stars_of_inputs():
    traced = fx.symbolic_trace(lambda x, y=2, *rest: x + y + rest[0])
    assert fx.Interpreter(traced).run(1, 2, 3) == 6


def test_a_transformer_puts_other_nodes_in_place():
    class Tanh(fx.Transformer):
        def call_module(self, target, args, kwargs):
            if isinstance(self.fetch_attr(target), nn.ReLU):
                return facula.tanh(*args)
            return super().call_module(target, args, kwargs)

    changed = Tanh(fx.symbolic_trace(NET)).transform()
    assert facula.equal(changed(X), facula.tanh(NET[0](X)))
    assert [n.name for n in changed.graph.nodes] == ["input_1", "_0", "tanh", "output"]


def test_shapes_are_written_to_the_nodes():
    traced = fx.symbolic_trace(lambda x: (x.chunk(2), x.double()))
    ShapeProp(traced).propagate(facula.ones(4, 3, requires_grad=True))
    x, chunk, double, output = traced.graph.nodes
    assert x.meta["tensor_meta"].stride == (3, 1) and x.meta["tensor_meta"].requires_grad
    assert [m.shape for m in chunk.meta["tensor_meta"]] == [(2, 3), (2, 3)]
    assert double.meta["tensor_meta"].dtype == facula.float64
    assert output.meta["type"] is tuple
    assert '"f32[4, 3]"' in traced.print_readable(print_output=False)
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%matmul"):
        ShapeProp(fx.symbolic_trace(lambda x: x @ x)).propagate(X)


def test_channels_last_is_told():
    traced = fx.symbolic_trace(lambda x: x + 1)
    ShapeProp(traced).propagate(facula.ones(1, 2, 3, 3).to(memory_format=facula.channels_last))
    assert list(traced.graph.nodes)[1].meta["tensor_meta"].memory_format == facula.channels_last


def test_what_is_known_of_a_node_goes_to_the_nodes_made_of_it():
    traced = fx.symbolic_trace(lambda x: x + 1)
    list(traced.graph.nodes)[1].meta["mark"] = 7
    changed = fx.Transformer(traced).transform()
    assert list(changed.graph.nodes)[1].meta["mark"] == 7

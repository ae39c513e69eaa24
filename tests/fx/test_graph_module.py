"""Graph modules: their code, copies, pickles and folders."""

import copy
import enum
import gc
import importlib
import io
import linecache
import pickle
import subprocess
import sys
import traceback
from typing import NamedTuple

import pytest

import facula
from facula import fx, nn


class Pair(NamedTuple):
    a: object
    b: object


class Color(enum.Enum):
    RED = 1


def paint(x, color):
    return x + color.value


fx.wrap("paint")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU())
        self.head = nn.Linear(2, 3)
        self.unused = nn.Linear(1, 1)

    def forward(self, x):
        x = self.net(x).mean((2, 3)) + facula.ones(2)
        return self.head(x)


X = facula.rand(2, 1, 5, 5)


def test_the_code_can_be_read():
    def f(x: facula.Tensor, n: int = 3) -> facula.Tensor:
        y = facula.nn.functional.relu(x, inplace=True).to(facula.float64)
        return y[:, None] + n * float("inf")

    assert fx.symbolic_trace(f).code.strip() == (
        "def forward(self, x : facula.Tensor, n : int = 3) -> facula.Tensor:\n"
        "    relu = facula.nn.functional.relu(x, inplace = True);  x = None\n"
        "    to = relu.to(facula.float64);  relu = None\n"
        "    getitem = to[(slice(None, None, None), None)];  to = None\n"
        "    mul = n * inf;  n = None\n"
        "    add = getitem + mul;  getitem = mul = None\n"
        "    return add"
    )


def test_arguments_of_all_kinds_are_written_so_that_the_code_runs():
    def f(x):
        return Pair(paint(x, Color.RED), {"k": [x.to(facula.device("cpu")), None, ...]})

    result = fx.symbolic_trace(f)(facula.ones(1))
    assert isinstance(result, Pair) and result.a.item() == 2.0 and result.b["k"][2] is ...


@pytest.mark.promise("U7")
def test_a_graph_is_changed_and_compiled_again():
    net = Net().eval()
    traced = fx.symbolic_trace(net)
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(traced.get_submodule(node.target), nn.ReLU):
            with traced.graph.inserting_after(node):
                new = traced.graph.call_function(facula.tanh, node.args)
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    traced.graph.lint()
    traced.recompile()
    expected = net.head(facula.tanh(net.net[:2](X)).mean((2, 3)) + 1)
    assert facula.equal(traced(X), expected)


@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: fx.Transformer(m).transform(),
        fx.symbolic_trace,
    ],
    ids=["copy", "deepcopy", "pickle", "transform", "trace"],
)
def test_what_is_made_of_a_graph_module_computes_the_same(again):
    net = Net().eval()
    traced = fx.symbolic_trace(net)
    other = again(traced)
    assert facula.equal(other(X), net(X))
    assert [n.name for n in other.graph.nodes] == [n.name for n in traced.graph.nodes]
    assert other.training is False
    assert list(other.state_dict()) == list(traced.state_dict())
    assert type(other) is not type(traced) and other.code == traced.code


def test_a_deep_copy_has_parameters_hooks_and_attributes_of_its_own():
    traced = fx.symbolic_trace(Net())
    traced.note = {"a": 1}
    traced.register_forward_hook(lambda module, args, result: result * 0)
    other = copy.deepcopy(traced)
    assert other.head.weight is not traced.head.weight
    assert other.note == {"a": 1} and other.note is not traced.note
    assert other(X).abs().sum().item() == 0.0


def test_a_graph_module_is_saved_as_a_whole():
    net = Net().eval()
    file = io.BytesIO()
    facula.save(fx.symbolic_trace(net), file)
    file.seek(0)
    loaded = facula.load(file, weights_only=False)
    assert isinstance(loaded, fx.GraphModule) and facula.equal(loaded(X), net(X))
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        facula.load(file)


def test_a_module_of_trees_is_pickled():
    traced = fx.symbolic_trace(lambda x, d: [x + d["a"]], concrete_args={"d": {"a": fx.PH}})
    other = pickle.loads(pickle.dumps(traced))
    assert other(1, {"a": 2}) == [3]


def test_a_function_that_cannot_be_imported_cannot_be_pickled():
    graph = fx.Graph()

    def local(x):
        return x

    graph.output(graph.call_function(local, (graph.placeholder("x"),)))
    with pytest.raises(RuntimeError, match="cannot be imported"):
        pickle.dumps(fx.GraphModule({}, graph))


def test_a_folder_is_a_package(tmp_path, monkeypatch):
    net = Net().eval()
    fx.symbolic_trace(net).to_folder(tmp_path / "my_net", "MyNet")
    monkeypatch.syspath_prepend(tmp_path)
    package = importlib.import_module("my_net")
    assert facula.equal(package.MyNet().eval()(X), net(X))
    del sys.modules["my_net"], sys.modules["my_net.module"]


def test_a_traceback_shows_the_line_of_the_generated_code():
    traced = fx.symbolic_trace(lambda x: facula.relu(x) @ x)
    with pytest.raises(RuntimeError) as info:
        traced(facula.ones(2, 3))
    assert "matmul = relu @ x" in "".join(traceback.format_tb(info.tb))


def test_modules_are_added_and_deleted():
    traced = fx.symbolic_trace(Net())
    assert not hasattr(traced, "unused")
    assert traced.add_submodule("extra.inner", nn.ReLU())
    assert not traced.delete_submodule("extra.other") and traced.delete_submodule("extra.inner")
    traced.add_submodule("extra.inner", nn.ReLU())
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_children()] == ["net", "head"]


def test_a_root_may_be_a_dict():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("a.linear", (x,)))
    linear = nn.Linear(2, 1)
    assert fx.GraphModule({"a.linear": linear}, graph).a.linear is linear
    with pytest.raises(RuntimeError, match=r"target a\.linear but that target was not provided"):
        fx.GraphModule({}, graph)
    with pytest.raises(RuntimeError, match="passed for root"):
        fx.GraphModule(3, graph)


def test_a_graph_module_prints_its_modules_and_its_code():
    text = str(fx.symbolic_trace(nn.Sequential(nn.ReLU())))
    assert text.startswith("Sequential(\n  (0): ReLU()\n)")
    assert 'getattr(self, "0")(input_1)' in text


def test_hooks_see_nodes_come_and_go():
    traced = fx.symbolic_trace(lambda x: x + 1)
    seen = []
    traced._register_create_node_hook(lambda node: seen.append(("made", node.name)))
    traced._register_erase_node_hook(lambda node: seen.append(("erased", node.name)))
    neg = traced.graph.call_method("neg", (next(iter(traced.graph.nodes)),))
    traced.graph.erase_node(neg)
    assert seen == [("made", "neg"), ("erased", "neg")]


PROGRAM = """
import pickle, torch, torchvision, math
from torch import fx, nn
from torch.fx._symbolic_trace import Tracer
from torchvision.models.feature_extraction import get_graph_node_names

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.layers(x)) * math.sqrt(x.size(0))

traced = fx.symbolic_trace(Net())
assert [node.op for node in traced.graph.nodes].count("call_module") == 2
assert "x : torch.Tensor" in traced.code
again = pickle.loads(pickle.dumps(traced))
assert again.code == traced.code
print(torch.equal(again.eval()(torch.ones(3, 2)), traced.eval()(torch.ones(3, 2))))
print(get_graph_node_names(torchvision.models.squeezenet1_1())[0][1])
"""


@pytest.mark.promise("U2")
def test_programs_for_pytorch_trace_with_our_modules(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "facula.cli", "run", str(script)]
    output = subprocess.run(command, capture_output=True, text=True)
    assert output.stdout.split() == ["True", "features.0"], output.stderr


def test_code_that_is_gone_leaves_nothing_behind():
    traced = fx.symbolic_trace(lambda x: paint(x, Color.RED))
    gc.collect()
    before = len(linecache.cache), len(fx._symbolic_trace._wrapped_fns_to_patch)
    for _ in range(20):
        traced.recompile()
    gc.collect()
    assert before == (len(linecache.cache), len(fx._symbolic_trace._wrapped_fns_to_patch))

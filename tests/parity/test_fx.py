"""fx against PyTorch's: nodes, code, results, gradients, errors; names of vision's nodes."""

import io
import math
import operator

import pytest
import torch
import torch.fx

import facula
from facula.vision import models

from .vision_oracle import torchvision

pytestmark = pytest.mark.promise("U7")


class _Of:
    """Programs, written once for either framework."""

    def __init__(self, lib):
        self.lib, self.fx, self.nn, self.F = lib, lib.fx, lib.nn, lib.nn.functional

    def module(self):
        lib, nn, F = self.lib, self.nn, self.F

        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(3, 3)
                self.scale = nn.Parameter(lib.full((3,), 2.0))
                self.register_buffer("shift", lib.ones(3))

            def forward(self, x, *, times=2):
                return F.relu(self.linear(x) * self.scale + self.shift, inplace=True) * times

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
                self.layers = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU())
                self.plain = lib.arange(3.0)
                self.lists = nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])

            def forward(self, x, y=None, *, z: int = 3):
                a = self.inner(x, times=3)
                b = lib.cat([a, self.layers(a)], dim=1)
                c = b[:, :3] + y
                c += z
                for layer in self.lists:
                    c = layer(c)
                d = lib.ones(3) + c + self.plain
                return {"a": (d, c.size(0)), "b": [F.dropout(d, 0.0), d.shape[0]]}

        lib.manual_seed(0)
        return Outer(), (lib.rand(4, 3), lib.rand(4, 3))

    def operators(self):
        def f(x, y):
            z = -x + 1 - y * 2 / 3
            z = 2 - z**2 // 1 % 5
            w = z @ y.T
            return w, z > 0, ~(z == 1), abs(z), z[0, ..., None], z[1:, [0]], 2**z, z.mT.shape

        return f, (self.lib.rand(3, 3), self.lib.rand(3, 3))

    def functions(self):
        lib, F = self.lib, self.F

        def f(x):
            a = F.softmax(x, -1) + F.layer_norm(x, (4,), eps=1e-3) + F.leaky_relu(x, 0.2)
            b = F.max_pool1d(x[None], 2) if True else x
            c = lib.stack([x, x.neg()]).sum(dim=(0, 1)) + lib.where(x > 0, x, 0.0)
            d, e = lib.split(x, 2)
            f = lib.max(x, dim=0)
            g = lib.flatten(x).view(x.size(0), -1).to(lib.float64).mean(0, keepdim=True)
            h = F.interpolate(x[None], scale_factor=2.0) + F.pad(x, (1, 3))
            return a, b, c, d * e, f.values, f[1], g, h, lib.einsum("ij->ji", x)

        return f, (lib.rand(4, 4),)

    def python(self):
        def f(x, *rest, **named):
            a, b = rest[0].chunk(2)
            return x * math.sqrt(x.size(0)) + a + b + named["k"]

        return f, None

    def annotated(self):
        lib = self.lib

        def f(x: lib.Tensor, n: int = 3, s: str = "a") -> lib.Tensor:
            return x.to(lib.float64).to(device=lib.device("cpu")) * float("inf") + n

        return f, (lib.ones(2),)

    def constants(self):
        lib = self.lib
        fixed = lib.ones(2)

        def f(x):
            return x + fixed + fixed, lib.zeros(2), None, "text", 3.5, slice(None)

        return f, (lib.ones(2),)


PROGRAMS = ["module", "operators", "functions", "python", "annotated", "constants"]
# PyTorch has these by another path.
_ALIASES = {
    "torch._C._nn.": "torch.nn.functional.",
    "torch.functional.": "torch.",
    "torch._jit_internal.boolean_dispatch.": "torch.nn.functional.",
    "torch._jit_internal.fn": "torch.nn.functional.max_pool1d",
    "torch_nn_functional_boolean_dispatch": "torch.nn.functional.max_pool1d",
}


def _both(name):
    return [getattr(_Of(lib), name)() for lib in (torch, facula)]


def _text(text):
    text = str(text).replace("facula", "torch")
    for old, new in _ALIASES.items():
        text = text.replace(old, new)
    return text


def _rows(graph):
    rows = []
    for node in graph.nodes:
        target = _text(node._pretty_print_target(node.target))
        rows.append(
            (node.op, node.name, target.rpartition(".")[2], str(node.args), str(node.kwargs))
        )
    return rows


def _close(theirs, ours):
    if isinstance(theirs, torch.Tensor):
        facula.testing.assert_close(
            ours, facula.from_numpy(theirs.detach().numpy()).to(ours.dtype), equal_nan=True
        )
    elif isinstance(theirs, dict):
        assert list(theirs) == list(ours)
        for key in theirs:
            _close(theirs[key], ours[key])
    elif isinstance(theirs, (list, tuple)) and not isinstance(theirs, torch.Size):
        assert len(theirs) == len(ours)
        for a, b in zip(theirs, ours, strict=True):
            _close(a, b)
    else:
        assert theirs == ours


@pytest.mark.parametrize("name", PROGRAMS)
def test_nodes_are_the_same(name):
    (theirs, _), (ours, _) = _both(name)
    expected = _rows(torch.fx.symbolic_trace(theirs).graph)
    found = _rows(facula.fx.symbolic_trace(ours).graph)
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    # PyTorch pads arguments of nn.functional with defaults that only it has.
    assert [row[3] for row in found if "pool" not in row[1]] == [
        row[3] for row in expected if "pool" not in row[1]
    ]


@pytest.mark.parametrize("name", ["module", "operators", "python", "annotated", "constants"])
def test_code_and_print_are_the_same(name):
    (theirs, _), (ours, _) = _both(name)
    expected, found = torch.fx.symbolic_trace(theirs), facula.fx.symbolic_trace(ours)
    assert _text(found.code) == _text(expected.code)
    assert _text(found.graph) == _text(expected.graph)
    assert _text(found) == _text(expected)
    assert (
        _text(found.print_readable(print_output=False)).rstrip()
        == _text(expected.print_readable(print_output=False)).rstrip()
    )


@pytest.mark.parametrize("name", ["module", "operators", "functions", "constants"])
def test_results_and_gradients_are_the_same(name):
    (theirs, given), (ours, inputs) = _both(name)
    expected, found = torch.fx.symbolic_trace(theirs), facula.fx.symbolic_trace(ours)
    if name == "module":
        found.load_state_dict(
            {k: facula.from_numpy(v.numpy()) for k, v in expected.state_dict().items()}
        )
    inputs = [facula.from_numpy(x.numpy()) for x in given]
    theirs, ours = expected(*given), found(*inputs)
    _close(theirs[:7] if name == "operators" else theirs, ours[:7] if name == "operators" else ours)
    if name == "module":
        theirs["a"][0].sum().backward()
        ours["a"][0].sum().backward()
        pairs = zip(expected.parameters(), found.parameters(), strict=True)
        assert sum(1 for _ in expected.parameters()) == 9
        for a, b in pairs:
            _close(a.grad, b.grad)


def _branch(x):
    return x if x.sum() > 0 else -x


def _loop(x):
    for y in x:
        return y


def _length(x):
    return len(x)


ERRORS = {
    "branch": lambda lib: lib.fx.symbolic_trace(_branch),
    "loop": lambda lib: lib.fx.symbolic_trace(_loop),
    "length": lambda lib: lib.fx.symbolic_trace(_length),
    "stars": lambda lib: lib.fx.symbolic_trace(lambda x: print(*x)),
    "key": lambda lib: lib.fx.symbolic_trace(lambda x: {x: 1}),
    "range": lambda lib: lib.fx.symbolic_trace(lambda x: range(x)),
    "item": lambda lib: lib.fx.symbolic_trace(lambda x: operator.setitem(x, 0, 1)),
    "no function": lambda lib: lib.fx.symbolic_trace(3),
    "module outside": lambda lib: lib.fx.symbolic_trace(_calls(lib.nn.ReLU())),
    "op": lambda lib: lib.fx.Graph().create_node("no op", "x"),
    "target": lambda lib: lib.fx.Graph().call_function("text"),
    "args": lambda lib: lib.fx.Graph().create_node("output", "output", [1]),
    "erase": lambda lib: _erase(lib),
    "change": lambda lib: _cat(lib).args[0].append(1),
    "change by name": lambda lib: _cat(lib).kwargs.update(dim=1),
    "root": lambda lib: lib.fx.GraphModule(3, lib.fx.Graph()),
    "missing": lambda lib: _missing(lib),
    "wrap": lambda lib: lib.fx.wrap(3),
    "wrap inside": lambda lib: lib.fx.wrap("len"),
    "placeholder": lambda lib: lib.fx.Interpreter(lib.fx.symbolic_trace(lambda x: x)).run(),
    "shape": lambda lib: _shape_prop(lib),
    "concrete": lambda lib: lib.fx.symbolic_trace(lambda x, y: x, concrete_args={"y": 1})(1, 2),
}


def _calls(module):
    return lambda x: module(x)


def _erase(lib):
    graph = lib.fx.symbolic_trace(lambda x: x + 1).graph
    graph.erase_node(next(iter(graph.nodes)))


def _cat(lib):
    graph = lib.fx.Graph()
    return graph.call_function(lib.cat, ([graph.placeholder("x")],), {"dim": 0})


def _missing(lib):
    graph = lib.fx.Graph()
    graph.output(graph.get_attr("nothing"))
    return lib.fx.GraphModule(lib.nn.Module(), graph)


def _shape_prop(lib):
    from torch.fx.passes.shape_prop import ShapeProp as Theirs

    from facula.fx.passes.shape_prop import ShapeProp as Ours

    traced = lib.fx.symbolic_trace(lambda x: x @ x)
    (Ours if lib is facula else Theirs)(traced).propagate(lib.ones(2, 3))


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_the_same_type(name):
    found = []
    for lib in (torch, facula):
        with pytest.raises(Exception) as info:
            ERRORS[name](lib)
        found.append([cls.__name__ for cls in type(info.value).__mro__])
    assert found[0] == found[1]


def test_names_of_nodes_are_chosen_in_the_same_way():
    wished = "a a a_1 a_1 1x for print a.b x-y a_01 b_5 b_5 b x_0 x x_0 BatchNorm2d conv2D myFunc"
    found = []
    for lib in (torch, facula):
        namespace = lib.fx.graph._Namespace()
        names = [namespace.create_name(each, None) for each in wished.split()]
        found.append((names, [lib.fx.graph._snake_case(each) for each in wished.split()]))
    assert found[0] == found[1]


def test_concrete_arguments_are_the_same():
    def f(x, flag=True, tree=None):
        return {"sum": x + tree[0] * tree[1]["a"]} if flag else x

    for concrete in ({"tree": [0, {"a": 0}]}, {"flag": True}):
        codes = []
        for lib in (torch, facula):
            given = dict(concrete)
            if "tree" in given:
                given = {"tree": [lib.fx.PH, {"a": lib.fx.PH}], "flag": True}
                traced = lib.fx.symbolic_trace(
                    lambda x, tree: {"sum": x + tree[0] * tree[1]["a"]},
                    concrete_args={"tree": given["tree"]},
                )
                assert traced(1, [2, {"a": 3}]) == {"sum": 7}
            else:
                traced = lib.fx.symbolic_trace(f, concrete_args=given)
            codes.append(_text(traced.code))
        assert codes[0] == codes[1]


def test_patterns_are_replaced_in_the_same_places():
    def program(lib):
        relu = lib.relu

        def f(x, y):
            a = relu(relu(relu(x))) + lib.add(y, 3)
            b = lib.neg(x)
            return relu(b) + b, lib.cat([a, b]).sum() * lib.cat([b, a]).sum()

        patterns = [
            (lambda x: relu(relu(x)), lambda x: lib.sigmoid(x)),
            (lambda x: relu(lib.neg(x)), lambda x: lib.exp(x)),
            (lambda a, b: lib.cat([a, b]).sum(), lambda a, b: a.sum() + b.sum()),
            (lambda x, y: lib.add(x, y), lambda x, y: lib.sub(x, y)),
        ]
        traced = lib.fx.symbolic_trace(f)
        counts = [str(lib.fx.replace_pattern(traced, p, r)) for p, r in patterns]
        return counts, _text(traced.code)

    assert program(torch) == program(facula)


def test_graphs_are_cut_in_the_same_way():
    from torch.fx.passes.split_module import split_module as theirs

    from facula.fx.passes.split_module import split_module as ours

    def cut(lib, split):
        module, _ = _Of(lib).module()
        traced = lib.fx.symbolic_trace(module)
        order = {node: i // 4 for i, node in enumerate(traced.graph.nodes)}
        result = split(traced, module, lambda node: order[node])
        return [_text(m.code) for m in result.modules() if hasattr(m, "code")]

    assert cut(torch, theirs) == cut(facula, ours)


def test_a_module_of_pytorch_s_is_loaded():
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    traced = torch.fx.symbolic_trace(net)
    file = io.BytesIO()
    torch.save(traced, file)
    file.seek(0)
    loaded = facula.load(file, weights_only=False)
    assert isinstance(loaded, facula.fx.GraphModule)
    x = torch.rand(4, 3)
    _close(traced(x), loaded(facula.from_numpy(x.numpy())))


def test_names_of_the_modules_are_pytorch_s():
    for name in ("", ".graph", ".node", ".proxy", ".graph_module", ".interpreter", ".traceback",
                 ".subgraph_rewriter", ".immutable_collections"):  # fmt: skip
        theirs, ours = torch.fx, facula.fx
        if name:
            theirs, ours = getattr(theirs, name[1:]), getattr(ours, name[1:])
        missing = [each for each in theirs.__all__ if not hasattr(ours, each)]
        # Packages of torch.package, and the journal of its compiler.
        assert set(missing) <= {"reduce_package_graph_module", "get_graph_provenance_json"}
    for cls in ("Graph", "Node", "Tracer", "Proxy", "Interpreter", "Transformer", "GraphModule"):
        public = [n for n in vars(getattr(torch.fx, cls)) if not n.startswith("_")]
        missing = {n for n in public if not hasattr(getattr(facula.fx, cls), n)}
        # Sizes as symbols, which only a compiler has.
        assert missing <= {
            "create_size_node",
            "create_storage_offset_node",
            "create_stride_node",
            "materialize_symint",
            "materialize_symints",
        }, cls


# These use one operation for attention, where torchvision has several.
_FUSED = ("maxvit_t", "mvit_v1_b", "mvit_v2_s")
# torchvision cannot trace them: they decide by values.
_NOT_TRACED = ("raft_large", "raft_small")


def _traceable():
    """The first three of each family: the others are made of the same code."""
    families = {}
    detection = torchvision.models.list_models(torchvision.models.detection)
    for name in models.list_models():
        if name not in (*detection, *_NOT_TRACED):
            home = torchvision.models.get_model_builder(name).__module__
            families.setdefault(home, []).append(name)
    return [name for family in families.values() for name in family[:3]]


@pytest.fixture
def no_init(monkeypatch):
    for lib in (torch, facula):
        for name in facula.nn.init.__all__:
            if name.endswith("_"):
                monkeypatch.setattr(lib.nn.init, name, lambda tensor, *args, **kwargs: tensor)


@pytest.mark.promise("D3")
@pytest.mark.parametrize("name", _traceable())
def test_nodes_of_networks_have_torchvision_s_names(name, no_init):
    from torchvision.models.feature_extraction import get_graph_node_names as theirs

    from facula.vision.models.feature_extraction import get_graph_node_names as ours

    options = {"weights": None}
    if name.startswith(("deeplab", "fcn", "lraspp")):
        options["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    expected = theirs(torchvision.models.get_model(name, **options), suppress_diff_warning=True)
    found = ours(models.get_model(name, **options), suppress_diff_warning=True)
    if name not in _FUSED:
        assert found == expected
    else:
        layers = set(dict(models.get_model(name, **options).named_modules()))
        for a, b in zip(found, expected, strict=True):
            assert [n for n in a if n in layers] == [n for n in b if n in layers]


def test_features_are_the_same():
    from torchvision.models.feature_extraction import create_feature_extractor as theirs

    from facula.vision.models.feature_extraction import create_feature_extractor as ours

    nodes = {"layer1": "low", "layer2.0.relu_1": "middle", "layer4.1.add": "high"}
    expected = torchvision.models.resnet18().eval()
    network = models.resnet18().eval()
    network.load_state_dict(
        {k: facula.from_numpy(v.numpy()) for k, v in expected.state_dict().items()}
    )
    a, b = theirs(expected, nodes), ours(network, nodes)
    assert _text(a.code) == _text(b.code)
    x = torch.rand(1, 3, 64, 64)
    with torch.no_grad(), facula.no_grad():
        theirs, ours = a(x), b(facula.from_numpy(x.numpy()))
    assert list(theirs) == list(ours)
    for key in theirs:
        expected = facula.from_numpy(theirs[key].numpy())
        facula.testing.assert_close(ours[key], expected, rtol=1e-4, atol=1e-4)

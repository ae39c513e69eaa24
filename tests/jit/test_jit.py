"""``jit`` keeps Python functions as they are, and refuses files of TorchScript well."""

import subprocess
import sys

import pytest

import facula
from facula import jit, nn


@pytest.mark.promise("U2")
def test_script_and_its_marks_return_what_they_are_given():
    class Net(nn.Module):
        constant: jit.Final[int] = 2

        @jit.ignore
        def log(self, x):
            return "seen"

        @jit.ignore(drop=True)
        def debug(self):
            return "debug"

        @jit.unused
        def other(self):
            return 1

        @jit.export
        def double(self, x):
            return self.constant * x

        def forward(self, x):
            return x if jit.is_scripting() or jit.is_tracing() else self.double(x)

    net = jit.script(Net())
    assert isinstance(net, Net)
    assert net(facula.ones(1)).item() == 2
    assert (net.log(1), net.debug(), net.other()) == ("seen", "debug", 1)
    function = jit.script(lambda x: x + 1)
    assert function(1) == 2
    assert jit.script([1]) == [1]
    with pytest.raises(TypeError, match=r"jit\.script: expected a function"):
        jit.script(3)


def test_trace_runs_the_function_once_and_returns_it():
    calls = []

    def function(x, y):
        calls.append(x.shape)
        return x + y if len(calls) < 2 else x - y

    before = facula.get_rng_state()
    traced = jit.trace(function, (facula.ones(2), facula.ones(2)))
    assert traced is function
    assert len(calls) == 1
    assert traced(facula.ones(3), facula.ones(3)).tolist() == [0, 0, 0]
    jit.trace(lambda x: x + facula.rand(2), facula.ones(2))
    assert facula.equal(before, facula.get_rng_state())
    assert jit.trace(nn.Linear(2, 3), example_kwarg_inputs={"input": facula.ones(1, 2)})


@pytest.mark.parametrize(
    "function, inputs, error, message",
    [
        (lambda x: x, 3, TypeError, "expected example inputs"),
        (lambda x: x, "a", RuntimeError, "cannot be traced"),
        (lambda x, y: x, (facula.ones(2),), TypeError, "missing 1 required"),
        (3, facula.ones(2), RuntimeError, "expected a function or a module"),
        (lambda x: None, facula.ones(2), RuntimeError, "didn't return any values"),
        (lambda x: 3, facula.ones(2), RuntimeError, "only tensors, lists, tuples"),
        (lambda x: {"a": x}, facula.ones(2), RuntimeError, "strict=False"),
    ],
)
def test_trace_refuses_what_pytorch_would_not_trace(function, inputs, error, message):
    with pytest.raises(error, match=message):
        jit.trace(function, inputs)


def test_trace_takes_a_dict_as_result_without_strict():
    assert jit.trace(lambda x: {"a": x}, facula.ones(2), strict=False)


def test_trace_module_tries_each_method():
    net = nn.Linear(2, 3)
    assert jit.trace_module(net, {"forward": facula.ones(1, 2)}) is net
    with pytest.raises(AttributeError, match="dict"):
        jit.trace_module(net, [facula.ones(1, 2)])


@pytest.mark.promise("U2")
def test_files_of_torchscript_are_refused_with_what_to_do_instead(tmp_path):
    with pytest.raises(RuntimeError, match=r"torch\.jit\.save is not part of Facula.*state_dict"):
        jit.save(nn.Linear(1, 1), tmp_path / "net.pt")
    with pytest.raises(RuntimeError, match=r"torch\.jit\.load is not part of Facula.*Build the"):
        jit.load("net.pt")
    with pytest.raises(RuntimeError, match=r"torch\.jit\.CompilationUnit"):
        jit.CompilationUnit("def f(x): return x")


def test_no_object_is_a_scripted_one():
    assert not isinstance(jit.script(nn.Linear(1, 1)), jit.ScriptModule)
    assert not isinstance(jit.script(len), jit.ScriptFunction)


def test_modules_of_the_old_way_are_modules():
    class Old(jit.ScriptModule):
        __constants__ = ("n",)

        def __init__(self):
            super().__init__()
            self.n = jit.Attribute(3, int)
            self.layer = nn.Linear(2, 2)

        @jit.script_method
        def forward(self, x):
            return self.n * self.layer(x)

    assert Old().n == 3
    assert len(list(Old().parameters())) == 2
    with pytest.raises(RuntimeError, match="state_dict"):
        Old().save("net.pt")


@pytest.mark.parametrize(
    "value, kind, expected",
    [
        ([1, 2], list[int], True),
        ([1, "a"], list[int], False),
        ({1: 2}, dict[int, str], False),
        ((1, "a"), tuple[int, str], True),
        ((1, 2, 3), tuple[int, ...], True),
        ((1,), tuple[int, str], False),
        (None, int | None, True),
        (1, (int, str), True),
        ([[facula.ones(1)]], list[list[facula.Tensor]], True),
    ],
)
def test_isinstance_looks_into_containers(value, kind, expected):
    assert jit.isinstance(value, kind) is expected


def test_isinstance_needs_the_type_of_what_is_inside():
    with pytest.raises(RuntimeError, match="without a contained type"):
        jit.isinstance([1], list)
    with pytest.raises(RuntimeError, match="a type or a tuple of types"):
        jit.isinstance(1, [int])
    with pytest.warns(UserWarning, match="empty container"):
        assert jit.isinstance([], list[int])


def test_fork_and_wait_give_the_result():
    assert jit.wait(jit.fork(lambda x, y: x - y, 3, y=1)) == 2


def test_freeze_wants_evaluation():
    net = nn.Linear(1, 1)
    with pytest.raises(RuntimeError, match=r"eval\(\)"):
        jit.freeze(net)
    assert jit.freeze(net.eval()) is net
    assert jit.optimize_for_inference(net) is net


def test_switches_of_fusers_are_kept():
    before = jit.set_fusion_strategy([("STATIC", 1)])
    assert jit.set_fusion_strategy(before) == [("STATIC", 1)]
    jit.enable_onednn_fusion(True)
    assert jit.onednn_fusion_enabled()
    jit.enable_onednn_fusion(False)
    with jit.fuser("fuser1"), jit.strict_fusion(), jit.optimized_execution(True):
        pass


def test_annotations_are_a_module_for_who_imports_the_package_alone():
    program = "import facula; print(facula.jit.annotations.List[int])"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert printed.stdout == "typing.List[int]\n", printed.stderr


def test_broadcasting_lists_stand_in_annotations():
    from facula._jit_internal import BroadcastingList2, boolean_dispatch

    assert BroadcastingList2[int] is None
    two = boolean_dispatch("both", 1, False, lambda x, both: (x, x), lambda x, both=0: x, "m", "f")
    assert (two(1), two(1, True), two(1, both=True)) == (1, (1, 1), (1, 1))


@pytest.mark.parametrize("name", ["graph", "inlined_graph", "save"])
def test_a_module_that_is_scripted_tells_what_to_do_instead_of_saving_it(name):
    module = jit.script(nn.Linear(2, 2))
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': jit.script .*onnx.export"):
        getattr(module, name)

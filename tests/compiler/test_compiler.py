"""``compile`` and what programs say to a compiler: the function itself, until there is one."""

import copy
import pickle

import pytest

import facula
import facula._dynamo
from facula import compiler, nn


@pytest.mark.promise("U2")
def test_compile_returns_the_function_itself():
    @facula.compile
    def double(x):
        return 2 * x

    @facula.compile(dynamic=True)
    def triple(x):
        return 3 * x

    assert (double(1), triple(1)) == (2, 3)
    net = nn.Linear(2, 3)
    assert net.compile(mode="default") is None
    assert facula.compile(net, disable=True) is net


@pytest.mark.promise("U2")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"backend": "inductor", "mode": "max-autotune", "fullgraph": True},
        {"backend": lambda graph, inputs: graph},
    ],
)
def test_a_compiled_module_is_the_module_by_another_name(options):
    net = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
    net.width = 3
    compiled = facula.compile(net, **options)
    assert compiled._orig_mod is net and facula.compile(compiled) is compiled
    assert isinstance(compiled, facula._dynamo.OptimizedModule)
    assert (compiled.width, len(compiled), bool(compiled)) == (3, 2, True)
    compiled.width, compiled.depth = 4, 1
    assert (net.width, net.depth) == (4, 1)
    del compiled.depth
    assert not hasattr(net, "depth")
    compiled.eval()
    assert not net.training and not compiled.training
    x = facula.ones(1, 2)
    assert compiled(x).equal(net(x))
    compiled.training = True
    assert net.training
    assert [p is q for p, q in zip(compiled.parameters(), net.parameters(), strict=True)] == [
        True,
        True,
    ]


def test_compiled_modules_and_checkpoints_agree_on_names():
    net = nn.Linear(2, 3)
    compiled = facula.compile(net)
    saved = compiled.state_dict()
    assert list(saved) == ["_orig_mod.weight", "_orig_mod.bias"]
    other = facula.compile(nn.Linear(2, 3))
    other.load_state_dict(saved)
    assert other._orig_mod.weight.equal(net.weight)
    compiled._orig_mod = other._orig_mod
    assert compiled._orig_mod is other._orig_mod and len(list(compiled.children())) == 1
    assert compiled.dynamo_ctx(net.forward) == net.forward  # lightning compiles steps with it
    assert str(compiled).startswith("OptimizedModule(\n  (_orig_mod): Linear(")


def test_hooks_of_both_names_run():
    calls = []
    net = nn.Linear(2, 3)
    compiled = facula.compile(net)
    net.register_forward_hook(lambda *args: calls.append("module"))
    compiled.register_forward_hook(lambda *args: calls.append("compiled"))
    compiled(facula.ones(1, 2))
    assert calls == ["module", "compiled"]
    net(facula.ones(1, 2))
    assert calls == ["module", "compiled", "module"]


def test_compiled_modules_are_copied_and_pickled():
    compiled = facula.compile(nn.Linear(2, 3))
    for twin in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert type(twin) is type(compiled) and twin._orig_mod is not compiled._orig_mod
        assert twin.weight.equal(compiled.weight)
        assert twin(facula.ones(1, 2)).equal(compiled(facula.ones(1, 2)))


def test_compile_refuses_what_pytorch_refuses():
    net = nn.Linear(2, 3)
    with pytest.raises(RuntimeError, match="invalid backend 'fast'"):
        facula.compile(net, backend="fast")
    with pytest.raises(RuntimeError, match="unrecognized mode=fast"):
        facula.compile(net, mode="fast")
    with pytest.raises(RuntimeError, match="either mode or options"):
        facula.compile(net, mode="default", options={})
    with pytest.raises(AssertionError, match="callable"):
        facula.compile(3)


@pytest.mark.promise("U2")
def test_nothing_is_being_compiled():
    from facula import _dynamo

    assert not compiler.is_compiling()
    assert not compiler.is_dynamo_compiling()
    assert not compiler.is_exporting()
    assert not _dynamo.is_compiling()


def test_marks_leave_functions_as_they_are():
    def function(x):
        return x

    for mark in (
        compiler.disable,
        compiler.disable(),
        compiler.disable(recursive=False, reason="slow"),
        compiler.allow_in_graph,
        compiler.assume_constant_result,
        compiler.substitute_in_graph(len),
        compiler.nested_compile_region,
        compiler.set_stance("force_eager"),
    ):
        assert mark(function)(3) == 3
    assert compiler.allow_in_graph([function]) == [function]


def test_stances_are_checked():
    compiler.set_stance("default")
    with compiler.set_stance("eager_on_recompile"):
        pass
    with pytest.raises(RuntimeError, match="invalid stance"):
        compiler.set_stance("fast")


def test_settings_can_be_set_and_patched():
    import facula._inductor.config
    from facula._dynamo import config

    assert config.cache_size_limit == 8
    with config.patch(cache_size_limit=64, suppress_errors=True):
        assert (config.cache_size_limit, config.suppress_errors) == (64, True)
    with config.patch("verbose", True):
        assert config.verbose

    @config.patch({"verbose": True})
    def is_verbose():
        return config.verbose

    assert is_verbose()
    assert (config.cache_size_limit, config.verbose) == (8, False)
    with pytest.raises(AttributeError, match="nothing does not exist"):
        config.patch(nothing=1)
    facula._inductor.config.triton.cudagraphs = False
    compiler.config.load_config({"verbose": False})


def test_a_setting_has_one_value_under_all_its_names():
    from facula._dynamo import config

    with config.patch(recompile_limit=33):
        assert (config.cache_size_limit, compiler.config.recompile_limit) == (33, 33)
        compiler.config.recompile_limit = 44
        assert (config.cache_size_limit, config.recompile_limit) == (44, 44)
        config.cache_size_limit = 55
        assert (config.recompile_limit, compiler.config.recompile_limit) == (55, 55)
    with compiler.config.patch(verbose=True):
        assert config.verbose
    assert (config.recompile_limit, config.verbose) == (8, False)
    assert "recompile_limit" in config.get_config_copy()
    assert "cache_size_limit" not in config.get_config_copy()


def test_unknown_settings_are_refused():
    import facula._functorch.config
    from facula._dynamo import config

    for place in (config, compiler.config, facula._functorch.config):
        with pytest.raises(AttributeError, match="no_such_setting does not exist"):
            place.no_such_setting = 1
        with pytest.raises(AttributeError, match="no_such_setting does not exist"):
            print(place.no_such_setting)
    with pytest.warns(UserWarning, match="no_such_setting does not exist: ignored"):
        config.load_config({"no_such_setting": 1})
    config.load_config(config.get_config_copy())


def test_backends_can_be_registered():
    from facula._dynamo import list_backends, lookup_backend, register_backend

    @register_backend
    def mine_for_a_test(graph, inputs):
        return graph

    assert list_backends() == ["mine_for_a_test"] == compiler.list_backends()
    assert lookup_backend("mine_for_a_test") is mine_for_a_test
    assert facula.compile(len, backend="mine_for_a_test") is len
    with pytest.raises(RuntimeError, match="no backend 'other'"):
        lookup_backend("other")


def test_numpy_functions_take_tensors():
    import numpy as np

    mean = compiler.wrap_numpy(lambda x, scale: {"mean": np.mean(x * scale, keepdims=True)})
    assert mean(facula.tensor([1.0, 3.0]), scale=2)["mean"].tolist() == [4.0]


def test_the_mode_around_indices_of_vmap_changes_nothing():
    from facula._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    table = facula.arange(5) * 10
    with TransformGetItemToIndex():
        picked = facula.vmap(lambda i: table[i])(facula.tensor([3, 1]))
    assert picked.tolist() == [30, 10]


def test_settings_of_the_backend_are_in_groups_and_known_by_name():
    import facula._inductor.config as config

    with config.patch({"max_autotune_gemm": True, "triton.cudagraphs": True}):
        assert config.max_autotune_gemm
        assert config.triton.cudagraphs
    assert not config.max_autotune_gemm
    assert not config.triton.cudagraphs
    with pytest.raises(AttributeError, match="max_autotune_gem does not exist"):
        config.max_autotune_gem = True
    with pytest.raises(AttributeError, match=r"triton.cudagraph does not exist"):
        config.triton.cudagraph = True
    with pytest.raises(AttributeError, match=r"triton.cudagraph does not exist"):
        config.triton.cudagraph  # noqa: B018

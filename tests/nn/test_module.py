import copy
import gc
import pickle
import sys
import weakref

import pytest

import facula
from facula import nn
from facula.nn.modules import module as module_hooks

pytestmark = pytest.mark.promise("N1")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 3), nn.Identity(), nn.Linear(3, 2))
        self.act = facula.relu
        self.plain = facula.ones(2)

    def forward(self, x):
        return self.act(self.net(x))


def notes(error):
    """The notes of an exception; before Python 3.11 they are lines of its message."""
    return getattr(error, "__notes__", None) or str(error).split("\n")[1:]


def test_parameters_are_named_by_their_path():
    names = [name for name, _ in Net().named_parameters()]
    assert names == ["net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"]


def test_a_plain_tensor_attribute_is_not_in_state_dict():
    assert "plain" not in Net().state_dict()


def test_buffers_are_in_state_dict_unless_they_are_not_persistent():
    m = nn.Module()
    m.register_buffer("kept", facula.ones(1))
    m.register_buffer("left", facula.ones(1), persistent=False)
    m.other = nn.Buffer(facula.ones(1), persistent=False)
    assert list(m.state_dict()) == ["kept"]
    assert [name for name, _ in m.named_buffers()] == ["kept", "left", "other"]


@pytest.mark.parametrize("path", ["net.0", "net", ""])
def test_submodules_are_found_by_their_path(path):
    m = Net()
    assert dict(m.named_modules())[path] is m.get_submodule(path)


def test_a_missing_attribute_is_named():
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'missing'"):
        _ = Net().missing


def test_a_parameter_is_not_overwritten_by_a_tensor():
    m = nn.Linear(2, 2)
    expected = r"parameter 'weight': expected a Parameter or None, got torch\.FloatTensor"
    with pytest.raises(TypeError, match=expected):
        m.weight = facula.ones(2, 2)


def test_a_parameter_before_init_is_refused():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(facula.ones(1))

    expected = r"Early: call super\(\).__init__\(\) before the first parameter"
    with pytest.raises(AttributeError, match=expected):
        Early()


def test_a_result_of_operations_is_no_parameter():
    m = nn.Module()
    result = (nn.Parameter(facula.ones(1)) * 2).as_subclass(nn.Parameter)
    with pytest.raises(ValueError, match="expected a leaf as parameter 'w', got the result of"):
        m.w = result


def test_to_keeps_the_parameters_the_same_objects():
    m = Net()
    m(facula.ones(1, 4)).sum().backward()
    before = list(m.parameters())
    m.to(facula.float64)
    assert all(a is b for a, b in zip(before, m.parameters(), strict=True))
    assert {p.dtype for p in before} == {p.grad.dtype for p in before} == {facula.float64}


def test_to_an_integer_dtype_is_refused():
    with pytest.raises(TypeError, match="expected a floating-point or complex dtype, got"):
        Net().to(facula.int64)


def test_train_and_eval_reach_every_module():
    m = Net().eval()
    assert not any(part.training for part in m.modules())
    assert all(part.training for part in m.train().modules())


def test_a_module_is_freed_without_the_garbage_collector():
    gc.disable()
    try:
        m = Net()
        m.register_forward_hook(lambda *args: None)
        m(facula.ones(1, 4))
        reference = weakref.ref(m)
        del m
        assert reference() is None
    finally:
        gc.enable()


class TestAttributes:
    """What is read past ``__getattr__`` is what the tables have at that moment."""

    def test_follow_the_tables(self):
        m = Net()
        other = nn.Identity()
        m._modules["net"] = other
        assert m.net is other
        del m._modules["net"]
        with pytest.raises(AttributeError, match="'Net' object has no attribute 'net'"):
            _ = m.net

    def test_of_one_object_are_not_those_of_another(self):
        class Some(nn.Module):
            pass

        one, other = Some(), Some()
        one.part = nn.Identity()
        assert not hasattr(other, "part")
        assert "part" in dir(one)
        assert "part" not in dir(other)
        other.part = 3
        assert (type(one.part), other.part) == (nn.Identity, 3)

    def test_of_the_class_go_first(self):
        class Fixed(nn.Module):
            weight = "of the class"

            @property
            def size(self):
                return 3

        m = Fixed()
        m._parameters["weight"] = nn.Parameter(facula.ones(1))
        assert m.weight == "of the class"
        with pytest.raises(KeyError, match="'size' is an attribute already"):
            m.size = nn.Parameter(facula.ones(1))

    def test_that_a_subclass_looks_up_itself_are_asked_for_last(self):
        class Wraps(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(2, 2)

            def __getattr__(self, name):
                try:
                    return super().__getattr__(name)
                except AttributeError:
                    return getattr(self.inner, name)

        m = Wraps()
        assert m.weight is m.inner.weight
        with pytest.raises(AttributeError):
            _ = m.nothing

    def test_are_all_asked_for_where_a_subclass_has_its_own_lookup(self):
        """Also where a base class has read the name past its lookup, before or after."""
        asked = []

        class Asks(nn.Linear):
            def __getattr__(self, name):
                asked.append(name)
                return super().__getattr__(name)

        m = Asks(2, 2)
        plain = nn.Linear(2, 2)
        m.later = nn.Identity()
        assert plain.weight is plain._parameters["weight"]
        asked.clear()
        for _ in range(2):
            assert m.weight is m._parameters["weight"]
            assert m.later is m._modules["later"]
        assert asked == ["weight", "later"] * 2
        assert "weight" in dir(m)

    def test_do_not_fill_the_classes_that_all_share(self):
        m = nn.Module()
        m.some_name = nn.Identity()
        nn.ModuleDict({"some_name": nn.Identity()})
        assert not hasattr(nn.Module, "some_name")
        assert not hasattr(nn.ModuleDict, "some_name")
        assert isinstance(m.some_name, nn.Identity)


class TestErrorsInForward:
    def test_name_the_module_that_raised_them(self):
        m = Net()
        m.net[2] = nn.Linear(30, 2)
        with pytest.raises(RuntimeError) as caught:
            m(facula.ones(5, 4))
        assert notes(caught.value) == ["net.2: Linear(in_features=30, out_features=2, bias=True)"]

    def test_name_modules_that_are_called_past_their_container(self):
        class Listed(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.ModuleDict({"a": nn.Linear(2, 2)})])

            def forward(self, x):
                return self.blocks[0]["a"](x)

        with pytest.raises(RuntimeError) as caught:
            nn.Sequential(Listed())(facula.ones(1, 3))
        (note,) = notes(caught.value)
        assert note == "0.blocks.0.a: Linear(in_features=2, out_features=2, bias=True)"

    def test_of_a_list_instead_of_a_tensor_say_what_to_do(self):
        with pytest.raises(AttributeError) as caught:
            nn.BatchNorm1d(2)([1.0, 2.0])
        assert notes(caught.value) == [
            "expected a tensor, got list. Convert it with facula.tensor()."
        ]

    def test_of_the_model_itself_have_no_note(self):
        with pytest.raises(RuntimeError) as caught:
            nn.Linear(2, 2)(facula.ones(1, 3))
        assert notes(caught.value) == []

    def test_of_a_module_with_others_inside_stay_short(self):
        with pytest.raises(TypeError) as caught:
            nn.Sequential(nn.Sequential(nn.Sequential(nn.Identity())))(facula.ones(1), 3)
        assert notes(caught.value) == []

        class Fails(Net):
            def forward(self, x):
                raise ValueError("no")

        with pytest.raises(ValueError) as caught:
            nn.Sequential(Fails())(facula.ones(1))
        assert notes(caught.value) == ["0: Fails(...)"]

    def test_have_the_name_in_their_text_before_python_3_11(self, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "version_info", (3, 10))
            with pytest.raises(RuntimeError) as caught:
                nn.Sequential(nn.Linear(2, 2))(facula.ones(1, 3))
        assert str(caught.value).endswith("\n0: Linear(in_features=2, out_features=2, bias=True)")

    def test_are_not_hidden_by_a_broken_repr(self):
        class Broken(nn.Module):
            def forward(self, x):
                raise ValueError("the error")

            def extra_repr(self):
                raise TypeError("another")

        with pytest.raises(ValueError, match="the error"):
            nn.Sequential(Broken())(1)

    def test_that_forward_catches_have_no_note(self):
        class Tries(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(2, 2)

            def forward(self, x):
                try:
                    return self.inner(x)
                except RuntimeError as error:
                    return notes(error)

        assert Tries()(facula.ones(1, 3)) == []

    def test_with_hooks_are_named_as_well(self):
        m = nn.Sequential(nn.Linear(2, 2))
        m[0].register_forward_hook(lambda *args: None)
        with pytest.raises(RuntimeError) as caught:
            m(facula.ones(1, 3))
        assert notes(caught.value)[0].startswith("0: Linear(")


class TestLoading:
    def test_lists_all_differences_at_once(self):
        m = Net()
        state = m.state_dict()
        del state["net.0.bias"]
        state["net.2.weight"] = facula.ones(7, 7)
        state["extra"] = facula.ones(1)
        with pytest.raises(RuntimeError) as caught:
            m.load_state_dict(state)
        assert str(caught.value) == (
            "Error(s) in loading state_dict for Net:\n"
            '\tMissing key(s) in state_dict: "net.0.bias". \n'
            '\tUnexpected key(s) in state_dict: "extra". \n'
            "\tsize mismatch for net.2.weight: expected (2, 3), as the module has it, got (7, 7) "
            "in the state_dict."
        )

    @pytest.mark.parametrize("assign", [False, True])
    @pytest.mark.parametrize(
        "change",
        [
            lambda state: state.pop("net.2.bias"),
            lambda state: state.update({"net.2.bias": facula.ones(9)}),
            lambda state: state.update({"net.2.bias": "text"}),
            lambda state: state.update({"more": facula.ones(1)}),
        ],
    )
    def test_that_fails_changes_nothing(self, change, assign):
        m = Net()
        before = {name: (t, t.data.clone()) for name, t in m.state_dict(keep_vars=True).items()}
        state = {name: facula.zeros_like(t) for name, t in m.state_dict().items()}
        change(state)
        with pytest.raises(RuntimeError):
            m.load_state_dict(state, assign=assign)
        for name, t in m.state_dict(keep_vars=True).items():
            known, values = before[name]
            assert t is known
            assert facula.equal(t.data, values)

    @pytest.mark.parametrize(
        "state, message",
        [([], "a mapping, got list"), ({0: 1}, "the names of tensors as keys, got 0")],
    )
    def test_of_what_is_no_state_is_refused(self, state, message):
        with pytest.raises(TypeError, match=f"load_state_dict: expected {message}"):
            nn.Linear(2, 2).load_state_dict(state)

    def test_that_cannot_write_a_tensor_changes_nothing(self):
        m = nn.Linear(2, 2)
        m.register_buffer("shared", facula.zeros(1).expand(3))
        before = m.weight.data.clone()
        state = {k: facula.ones_like(v) for k, v in m.state_dict().items()}
        with pytest.raises(
            RuntimeError, match=r"shared: the value .* of the state_dict could not become"
        ):
            m.load_state_dict(state)
        assert facula.equal(m.weight, before)

    def test_by_assignment_that_refuses_a_dtype_changes_nothing(self):
        m = nn.Linear(2, 2)
        weight = m.weight
        state = {"weight": facula.zeros(2, 2), "bias": facula.zeros(2, dtype=facula.int64)}
        with pytest.raises(
            RuntimeError, match=r"bias: the value .* of the state_dict could not become"
        ):
            m.load_state_dict(state, assign=True)
        assert m.weight is weight

    def test_that_a_hook_stops_changes_nothing(self):
        m = Net()
        values = m.net[0].weight.data.clone()

        def stop(module, keys):
            raise ValueError("stop")

        m.register_load_state_dict_post_hook(stop)
        with pytest.raises(ValueError):
            m.load_state_dict({k: facula.zeros_like(v) for k, v in m.state_dict().items()})
        assert facula.equal(m.net[0].weight.data, values)

    def test_that_fails_leaves_a_lazy_module_lazy(self):
        m = nn.Sequential(nn.LazyLinear(3), nn.Linear(3, 2))
        state = nn.Sequential(nn.Linear(5, 3), nn.Linear(4, 2)).state_dict()
        with pytest.raises(RuntimeError, match=r"size mismatch for 1\.weight"):
            m.load_state_dict(state)
        assert repr(m[0].weight) == "<UninitializedParameter>"
        assert m(facula.ones(1, 7)).shape == (1, 2)

    def test_that_fails_takes_extra_state_back(self):
        class Counter(nn.Linear):
            count = 0

            def get_extra_state(self):
                return self.count

            def set_extra_state(self, state):
                self.count = state

        m = Counter(1, 1)
        state = {**m.state_dict(), "_extra_state": 7, "bias": facula.ones(3)}
        with pytest.raises(RuntimeError):
            m.load_state_dict(state)
        assert m.count == 0
        m.load_state_dict({**m.state_dict(), "_extra_state": 7})
        assert m.count == 7

    def test_by_assignment_takes_the_tensors_themselves(self):
        m, weight = nn.Linear(2, 1, bias=False), facula.ones(1, 2)
        m.load_state_dict({"weight": weight}, assign=True)
        assert m.weight.data_ptr() == weight.data_ptr()
        assert isinstance(m.weight, nn.Parameter)
        assert m.weight.requires_grad


class TestHooks:
    def test_removed_hooks_cost_nothing(self):
        m = nn.Identity()
        handle = m.register_forward_hook(lambda *args: None)
        assert m._has_hooks
        handle.remove()
        m(1)
        assert not m._has_hooks

    def test_of_all_modules_are_seen_by_modules_made_before(self):
        m, seen = Net(), []
        handle = module_hooks.register_module_forward_hook(
            lambda module, args, output: seen.append(type(module).__name__)
        )
        with handle:
            m(facula.ones(1, 4))
        m(facula.ones(1, 4))
        assert seen == ["Linear", "Identity", "Linear", "Sequential", "Net"]

    def test_before_forward_change_the_arguments(self):
        m = nn.Identity()
        m.register_forward_pre_hook(lambda module, args: args[0] + 1)
        m.register_forward_pre_hook(lambda module, args, kw: ((args[0] * 2,), kw), with_kwargs=True)
        assert m(facula.tensor(1.0)).item() == 4.0

    def test_that_are_always_called_see_failures(self):
        class Fails(nn.Module):
            def forward(self):
                raise ValueError("first")

        seen, m = [], Fails()
        m.register_forward_hook(lambda *args: seen.append(args[2]), always_call=True)
        with pytest.raises(ValueError, match="first"):
            m()
        assert seen == [None]

    def test_an_error_in_such_a_hook_does_not_hide_the_first(self):
        class Fails(nn.Module):
            def forward(self):
                raise ValueError("first")

        def hook(*args):
            raise ValueError("second")

        m = Fails()
        m.register_forward_hook(hook, always_call=True)
        with (
            pytest.warns(UserWarning, match="and it failed as well"),
            pytest.raises(ValueError, match="first"),
        ):
            m()

    def test_after_backward_have_the_gradients(self):
        m = nn.Linear(2, 1, bias=False)
        nn.init.ones_(m.weight)
        seen = []
        m.register_full_backward_hook(
            lambda module, inputs, outputs: seen.extend((inputs, outputs))
        )
        x = facula.ones(1, 2, requires_grad=True)
        m(x).sum().backward()
        (grad_input,), (grad_output,) = seen
        assert grad_input.tolist() == [[1.0, 1.0]]
        assert grad_output.tolist() == [[1.0]]

    def test_after_backward_may_change_the_gradients(self):
        m = nn.Identity()
        m.register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 2,))
        m.register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] + 1,))
        x = facula.ones(1, requires_grad=True)
        m(x * 1).sum().backward()
        assert x.grad.tolist() == [3.0]

    def test_survive_a_deep_copy(self):
        m, seen = nn.Identity(), []
        m.register_forward_hook(lambda *args: seen.append(1))
        copy.deepcopy(m)(0)
        assert seen == [1]

    def test_with_ids_of_another_process_are_not_overwritten(self):
        m = nn.Identity()
        handle = m.register_forward_hook(lambda *args: None)
        ids = range(handle.id + 1, handle.id + 4)
        m._forward_hooks.update((i, lambda *args: None) for i in ids)
        assert m.register_forward_hook(lambda *args: None).id not in ids


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_have_the_same_values_and_other_parameters(twin):
    m = Net()
    other = twin(m)
    x = facula.ones(2, 4)
    assert facula.equal(m(x), other(x))
    assert not {id(p) for p in m.parameters()} & {id(p) for p in other.parameters()}
    assert other.act is facula.relu


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_parameters_shared(twin):
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    m[1].weight = m[0].weight
    other = twin(m)
    assert other[1].weight is other[0].weight


def test_repr_shows_the_tree():
    assert repr(Net()) == (
        "Net(\n"
        "  (net): Sequential(\n"
        "    (0): Linear(in_features=4, out_features=3, bias=True)\n"
        "    (1): Identity()\n"
        "    (2): Linear(in_features=3, out_features=2, bias=True)\n"
        "  )\n"
        ")"
    )


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Module: a module has to define forward"):
        nn.Module()(1)

"""The modules beside ``torch.utils`` that packages import."""

import gc

import pytest

import facula
from facula import nn, utils
from facula.utils import _contextlib, _foreach_utils, _python_dispatch, weak
from facula.utils._device import DeviceContext, set_device
from facula.utils._ordered_set import OrderedSet
from facula.utils.hooks import unserializable_hook
from facula.utils.module_tracker import ModuleTracker


def test_decorators_that_are_contexts():
    log = []

    class Log(_contextlib._DecoratorContextManager):
        def __init__(self, name):
            self.name = name

        def clone(self):
            return Log(self.name)

        def __enter__(self):
            log.append(f"+{self.name}")

        def __exit__(self, *error):
            log.append(f"-{self.name}")

    @Log("f")
    def function():
        log.append("run")
        return 1

    @Log("g")
    def generator():
        log.append("a")
        received = yield 1
        log.append(received)
        return "end"

    assert function() == 1
    assert log == ["+f", "run", "-f"]
    log.clear()
    numbers = generator()
    assert next(numbers) == 1
    log.append("outside")
    with pytest.raises(StopIteration, match="end"):
        numbers.send("b")
    assert log == ["+g", "a", "-g", "outside", "+g", "b", "-g"]


def test_errors_reach_a_decorated_generator():
    class Nothing(_contextlib._NoParamDecoratorContextManager):
        def __enter__(self):
            pass

        def __exit__(self, *error):
            pass

    @Nothing
    def generator():
        try:
            yield 1
        except KeyError:
            yield 2

    numbers = generator()
    next(numbers)
    assert numbers.throw(KeyError()) == 2
    numbers.close()


@pytest.mark.promise("U2")
def test_modes_of_dispatch_see_operations():
    seen = []

    class Log(_python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **kwargs)

    assert not _python_dispatch.is_in_torch_dispatch_mode()
    with Log() as mode:
        assert _python_dispatch._get_current_dispatch_mode() is mode
        x = facula.ones(2)
        assert x.shape == (2,)
        facula.exp(x)
        with _python_dispatch._disable_current_modes():
            facula.sin(x)
    assert seen == ["aten.ones.default", "aten.exp.default"]
    with pytest.raises(NotImplementedError), _python_dispatch.TorchDispatchMode():
        facula.ones(1)


def test_subclasses_made_of_tensors_are_found():
    class Pair(facula.Tensor):
        @staticmethod
        def __new__(cls, a):
            self = facula.Tensor._make_subclass(cls, a)
            self.a = a
            return self

        def __tensor_flatten__(self):
            return ["a"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Pair(inner["a"])

    pair = Pair(facula.ones(2))
    assert _python_dispatch.is_traceable_wrapper_subclass(pair)
    assert not _python_dispatch.is_traceable_wrapper_subclass(nn.Parameter(facula.ones(1)))
    double = _python_dispatch.transform_subclass(pair, lambda name, inner: 2 * inner)
    assert double.a.tolist() == [2, 2]


def test_dictionaries_forget_tensors_that_are_gone():
    x, y = facula.ones(2), facula.ones(2)
    notes = weak.WeakTensorKeyDictionary({x: "x"})
    notes[y] = "y"
    assert notes[x] == "x" and notes[y] == "y" and len(notes) == 2
    assert x in notes and facula.ones(2) not in notes and 3 not in notes
    copied = notes.copy()
    del x, notes[y]
    gc.collect()
    assert len(notes) == 0 and list(copied.values()) == ["y"]
    reference = weak.TensorWeakRef(y)
    assert reference() is y
    with pytest.raises(AssertionError, match="expected a tensor"):
        weak.TensorWeakRef(3)


def test_devices_as_contexts():
    with DeviceContext("meta"):
        assert facula.ones(1).is_meta

    @set_device("meta")
    def make():
        return facula.zeros(2)

    assert make().is_meta and not facula.zeros(2).is_meta


def test_lists_are_grouped_by_device_and_dtype():
    a, b, c = facula.ones(1), facula.ones(1, dtype=facula.float64), facula.zeros(1)
    groups = _foreach_utils._group_tensors_by_device_and_dtype(
        [[a, b, c], [c, None, a]], with_indices=True
    )
    key = (facula.device("cpu"), facula.float32)
    (firsts, seconds), indices = groups[key]
    assert firsts[0] is a and firsts[1] is c and seconds[1] is a and indices == [0, 2]
    assert _foreach_utils._has_foreach_support([a, None], a.device)


def test_tensors_change_places():
    a, b = nn.Parameter(facula.ones(2)), facula.arange(3)
    a.note = "kept"
    also_a = a
    utils.swap_tensors(a, b)
    assert also_a.tolist() == [0, 1, 2] and type(also_a) is facula.Tensor
    assert isinstance(b, nn.Parameter) and b.requires_grad and b.note == "kept"
    with pytest.raises(RuntimeError, match="result of an operation"):
        utils.swap_tensors(b * 2, a)


def test_modules_are_followed_forward_and_backward():
    seen = []
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh()))
    with ModuleTracker() as tracker:

        class Spy(facula.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                seen.append((tracker.is_bw, sorted(tracker.parents)))
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                seen.append((tracker.is_bw, sorted(tracker.parents)))
                return g

        net[1][0].forward = lambda x: Spy.apply(x)
        net(facula.ones(1, 2, requires_grad=True)).sum().backward()
    names = ["Global", "Sequential", "Sequential.1", "Sequential.1.0"]
    assert seen == [(False, names), (True, names)]


def test_extensions_in_c_are_refused():
    from facula.utils import cpp_extension

    for call in (cpp_extension.load, cpp_extension.CUDAExtension, cpp_extension.BuildExtension):
        with pytest.raises(RuntimeError, match=r"custom_op.*DLPack"):
            call("name", ["file.cpp"])


def test_the_environment_is_a_text():
    text = utils.collect_env.get_pretty_env_info()
    assert "Python version" in text and "Cpu info" in text


def test_sets_in_order():
    items = OrderedSet([3, 1])
    items.update([2, 3])
    items.discard(1)
    assert list(items) == [3, 2] and 2 in items and items == {2, 3}


def test_hooks_that_are_not_saved():
    hook = unserializable_hook(lambda g: g)
    assert hook.__torch_unserializable__
    utils.hooks.warn_if_has_hooks(facula.ones(1))


def test_modules_are_imported_when_they_are_asked_for():
    for name in ("_pytree", "_python_dispatch", "weak", "collect_env", "backcompat"):
        assert getattr(utils, name).__name__ == f"facula.utils.{name}"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = utils.nothing

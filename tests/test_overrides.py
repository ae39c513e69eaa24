"""Subclasses, foreign objects and modes; what PyTorch does there is compared in tests/parity."""

import copy
import inspect
import io
import pickle
import threading
from typing import ClassVar, Generic, NamedTuple, TypeVar

import pytest

import facula
from facula import _core, nn, overrides


class Marked(facula.Tensor):
    """A subclass that says nothing about operations."""


class Derived(Marked):
    """A subclass of it."""


class Logging(facula.Tensor):
    """A subclass that writes down what it is asked for."""

    log: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append((overrides.resolve_name(func), types))
        return super().__torch_function__(func, types, args, kwargs)


class Unit:
    """A foreign object: a number with a unit."""

    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in (facula.add, facula.Tensor.add, facula.cat, facula.Tensor.__getitem__):
            return NotImplemented
        return "+".join(a.unit for a in args if isinstance(a, Unit)) or func.__name__


class Log(overrides.TorchFunctionMode):
    """A mode that writes down what it is asked for."""

    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(overrides.resolve_name(func))
        return func(*args, **(kwargs or {}))


@pytest.fixture
def x():
    return facula.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_results_keep_the_subclass(x):
    m = x.as_subclass(Marked)
    for result in (m + 1, 1 - m, m @ m, -m, m == 1, m[0], m.T, m.sum(), m.view(4), m.exp()):
        assert type(result) is Marked
    for result in (facula.add(x, m), facula.cat([x, m]), facula.stack((m, x)), facula.relu(m)):
        assert type(result) is Marked
    assert [type(part) for part in m.unbind()] == [Marked, Marked]
    values, indices = m.max(0)
    assert type(values) is type(indices) is Marked
    assert type(m.max(0)) is facula.return_types.max
    assert [type(row) for row in m] == [Marked, Marked]


def test_writes_keep_the_subclass_and_the_object(x):
    m = x.as_subclass(Marked)
    same = m
    m += 1
    assert m is same
    assert m.add_(1) is m and m.mul_(2) is m
    m[0] = 5
    out = facula.empty(2, 2).as_subclass(Marked)
    assert facula.add(x, 1, out=out) is out
    assert type(x.add_(m)) is Marked


def test_what_is_no_tensor_stays_as_it_is(x):
    m = x.as_subclass(Marked)
    assert type(m.shape) is facula.Size
    assert m.tolist() == x.tolist()
    assert m.dtype is facula.float32
    assert type(m.size()) is facula.Size
    assert m.sum().item() == 10
    assert facula.equal(m, x) is True


def test_gradients_flow_and_are_plain(x):
    leaf = x.as_subclass(Marked).requires_grad_()
    loss = (leaf * leaf).sum()
    assert type(loss) is Marked
    loss.backward()
    assert type(leaf.grad) is facula.Tensor
    assert leaf.grad.tolist() == (2 * x).tolist()


def test_a_derived_class_comes_before_its_base(x):
    base, derived = x.as_subclass(Marked), x.as_subclass(Derived)
    for result in (base + derived, derived + base, facula.cat([base, derived])):
        assert type(result) is Derived


def test_classes_that_do_not_know_each_other_refuse(x):
    marked, logging = x.as_subclass(Marked), x.as_subclass(Logging)
    with pytest.raises(TypeError) as error:
        facula.add(marked, logging)
    assert str(error.value) == (
        "Multiple dispatch failed for 'torch.add'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n  - tensor subclass {Marked!r}\n  - tensor subclass {Logging!r}"
    )
    with pytest.raises(TypeError, match="unsupported operand"):
        marked + logging


def test_parameters_and_buffers_override_nothing(x):
    p = nn.Parameter(x.clone())
    for result in (p + p, p.sum(), p[0], p.T, nn.Linear(2, 2)(p), p.data, p.detach()):
        assert type(result) is facula.Tensor
    assert type(p + x.as_subclass(Marked)) is Marked
    assert type(nn.Parameter(x.as_subclass(Marked))) is Marked
    assert type(nn.Buffer(x) + 1) is facula.Tensor
    lazy = nn.UninitializedParameter()
    lazy.materialize((2,))
    assert type(lazy * 2) is facula.Tensor


def test_copies_pickles_and_files_keep_the_subclass(x):
    m = x.as_subclass(Marked)
    m.note = "kept"
    file = io.BytesIO()
    facula.save(m, file)
    file.seek(0)
    loaded = facula.load(file, weights_only=False)
    for other in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m)), loaded):
        assert type(other) is Marked
        assert other.note == "kept"
        assert other.tolist() == x.tolist()
    assert repr(Marked([1.0])) == "Marked([1.])"


def test_a_subclass_is_told_function_types_and_arguments(x):
    Logging.log.clear()
    y = x.as_subclass(Logging)
    y + 1
    facula.add(x, y)
    y.T  # noqa: B018
    y.grad = None
    y.sum(dim=0)
    Logging.log.append(None)
    y.unflatten(0, (1, 2))
    assert Logging.log[:6] == [
        ("torch.Tensor.add", (Logging,)),
        ("torch.add", (Logging,)),
        ("torch.Tensor.T.__get__", (Logging,)),
        ("torch.Tensor.grad.__set__", (Logging,)),
        ("torch.Tensor.sum", (Logging,)),
        None,
    ]
    # Composed in Python, and asked for once.
    assert Logging.log[6:] == [("torch.Tensor.unflatten", (Logging,))]


def test_a_subclass_beside_a_generic_class_is_made():
    T = TypeVar("T")

    class Typed(facula.Tensor, Generic[T]):
        def __init_subclass__(cls, *, tag="", **kwargs):
            super().__init_subclass__(**kwargs)
            cls.tag = tag

    class Tagged(Typed[int], tag="a"):
        pass

    assert Tagged.tag == "a"
    assert type(facula.ones(2).as_subclass(Tagged) + 1) is Tagged


def test_foreign_objects_are_asked(x):
    metre = Unit(1, "m")
    assert facula.add(x, metre) == "m"
    assert facula.add(metre, metre) == "m+m"
    assert x + metre == "m"
    assert metre + x == "m"
    assert x.add(metre) == "m"
    assert facula.cat([x, metre]) == "cat"
    assert x[metre] == "m"
    for refused in (lambda: facula.mul(x, metre), lambda: facula.cos(metre), lambda: x.sub(metre)):
        with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch"):
            refused()
    with pytest.raises(TypeError, match="unsupported operand"):
        x * metre
    with _core._DisableTorchFunctionSubclass(), pytest.raises(TypeError, match="add: expected"):
        facula.add(x, metre)


def test_a_foreign_object_that_does_operators_itself_is_left_to_it(x):
    class Right:
        def __radd__(self, other):
            return "right"

    assert x + Right() == "right"


def test_a_mode_sees_all_operations_of_its_thread(x):
    others = []
    with Log() as log:
        thread = threading.Thread(target=lambda: others.append(x + 1))
        thread.start()
        thread.join()
        y = facula.zeros(2) + 1
        y.shape  # noqa: B018
        y[0] = 2
        nn.Parameter(y)
    assert log.names == [
        "torch.zeros",
        "torch.Tensor.add",
        "torch.Tensor.shape.__get__",
        "torch.Tensor.__setitem__",
    ]


def test_modes_may_change_arguments_and_results():
    class InDouble(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func in (facula.zeros, facula.ones):
                kwargs["dtype"] = facula.float64
            return func(*args, **kwargs)

    with InDouble():
        assert facula.zeros(2).dtype == facula.float64
    assert facula.zeros(2).dtype == facula.float32


def test_the_outer_mode_sees_what_the_inner_one_calls(x):
    class Twice(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            func(*args, **(kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Log() as log, Twice():
        x.sum()
    assert log.names == ["torch.Tensor.sum"] * 2


def test_an_error_in_a_mode_is_the_operations(x):
    class Broken(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"), Broken():
        x.sum()
    assert x.sum() == 10
    unfinished = overrides.TorchFunctionMode()
    with pytest.raises(NotImplementedError, match="TorchFunctionMode: expected"), unfinished:
        x.sum()


def test_a_mode_is_told_the_types_that_override(x):
    class Types(overrides.BaseTorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            told.append(types)
            return super().__torch_function__(func, types, args, kwargs)

    told = []
    with Types():
        x + x.as_subclass(Marked)
        x + x
        x.shape  # noqa: B018
    assert told == [(Marked,), (), (facula.Tensor,)]


def test_the_default_takes_any_sequence_of_arguments(x):
    default = Marked.__torch_function__
    assert type(default(facula.add, [facula.Tensor], [x, 1], {"alpha": 2})) is Marked
    assert type(default(func=facula.ones, types=(), args=(2,))) is Marked
    assert default(facula.add, (Derived,), (x, x)) is NotImplemented
    assert type(facula.Tensor.__torch_function__(facula.add, (), (x, x), None)) is facula.Tensor
    assert type(_core._disabled_torch_function_impl(facula.add, (), [x, x])) is facula.Tensor


def test_disabled_contexts_nest(x):
    m = x.as_subclass(Marked)
    assert _core._is_torch_function_enabled()
    with _core._DisableTorchFunctionSubclass():
        assert type(m + 1) is facula.Tensor
        with Log() as log, _core._DisableTorchFunction():
            assert type(m + 1) is facula.Tensor
            with _core._DisableTorchFunctionSubclass():
                assert _core._is_torch_function_all_disabled()
        assert not _core._is_torch_function_enabled()
        assert not _core._is_torch_function_all_disabled()
    assert log.names == []
    assert type(m + 1) is Marked


def test_a_plain_method_is_warned_of(x):
    class Old(facula.Tensor):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "done"

    with pytest.warns(UserWarning, match="as a plain method is deprecated"):
        assert facula.add(x.as_subclass(Old), 1) == "done"


def test_a_function_of_ones_own_asks():
    @overrides.wrap_torch_function(lambda a, b=None: (a, b))
    def join(a, b=None):
        """Joins."""
        return "joined"

    assert join(1) == join(facula.ones(2), b=facula.ones(2)) == "joined"
    assert join.__doc__ == "Joins."

    class Own:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func is join, types, args, kwargs

    own = Own()
    assert join(1, own) == (True, (Own,), (1, own), {})
    assert join(own, b=3) == (True, (Own,), (own,), {"b": 3})
    assert overrides.has_torch_function_variadic(1, own)
    with overrides.BaseTorchFunctionMode():
        assert overrides.has_torch_function(())
        assert join(1) == "joined"
    with pytest.raises(TypeError, match="Multiple dispatch failed for '<function"):
        overrides.handle_torch_function(join, (Unit(1, "m"),), 1)


def test_tensor_like_objects():
    for value in (facula.ones(2), nn.Parameter(facula.ones(2)), Unit(1, "m")):
        assert overrides.is_tensor_like(value)
    for value in (1, "a", None, [facula.ones(2)]):
        assert not overrides.is_tensor_like(value)


def test_names_of_functions():
    names = {
        facula.add: "torch.add",
        facula.Tensor.add: "torch.Tensor.add",
        facula.Tensor.view: "torch.Tensor.view",
        facula.Tensor.numpy: "torch.Tensor.numpy",
        facula.Tensor.__rsub__: "torch.Tensor.__rsub__",
        facula.Tensor.grad.__get__: "torch.Tensor.grad.__get__",
        facula.Tensor.grad.__set__: "torch.Tensor.grad.__set__",
        nn.functional.gelu: "torch.nn.functional.gelu",
        len: None,
    }
    assert {f: overrides.resolve_name(f) for f in names} == names
    for function, name in names.items():
        is_method = overrides.is_tensor_method_or_property(function)
        assert is_method == (name is not None and "Tensor." in name)


def test_overridable_and_ignored_functions_are_apart():
    places = overrides.get_overridable_functions()
    overridable = {f for functions in places.values() for f in functions}
    ignored = overrides.get_ignored_functions()
    assert not overridable & ignored
    assert {facula.cat, facula.Tensor.view, facula.Tensor.shape.__get__} <= overridable
    assert {facula.manual_seed, facula.is_grad_enabled, facula.Tensor.as_subclass} <= ignored
    assert overrides.get_default_nowrap_functions() <= overridable


def test_stand_ins_have_the_signatures():
    stand_ins = overrides.get_testing_overrides()
    assert (
        str(inspect.signature(stand_ins[facula.add])) == "(input, other, *, alpha=None, out=None)"
    )
    assert str(inspect.signature(stand_ins[facula.cat])) == "(tensors, dim=None, *, out=None)"
    assert stand_ins[facula.add](1, 2, alpha=3) == -1
    with pytest.raises(TypeError, match="missing a required argument: 'other'"):
        stand_ins[facula.add](1)
    assert stand_ins[facula.Tensor.shape.__get__](facula.ones(2)) == -1
    for stand_in in stand_ins.values():
        inspect.signature(stand_in)


class _Seen(facula._transform.Transform):
    """A transform that does nothing but to note what it sees."""

    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_transform_sees_private_operations_and_the_parts_of_composed_ones():
    x = facula.ones(2, 3)
    with _Seen() as seen:
        facula.nn.functional.mse_loss(x, x)
        facula.nn.functional.pad(x, (1, 1))
        facula.manual_seed(0)
        facula.is_grad_enabled()
    assert "_mse_loss" in seen.names
    assert "_pad" in seen.names
    assert not {"mse_loss", "pad", "manual_seed", "is_grad_enabled"} & set(seen.names)


def test_a_transform_cannot_be_switched_off_and_is_no_mode_of_users():
    x = facula.ones(2)
    with _Seen() as seen, facula._core._DisableTorchFunction():
        x.sin()
        assert not facula.overrides.has_torch_function((x,))
    assert seen.names == ["sin"]
    assert facula._core._torch_function_modes() == []


def test_transforms_and_modes_are_asked_from_the_inside_out():
    log = []

    class Noted(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append("mode")
            return func(*args, **(kwargs or {}))

    class Transformed(_Seen):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append("transform")
            return func(*args, **(kwargs or {}))

    x = facula.ones(2)
    with Noted(), Transformed():
        x.sin()
    with Transformed(), Noted():
        x.sin()
    with Transformed(), Noted():
        facula._core._pad(x, (1, 1), "constant", 0.0)  # nothing that users have heard of
    assert log == ["transform", "mode", "mode", "transform", "transform"]


def test_nobody_is_asked_when_transforms_have_left():
    before = facula._core._seam_users()
    facula.func.vmap(facula.func.grad(lambda x: x.sin().sum()))(facula.ones(2, 3))
    facula.func.jvp(facula.sin, (facula.ones(2),), (facula.ones(2),))
    assert facula._core._seam_users() == before


class _Pair(NamedTuple):
    value: facula.Tensor
    scale: float


class _Scaled(_Pair):
    """A named tuple that stands for one tensor, as packages for quantization have it."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        plain = [arg.value * arg.scale if isinstance(arg, cls) else arg for arg in args]
        return cls(function(*plain, **(kwargs or {})), 1.0)


def test_a_named_tuple_that_overrides_is_asked_and_a_plain_one_is_a_list():
    x = facula.ones(1, 2)
    scaled = nn.Linear(2, 3)(_Scaled(x, 2.0))
    assert type(scaled) is _Scaled and scaled.value.shape == (1, 3)
    assert facula.add(x, _Scaled(x, 2.0)).value.tolist() == [[3.0, 3.0]]
    assert facula.cat(_Pair(x, x)).shape == (2, 2)

"""Every public operation enters the seam, once; unused, the seam is not there."""

import copy
import doctest
import gc
import inspect
import operator
import pickle
import subprocess
import sys
import threading
import types
import warnings
import weakref

import pytest

import facula
from facula import _core
from facula.overrides import get_overridable_functions, resolve_name

BOUND = type(_core.add), type(facula.Tensor.add)


def operations(place):
    return [f for f in get_overridable_functions()[place] if isinstance(f, BOUND)]


def counts_of(function, *args):
    with _core._count_operations() as counts, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args)
        except (IndexError, RuntimeError, TypeError, ValueError):
            return counts, False
    return counts, True


@pytest.mark.parametrize("place", [facula, facula.nn.functional, facula.Tensor])
def test_every_bound_function_and_method_enters_once(place):
    n_succeeded = 0
    for function in operations(place):
        for args in [(), (2,), (2, 2), (2, 0)][place is facula.Tensor :]:
            x = facula.ones(2, 2)
            args = (x, *args[1:]) if args else ()
            counts, has_succeeded = counts_of(function, *args)
            assert counts[function.__qualname__] == 1, function.__qualname__
            # What it is made of in C++ does not enter.
            assert not has_succeeded or sum(counts.values()) == 1, counts
            n_succeeded += has_succeeded
    assert n_succeeded > len(operations(place)) / 2


def test_most_names_of_the_core_are_operations():
    assert len(operations(facula)) > 300
    assert len(operations(facula.Tensor)) > 400


OPERATORS = {
    "x + y": "add",
    "1 + x": "add",
    "x - y": "sub",
    "1 - x": "__rsub__",
    "x * y": "mul",
    "x / y": "div",
    "1 / x": "__rtruediv__",
    "x // y": "__floordiv__",
    "x % y": "remainder",
    "x ** y": "__pow__",
    "2 ** x": "__rpow__",
    "x @ y": "matmul",
    "i & i": "__and__",
    "i | 1": "__or__",
    "1 ^ i": "bitwise_xor",
    "i << 1": "__lshift__",
    "i >> 1": "__rshift__",
    "x == y": "__eq__",
    "x != y": "ne",
    "x < y": "lt",
    "x <= y": "le",
    "x > y": "gt",
    "x >= y": "ge",
    "1 < x": "gt",
    "-x": "neg",
    "+x": "positive",
    "abs(x)": "abs",
    "~i": "__invert__",
    "bool(one)": "__bool__",
    "int(one)": "__int__",
    "float(one)": "__float__",
    "[0, 1][one]": "__index__",
    "len(x)": "__len__",
    "iter(x)": "unbind",
    "x[0]": "__getitem__",
    "x[:, 0]": "__getitem__",
    "operator.setitem(x, 0, 1)": "__setitem__",
    "x.view(4)": "view",
    "x.view(size=(4,))": "view",
    "operator.iadd(x, 1)": "add_",
    "operator.isub(x, y)": "sub_",
    "operator.imul(x, 2)": "mul_",
    "operator.itruediv(x, 2)": "div_",
    "operator.ifloordiv(x, 2)": "floor_divide_",
    "operator.imod(x, 2)": "remainder_",
    "operator.ipow(x, 2)": "__ipow__",
    "operator.iand(i, 1)": "__iand__",
    "operator.ior(i, 1)": "__ior__",
    "operator.ixor(i, 1)": "__ixor__",
    "operator.ilshift(i, 1)": "__ilshift__",
    "operator.irshift(i, 1)": "__irshift__",
    "x.shape": "shape.__get__",
    "x.T": "T.__get__",
    "setattr(x, 'grad', None)": "grad.__set__",
    "delattr(x, 'grad')": "grad.__delete__",
    "setattr(x, 'requires_grad', True)": "requires_grad.__set__",
}


@pytest.mark.parametrize("text", OPERATORS)
def test_operators_conversions_and_properties_enter_once(text):
    names = {"x": facula.ones(2, 2), "y": facula.ones(2, 2), "i": facula.ones(2, dtype=facula.int8)}
    names |= {"one": facula.tensor([1]), "operator": operator}
    with _core._count_operations() as counts:
        eval(text, names)
    assert counts == {f"Tensor.{OPERATORS[text]}": 1}


def test_methods_written_in_python_enter():
    x = facula.ones(2, 2)
    for function in (repr, lambda x: x.numpy(), lambda x: x.apply_(abs), lambda x: 1 in x):
        counts, _ = counts_of(function, x)
        assert max(counts.values()) >= 1
    assert next(iter(counts)) == "Tensor.__contains__"


def test_states_and_questions_do_not_enter():
    with _core._count_operations() as counts:
        facula.manual_seed(0)
        facula.is_grad_enabled()
        facula.is_tensor(3)
        facula.get_default_dtype()
        facula.ones(2).as_subclass(facula.Tensor)
        hash(facula.ones(2))
    assert counts == {"ones": 2}


def test_counts_are_those_of_the_thread_and_of_the_time():
    with _core._count_operations() as outer:
        with _core._count_operations() as inner:
            facula.ones(2)
            thread = threading.Thread(target=facula.zeros, args=(2,))
            thread.start()
            thread.join()
        facula.zeros(2)
    facula.zeros(2)
    assert (inner, outer) == ({"ones": 1}, {"zeros": 1})


IMPORTS = "import facula, facula.nn, facula.optim, facula.overrides, facula.utils.data, facula.hub"


@pytest.mark.parametrize(
    "code, n_users",
    [
        (IMPORTS, 0),
        ("x = facula.nn.Linear(2, 2)(facula.FloatTensor(2, 2)); facula.nn.LazyLinear(2)", 0),
        ("class P(facula.nn.Parameter): pass", 0),
        ("class S(facula.Tensor): pass", 1),
        ("import facula.vision.tv_tensors", 1),
    ],
)
def test_the_seam_is_used_once_a_class_overrides(code, n_users):
    code = f"{IMPORTS}; from facula import _core\n{code}\nprint(_core._seam_users())"
    assert int(subprocess.check_output([sys.executable, "-c", code], text=True)) == n_users


def test_contexts_leave_no_user_behind():
    before = _core._seam_users()
    with _core._count_operations(), facula.overrides.BaseTorchFunctionMode():
        assert _core._seam_users() == before + 2
    assert _core._seam_users() == before


# ---- composed operations


def double(input: facula.Tensor, times: int = 2, *, out: object = None) -> facula.Tensor:
    """Twice the input.

    >>> 1 + 1
    2
    """
    return input * times


doubled = _core._Operation(double)
doubled.__qualname__ = "doubled"


class Box:
    """A foreign object."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs


def test_an_operation_looks_like_its_function():
    assert doubled.__name__ == "double"
    assert doubled.__doc__ == double.__doc__
    assert doubled.__module__ == __name__
    assert doubled.__wrapped__ is double
    assert doubled.__defaults__ == (2,)
    assert inspect.signature(doubled) == inspect.signature(double)
    assert inspect.isroutine(doubled) and callable(doubled)
    assert repr(doubled) == repr(double)
    with pytest.raises(AttributeError, match="no_such_name"):
        doubled.no_such_name  # noqa: B018


def test_an_operation_calls_its_function():
    x = facula.ones(2)
    assert doubled(x).tolist() == [2, 2]
    assert doubled(x, 3).tolist() == [3, 3]
    assert doubled(input=x, times=4).tolist() == [4, 4]
    assert doubled(*[x], **{"times": 5}).tolist() == [5, 5]
    with pytest.raises(TypeError, match=r"double\(\) got an unexpected keyword argument 'x'"):
        doubled(x=1)


def test_an_operation_enters_as_a_whole():
    with _core._count_operations() as counts:
        doubled(facula.ones(2))
    assert counts == {"ones": 1, "doubled": 1, "Tensor.mul": 1}


def test_an_operation_is_a_method():
    class Number:
        value = 3
        plus = _core._Operation(lambda self, x: self.value + x, is_method=True)

    assert Number().plus(1) == 4
    bound = Number().plus
    assert bound(2) == 5
    assert isinstance(bound, types.MethodType)
    assert Number.plus(Number(), 1) == 4


def test_operations_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert copy.deepcopy(doubled) is doubled
    assert pickle.loads(pickle.dumps(facula.Tensor.numpy)) is facula.Tensor.numpy
    assert pickle.loads(pickle.dumps(facula.ones(2).apply_))(abs).tolist() == [1, 1]


def test_doctest_finds_operations():
    module = types.ModuleType("some")
    sys.modules["some"] = module
    module.doubled = _core._Operation(double)
    module.doubled.__module__ = "some"
    found = doctest.DocTestFinder().find(module)
    del sys.modules["some"]
    assert [test.name for test in found if test.examples] == ["some.doubled"]


def test_operations_in_a_cycle_are_collected():
    operation = _core._Operation(lambda: None)
    operation.me = operation
    reference = weakref.ref(operation)
    del operation
    gc.collect()
    assert reference() is None


def test_an_operation_of_an_operation_enters_once():
    def check(function, args, kwargs):
        raise KeyError(function.__name__)

    first = _core._Operation(double, check)
    second = _core._Operation(first)
    assert second.__wrapped__ is double
    with _core._count_operations() as counts:
        second(facula.ones(2))
    assert sum(counts.values()) == 3
    with pytest.raises(KeyError, match="double"):
        second(3)


def test_check_is_called_where_the_function_could_do_nothing():
    seen = []

    def check(function, args, kwargs):
        seen.append((args, kwargs))

    def length(input: facula.Tensor, dim: object = 0) -> int:
        return input.shape[dim]

    operation = _core._Operation(length, check)
    assert operation(facula.ones(2)) == 2
    assert seen == []
    with pytest.raises(AttributeError, match="shape"):
        operation(3)  # seen before and after
    with pytest.raises(TypeError):
        operation(facula.ones(2), dim="a")
    assert seen[:2] == [((3,), {})] * 2
    assert seen[2][1] == {"dim": "a"}


def test_foreign_objects_are_asked_before_the_function_runs():
    def never(input: facula.Tensor) -> None:
        pytest.fail("ran")

    never = _core._Operation(never)
    box = Box()
    assert never(box) == (never, (Box,), (box,), {})
    assert doubled(box, times=3) == (doubled, (Box,), (box,), {"times": 3})


def test_foreign_objects_elsewhere_are_asked_after_a_failure():
    def scale(input: facula.Tensor, by: object) -> facula.Tensor:
        return input.reshape(by.sizes)

    scale = _core._Operation(scale)
    assert scale(facula.ones(2), Box())[0] is scale


def test_names_of_numpy_reach_the_handler_as_given():
    box = Box()
    assert facula.sum(box, axis=0)[3] == {"axis": 0}
    assert facula.sum(box, dim=0)[0] is facula.sum


def test_an_error_stays_when_nobody_is_foreign():
    with pytest.raises(TypeError, match="sum: expected a tensor as input, got str"):
        facula.sum("a")
    with pytest.raises(TypeError, match="view: expected ints"):
        facula.ones(2).view("a")
    with pytest.raises(TypeError, match="unsupported operand"):
        facula.ones(2) + object()


def test_resolved_names_are_unique():
    functions = [f for place in get_overridable_functions().values() for f in place]
    assert None not in map(resolve_name, functions)


def test_bound_functions_are_builtin_functions_to_inspect():
    for function in (facula.add, facula.zeros, facula.nn.functional.linear):
        assert inspect.isbuiltin(function) and inspect.isroutine(function)
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function
    with pytest.raises(ValueError, match="no signature found"):
        inspect.signature(facula.add)

"""The mark that makes a function an operation."""

import copy
import doctest
import inspect
import pickle

import pytest

import facula
from facula import _ops
from facula._ops import _mark

FUNCTIONS = sorted(_ops.__all__)
METHODS = sorted(_mark.METHODS)
OPERATIONS = {f.__qualname__: f for f in (*map(vars(_ops).get, FUNCTIONS), *_mark.METHODS.values())}


@pytest.fixture
def registry(monkeypatch):
    """Registries of the test's own, so that nothing stays marked after it."""
    monkeypatch.setattr(_mark, "METHODS", {})
    monkeypatch.setattr(_mark, "_FUNCTIONS", set())
    return _mark


def twice(input: "Tensor", other: float = 2) -> "Tensor":  # noqa: F821
    """Multiply by two."""
    return input * other


def test_a_mark_makes_a_function_of_the_package(registry):
    call = registry.operation(twice)
    assert call(facula.ones(1)).tolist() == [2]
    assert registry.public_names({"twice": call, "double": call, "x": 1, "y": []}) == [
        "double",
        "twice",
    ]
    assert registry.METHODS == {}
    assert (call.__module__, call.__qualname__, call.__name__) == ("facula._ops", "twice", "twice")
    assert call.__wrapped__ is twice
    assert call.__doc__ == "Multiply by two."
    assert inspect.signature(call) == inspect.signature(twice)


def test_a_mark_makes_methods_and_forms_in_place(registry):
    call = registry.operation(method=True, in_place=True)(twice)
    assert registry.METHODS.keys() == {"twice", "twice_"}
    method = registry.METHODS["twice"]
    assert method.__wrapped__ is call.__wrapped__ is twice
    assert (method.__module__, method.__qualname__) == ("facula", "Tensor.twice")
    in_place = registry.METHODS["twice_"]
    x = facula.ones(1)
    assert in_place(x, 3) is x
    assert x.tolist() == [3]
    assert (in_place.__module__, in_place.__qualname__) == ("facula", "Tensor.twice_")
    assert in_place.__doc__.startswith("``twice`` in place.\n")
    with pytest.raises(RuntimeError, match=r"^twice_: the result is torch.float32 \(1,\) and does"):
        in_place(facula.ones(1, dtype=facula.int64), 0.5)
    with pytest.raises(TypeError, match=r"^twice_: expected a tensor as input, got int\.$"):
        in_place(1)


def test_a_mark_makes_methods_that_are_no_functions(registry):
    call = registry.operation(name="double", method="only")(twice)
    assert {"double": call} == registry.METHODS
    assert registry.public_names({"twice": call}) == []
    assert (call.__module__, call.__qualname__) == ("facula", "Tensor.double")
    with pytest.raises(TypeError, match=r"^double: expected a tensor as input, got str\.$"):
        call("x")


def test_a_mark_makes_functions_of_other_modules(registry):
    call = registry.operation(module="facula.linalg")(twice)
    assert (call.__module__, call.__qualname__) == ("facula.linalg", "twice")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_copied_and_pickled_by_name(name):
    function = getattr(facula, name)
    assert function is getattr(_ops, name)
    assert copy.deepcopy(function) is function
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_copied_and_pickled_by_name(name):
    method = getattr(facula.Tensor, name)
    assert method is _mark.METHODS[name]
    assert pickle.loads(pickle.dumps(method)) is method


def test_second_names_are_the_same_functions():
    assert facula.row_stack is facula.vstack
    assert facula.trapz is facula.trapezoid


@pytest.mark.parametrize("function", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_has_a_docstring_with_arguments_and_an_example(function):
    doc = inspect.getdoc(function)
    assert doc.splitlines()[0].endswith(".")
    assert doctest.DocTestParser().get_examples(doc)
    first, *others = inspect.signature(function).parameters
    is_method_only = function.__qualname__.startswith("Tensor.")
    for name in others if is_method_only else (first, *others):
        assert f"\n    {name}: " in doc, f"{name} of {function.__qualname__} is not explained"

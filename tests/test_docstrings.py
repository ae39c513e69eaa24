"""Docstrings of bound functions and methods, which pytest's own search for examples passes over."""

import doctest

import pytest
from test_public_names import public_modules

import facula

FUNCTION = type(facula.exp)
METHODS = type(facula.Tensor.exp), type(facula.Tensor.view)  # of nanobind, and of CPython


def text_of(bound):
    """The docstring without the signatures that nanobind puts before it."""
    if not hasattr(bound, "__nb_signature__"):
        return bound.__doc__ or ""
    return "\n\n".join(text for _, text, *_ in bound.__nb_signature__ if text)


def public_functions():
    for module in [facula, *public_modules()]:
        for name in module.__all__:
            if isinstance(getattr(module, name), FUNCTION):
                yield f"{module.__name__}.{name}", getattr(module, name)


def public_methods():
    types = [t for name, t in vars(facula._core).items() if isinstance(t, type) and name[0] != "_"]
    for type_ in types:
        for name, method in vars(type_).items():
            if isinstance(method, METHODS) and not name.startswith("_"):
                yield f"facula.{type_.__name__}.{name}", method


def examples():
    """By the name that is met first: methods have the text of their function, aliases also."""
    names = {}
    for name, bound in [*public_functions(), *public_methods()]:
        if ">>>" in text_of(bound):
            names.setdefault(text_of(bound), name)
    return {name: text for text, name in names.items()}


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_prints_what_it_says(name, doctest_namespace, pytestconfig):
    parser = doctest.DocTestParser()
    test = parser.get_doctest(EXAMPLES[name], dict(doctest_namespace), name, None, None)
    flags = [doctest.OPTIONFLAGS_BY_NAME[f] for f in pytestconfig.getini("doctest_optionflags")]
    report = []
    doctest.DocTestRunner(verbose=False, optionflags=sum(flags)).run(test, out=report.append)
    assert not report, "".join(report)


def has_sentence(bound):
    return text_of(bound).partition("\n\n")[0].rstrip().endswith((".", ":"))


def test_every_function_has_a_sentence():
    bare = [name for name, function in public_functions() if not has_sentence(function)]
    assert not bare, "\n".join(bare)


def test_every_function_has_an_example():
    bare = [name for name, function in public_functions() if ">>>" not in text_of(function)]
    assert not bare, "\n".join(bare)


def test_every_method_has_a_sentence():
    bare = [name for name, method in public_methods() if not has_sentence(method)]
    assert not bare, "\n".join(bare)


def test_every_method_that_returns_something_new_has_an_example():
    with_example = {
        name.rpartition(".")[2] for name, f in public_functions() if ">>>" in text_of(f)
    }
    bare = [
        name
        for name, method in public_methods()
        if not name.endswith("_")
        and ">>>" not in text_of(method)
        and name.rpartition(".")[2] not in with_example
    ]
    assert not bare, "\n".join(bare)

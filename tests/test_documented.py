"""Every public name says what it does, what its arguments mean, and shows it with an example.

``SURFACE`` are the modules of operations and layers, which are held to all of it; of other modules
every name has a docstring.
"""

import doctest
import enum
import inspect
import re

import pytest
from test_docstrings import text_of
from test_public_names import public_modules

import facula

SURFACE = [
    "facula",
    "facula.nn",
    "facula.nn.functional",
    "facula.nn.init",
    "facula.nn.utils",
    "facula.optim",
    "facula.optim.lr_scheduler",
    "facula.linalg",
    "facula.fft",
    "facula.special",
    "facula.distributions",
    "facula.sparse",
    "facula.func",
    "facula.autograd",
    "facula.fx",
    "facula.signal.windows",
    "facula.masked",
    "facula.utils.data",
    "facula.vision.ops",
]

# Classes that nobody calls, and why their constructors need no words.
NOT_CALLED = {
    facula.autograd.Function: "is used through apply, which takes what forward takes",
    facula.autograd.NestedIOFunction: "takes what the constructor of a subclass takes",
}


OPERATION = type(facula.allclose)


def described(module):
    """Functions and classes of ours that a module exports, once each."""
    for name in module.__all__:
        value = getattr(module, name)
        own = str(getattr(value, "__module__", None) or "").split(".")[0]
        if callable(value) and own in ("facula", "_core"):
            yield f"{module.__name__}.{name}", value


def text(value):
    return inspect.cleandoc(text_of(value))


def parameters(value):
    """Names of the parameters that a caller chooses."""
    if any(value is cls for cls in NOT_CALLED):
        return []
    if hasattr(value, "__nb_signature__"):
        signatures = [signature for signature, *_ in value.__nb_signature__]
        found = [re.findall(r"(?:\(|, )(\w+): ", s.partition("->")[0]) for s in signatures]
        names = [name for each in found for name in each]
    elif isinstance(value, type) and (
        issubclass(value, (enum.Enum, tuple, BaseException)) or value.__init__ is object.__init__
    ):
        names = []  # its members or fields say it, or it takes none
    elif isinstance(value, type) and value.__init__ is facula.nn.Module.__init__:
        names = []
    elif not isinstance(value, (type, OPERATION)) and not inspect.isfunction(value):
        names = []  # an object that can be called, which its class describes
    else:
        try:
            names = list(inspect.signature(value).parameters)
        except (TypeError, ValueError):
            names = []
    return [n for n in dict.fromkeys(names) if n not in ("self", "cls") and n[0] != "_"]


def explained(doc):
    """Parameters that the section Args names."""
    sections = re.findall(r"^Args:\n((?: .*\n?|\n)+)", doc + "\n", re.MULTILINE)
    items = re.findall(r"^ {4}([\w*, `]+):", "\n".join(sections), re.MULTILINE)
    return {name.strip("*` ") for item in items for name in item.split(",")}


def referred(full, value, doc):
    """Names that the text points to: their arguments count as explained."""
    package = importable = facula
    for part in full.split(".")[1:-1]:
        importable = getattr(importable, part, package)
    for role in re.findall(r":(?:func|class|meth):`~?([\w.]+)`", doc):
        for start in (importable, facula, facula.nn, facula.nn.functional, facula.nn.init):
            found = start
            for part in role.removeprefix("facula.").split("."):
                found = getattr(found, part, None)
            if callable(found) and found is not value:
                yield found
                break


def unexplained(full, value, depth=2):
    doc = text(value)
    left = set(parameters(value)) - explained(doc)
    if left == {"args", "kwargs"} and list(referred(full, value, doc)):
        return []  # another name of what it refers to
    for other in referred(full, value, doc) if left and depth else ():
        left -= explained(text(other))
        if left:
            left -= set(parameters(other)) - set(unexplained(full, other, depth - 1))
    return sorted(left)


def surface():
    modules = [facula, *public_modules()]
    seen = set()
    for module in modules:
        if module.__name__ in SURFACE:
            for full, value in described(module):
                if id(value) not in seen:
                    seen.add(id(value))
                    yield full, value


def test_every_public_name_has_a_docstring():
    bare = [
        full
        for module in [facula, *public_modules()]
        for full, value in described(module)
        if not text(value)
    ]
    assert not bare


def has_text(cls, name):
    """Whether a method, or the one that it overrides, says what it does."""
    return any(getattr(vars(base).get(name), "__doc__", None) for base in cls.__mro__)


def test_every_public_method_has_a_docstring():
    bare = set()
    for module in [facula, *public_modules()]:
        for full, cls in described(module):
            for name, member in vars(cls).items() if isinstance(cls, type) else ():
                is_part = isinstance(member, facula._core._ModuleAttribute)  # of some object
                is_method = inspect.isroutine(member) or isinstance(member, property)
                if is_method and not is_part and name[0] != "_" and not has_text(cls, name):
                    bare.add(f"{full}.{name}")
    assert not bare, "\n".join(sorted(bare))


TYPES = {n: t for n, t in vars(facula._core).items() if isinstance(t, type) and n[0] != "_"}


@pytest.mark.parametrize("name", TYPES)
def test_examples_of_bound_types_print_what_they_say(name, doctest_namespace):
    parser = doctest.DocTestParser()
    test = parser.get_doctest(text(TYPES[name]), dict(doctest_namespace), name, None, None)
    report = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


def test_every_name_of_the_surface_has_an_example():
    bare = [full for full, value in surface() if ">>>" not in text(value)]
    assert not bare, "\n".join(bare)


def test_every_parameter_of_the_surface_is_explained():
    bare = {full: unexplained(full, value) for full, value in surface()}
    bare = {full: names for full, names in bare.items() if names}
    assert not bare, "\n".join(f"{full}: {', '.join(names)}" for full, names in bare.items())

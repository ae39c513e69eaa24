"""Every public operation of the core is named by a test that runs without PyTorch."""

import ast
import pathlib

import pytest

import facula
from facula import _core

TESTS = pathlib.Path(__file__).parents[1]
BOUND = type(_core.add), type(facula.Tensor.add)
# The rows of the tables are tested by name in test_rows.py and test_reduce.py.
ROWS = {row[-1] for row in _core._rows()} | {row[0] for row in _core._reduce_rows()}


def names_in(source):
    """Attributes, and words of strings, as they stand in tables of cases; not comments."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value.partition(" ")[0]  # as in "squeeze_ of one"
            found.update([word] if word.isidentifier() else [])
    return found


@pytest.fixture(scope="module")
def tested():
    # Comparisons need PyTorch, and programs are no tests of operations.
    apart = {"parity", "packages", "programs"}
    files = (p for p in TESTS.rglob("*.py") if not apart & set(p.relative_to(TESTS).parts))
    return ROWS.union(*(names_in(path.read_text()) for path in files))


@pytest.mark.parametrize("place", [facula, facula.nn.functional, facula.Tensor])
def test_every_operation_of_the_core_is_named_by_a_test(place, tested):
    operations = {n for n in vars(place) if n[0] != "_" and isinstance(getattr(place, n), BOUND)}
    # A form in place is called as name + "_" where a table has the name.
    missing = {n for n in operations if n not in tested and n.removesuffix("_") not in tested}
    assert len(operations) > 20
    assert sorted(missing) == []


def test_attributes_and_words_of_strings_are_names_and_comments_are_not():
    assert names_in('x.exp_()  # log\nf("sin", "t_ of a vector", "a-b")') == {"exp_", "sin", "t_"}

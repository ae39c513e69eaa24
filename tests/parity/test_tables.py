"""Tables of names that PyTorch has too: overloads of operations, settings of the compiler."""

import importlib

import pytest
import torch

import facula
from facula._library import _overloads

OPERATORS = set(torch._C._dispatch_get_all_op_names())


@pytest.mark.parametrize("name", _overloads._OVERLOADS)
def test_overloads_are_those_of_pytorch(name):
    theirs = getattr(torch.ops.aten, name).overloads()
    # PyTorch also has overloads of TorchScript, for numbers and strings.
    known = [o for o in theirs if o == "default" or f"aten::{name}.{o}" in OPERATORS]
    assert list(_overloads.overloads_of(name)) == known


@pytest.mark.parametrize("name", _overloads._SCHEMAS)
def test_schemas_are_those_of_pytorch(name):
    ours = getattr(facula.ops.aten, name).default._schema
    theirs = getattr(torch.ops.aten, name).default._schema
    assert str(ours) == str(theirs)
    assert [a.name for a in ours.arguments] == [a.name for a in theirs.arguments]
    assert ours.is_mutable == theirs.is_mutable


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", ["_dynamo", "compiler", "_functorch"])
def test_settings_are_those_of_pytorch(name):
    ours = importlib.import_module(f"facula.{name}.config")
    theirs = importlib.import_module(f"torch.{name}.config")
    aliases = {key: entry.alias for key, entry in theirs._config.items() if entry.alias}
    assert set(ours._aliases) == set(aliases)
    assert ours._settings <= theirs._config.keys()
    # The rest are lists for PyTorch's own use, and folders.
    rest = {n for n in theirs._config if n not in ours._settings and n not in aliases}
    assert not [n for n in rest if type(getattr(theirs, n)) in (bool, int, float) and n.islower()]
    assert {n: getattr(ours, n) for n in ours._settings} == {
        n: getattr(theirs, n) for n in ours._settings
    }

"""Tables of names that PyTorch has too: overloads of operations, settings of the compiler."""

import importlib

import pytest
import torch

import facula
from facula._library import _overloads, _schemas

OPERATORS = set(torch._C._dispatch_get_all_op_names())


@pytest.mark.parametrize("name", _overloads._OVERLOADS)
def test_overloads_are_those_of_pytorch(name):
    theirs = getattr(torch.ops.aten, name).overloads()
    # PyTorch also has overloads of TorchScript, for numbers and strings.
    known = [o for o in theirs if o == "default" or f"aten::{name}.{o}" in OPERATORS]
    assert list(_overloads.overloads_of(name)) == known


@pytest.mark.parametrize("full_name", _schemas._ALL)
def test_schemas_are_those_of_pytorch(full_name):
    name, _, overload = full_name.partition(".")
    ours = getattr(getattr(facula.ops.aten, name), overload or "default")._schema
    theirs = getattr(getattr(torch.ops.aten, name), overload or "default")._schema
    assert str(ours) == str(theirs)
    assert [a.name for a in ours.arguments] == [a.name for a in theirs.arguments]
    assert ours.is_mutable == theirs.is_mutable
    is_composed = torch._C._dispatch_has_kernel_for_dispatch_key(
        f"aten::{full_name}", "CompositeImplicitAutograd"
    )
    assert (full_name in _schemas._DISPATCHED) != is_composed


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

"""Every module of PyTorch's own lists: initial weights, repr, results, gradients, refusals."""

import pytest

from .known_differences import KNOWN_MODULES
from .modules import DTYPES, bad_cases, cases, database, differences, older_cases

MODES = {"train": True, "eval": False}


def _report(found):
    return "\n".join(f"{name}: {d.category}: {d.text}" for name, d in found)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", database())
def test_module_agrees(name, dtype, mode):
    found = [
        (case.name, difference)
        for case in cases(name, DTYPES[dtype], MODES[mode])
        for difference in differences(case)
    ]
    assert not found, _report(found)


@pytest.mark.parametrize("name", older_cases())
def test_older_list_agrees(name):
    found = [(name, difference) for difference in differences(older_cases()[name])]
    assert not found, _report(found)


def test_every_known_difference_is_of_a_module_that_is_compared():
    assert {known.op for known in KNOWN_MODULES} <= set(older_cases())


@pytest.mark.parametrize("name", [name for name in database() if any(bad_cases(name))])
def test_module_refuses_what_pytorch_refuses(name):
    found = [(c.name, difference) for c in bad_cases(name) for difference in differences(c)]
    assert not found, _report(found)

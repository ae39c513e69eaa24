"""Fixtures of the tests and of the examples in docstrings: fixed seeds, devices, names."""

import random

import numpy as np
import pytest

import facula

# Every attribute of this module is a namespace of operations, also what pytest looks for in it.
collect_ignore = ["facula/ops.py"]

try:
    import hypothesis
except ModuleNotFoundError:
    pass  # GPU machines run only the tests marked cuda, which do without it
else:
    hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
    hypothesis.settings.load_profile("fixed")


@pytest.fixture(autouse=True)
def _fixed_seeds():
    random.seed(0)
    np.random.seed(0)
    facula.manual_seed(0)


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace):
    doctest_namespace["facula"] = facula


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def device(request):
    """The device to compute on; the CUDA half is skipped, by name, where there is no GPU."""
    return request.param


def pytest_runtest_setup(item):
    if item.get_closest_marker("cuda") and not facula.cuda.is_available():
        pytest.skip("no NVIDIA GPU")

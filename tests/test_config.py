"""What programs ask of a build, and names for annotations."""

import pytest

import facula
from facula import __config__, __future__, nn, types


def test_the_build_is_described():
    assert facula.__version__ in __config__.show()
    assert f"get_num_threads() : {facula.get_num_threads()}" in __config__.parallel_info()


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_older_questions_about_the_build_are_answered(name):
    with pytest.warns(UserWarning, match=f"'has_{name}' is deprecated, please use"):
        answer = getattr(facula, f"has_{name}")
    assert answer is getattr(facula.backends, name).is_built()


def test_conversions_can_make_new_parameters():
    module = nn.Linear(2, 2)
    old = module.weight
    old.grad = facula.ones(2, 2)
    __future__.set_overwrite_module_params_on_conversion(True)
    try:
        module.double()
    finally:
        __future__.set_overwrite_module_params_on_conversion(False)
    assert old.dtype == facula.float32
    assert module.weight is not old
    assert module.weight.dtype == module.weight.grad.dtype == facula.float64
    kept = module.weight
    assert module.float().weight is kept


def test_swapping_keeps_the_objects():
    module = nn.Linear(2, 2)
    weight = module.weight
    __future__.set_swap_module_params_on_conversion(True)
    try:
        assert __future__.get_swap_module_params_on_conversion()
        assert module.double().weight is weight
    finally:
        __future__.set_swap_module_params_on_conversion(False)


def test_types_for_annotations():
    assert isinstance(3, types.Number)
    assert isinstance(3, types._Number)
    assert isinstance("cpu", types.Device)
    assert isinstance("file", str)
    assert types._dtype is facula.dtype

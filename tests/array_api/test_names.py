import inspect

import array_api_strict
import pytest
from array_api_cases import DTYPES_WITHOUT_ARITHMETIC

import facula
from facula import array_api


def names_of(module):
    return [name for name in module.__all__ if name not in NOT_IN_THE_STANDARD]


# What array-api-strict has of its own, dtypes that tensors cannot compute with, and names that came
# with 2025.12.
NOT_IN_THE_STANDARD = {
    "__version__",
    "Device",
    "ArrayAPIStrictFlags",
    "array_api_strict_flags",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
    "fft",
    "linalg",
    "broadcast_shapes",
    "isin",
    "eig",
    "eigvals",
    *DTYPES_WITHOUT_ARITHMETIC,
}
# array-api-strict's mark of arguments that an older version of the standard does not have.
UNDEFINED = inspect.signature(array_api_strict.from_dlpack).parameters["device"].default
MODULES = ["", "linalg", "fft"]
NAMES = [
    f"{module}.{name}".lstrip(".")
    for module in MODULES
    for name in names_of(getattr(array_api_strict, module) if module else array_api_strict)
]


def found(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_standard_is_there_with_its_signature(name):
    ours, theirs = found(array_api, name), found(array_api_strict, name)
    if not inspect.isfunction(theirs):
        return
    try:
        signature = inspect.signature(ours)
    except ValueError:  # an operation of one tensor, bound as it is
        assert list(inspect.signature(theirs).parameters) == ["x"]
        return
    expected = inspect.signature(theirs).parameters.values()
    assert [form(p) for p in signature.parameters.values()] == [form(p) for p in expected]


def form(parameter):
    """All that a caller can see of a parameter."""
    by_name = parameter.kind is not inspect.Parameter.POSITIONAL_ONLY
    default = None if parameter.default is UNDEFINED else parameter.default
    return parameter.name if by_name else None, parameter.kind, default


def test_all_names_are_listed_and_the_extensions_among_them():
    assert set(NAMES) - {name for name in NAMES if "." in name} <= set(array_api.__all__)
    assert {"fft", "linalg"} <= set(array_api.__all__)


def test_a_tensor_gives_its_namespace():
    assert facula.ones(2).__array_namespace__() is array_api
    assert facula.ones(2).__array_namespace__(api_version="2023.12") is array_api
    assert array_api.__array_api_version__ == "2024.12"


def test_a_version_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"2024\.12, got '1999\.01'"):
        facula.ones(2).__array_namespace__(api_version="1999.01")


def test_tensors_have_the_attributes_of_the_standard():
    # Python puts a product in place of the tensor by itself; the others are Python's own.
    not_needed = {"__imatmul__", "__buffer__", "__slots__", "__weakref__"}
    names = {n for n in dir(array_api_strict.asarray(1)) if n[0] != "_" or n[:2] == "__"}
    assert {n for n in names - not_needed if not hasattr(facula.Tensor, n)} == set()


def test_to_device_copies_nothing_on_the_same_device():
    x = facula.ones(2)
    assert x.to_device("cpu") is x
    assert x.to_device(x.device, stream=None) is x


def test_info_names_dtypes_and_devices():
    info, theirs = (n.__array_namespace_info__() for n in (array_api, array_api_strict))
    assert set(info.dtypes()) == set(theirs.dtypes()) - set(DTYPES_WITHOUT_ARITHMETIC)
    for kind in ["bool", "signed integer", "integral", "numeric", ("bool", "complex floating")]:
        expected = set(theirs.dtypes(kind=kind)) - set(DTYPES_WITHOUT_ARITHMETIC)
        assert set(info.dtypes(kind=kind)) == expected
    assert set(info.default_dtypes()) == set(theirs.default_dtypes())
    assert set(info.capabilities()) == set(theirs.capabilities())
    assert info.default_device() in info.devices()
    with pytest.raises(ValueError, match="expected a dtype or one of"):
        info.dtypes(kind="float")


def test_the_default_float_is_the_one_that_is_set():
    facula.set_default_dtype(facula.float64)
    try:
        defaults = array_api.__array_namespace_info__().default_dtypes()
    finally:
        facula.set_default_dtype(facula.float32)
    assert defaults["real floating"] == facula.float64
    assert defaults["complex floating"] == facula.complex128

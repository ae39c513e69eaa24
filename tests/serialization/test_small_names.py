import inspect
import types
import warnings

import pytest

import facula
from facula import serialization


def test_versions_of_packages_are_compared():
    package = types.SimpleNamespace(__name__="package", __version__="1.10.2")
    check = serialization.check_module_version_greater_or_equal
    assert check(package, (1, 10)) and check(package, (1, 9, 9)) and not check(package, (2, 0))
    package.__version__ = "dev"
    with pytest.raises(RuntimeError, match="a version of numbers, got 'dev'"):
        check(package, (1, 0))
    assert check(package, (1, 0), error_if_malformed=False)


def test_a_place_on_a_gpu_that_is_not_there_is_refused():
    if facula.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        serialization.validate_cuda_device("cuda:0")


def test_the_warning_of_old_can_be_filtered():
    warnings.filterwarnings("ignore", category=serialization.SourceChangeWarning)


@pytest.mark.filterwarnings("ignore")
def test_classes_of_storages_have_their_tensors():
    assert serialization.normalize_storage_type(facula.FloatStorage) is facula.FloatStorage
    assert serialization.storage_to_tensor_type(facula.LongStorage(1)) is facula.LongTensor


def test_the_default_protocol_is_that_of_save():
    default = inspect.signature(facula.save).parameters["pickle_protocol"].default
    assert default == serialization.DEFAULT_PROTOCOL

import threading

import pytest

import facula


@pytest.fixture(autouse=True)
def _restore():
    yield
    facula.use_deterministic_algorithms(False)
    facula.set_default_device(None)


def test_determinism_is_a_switch_with_three_positions():
    facula.use_deterministic_algorithms(True, warn_only=True)
    assert facula.get_deterministic_debug_mode() == 1
    assert facula.is_deterministic_algorithms_warn_only_enabled()
    facula.set_deterministic_debug_mode("error")
    assert facula.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="expected 0 'default', 1 'warn' or 2 'error', got 7"):
        facula.set_deterministic_debug_mode(7)
    assert facula.get_deterministic_debug_mode() == 2


def test_an_unknown_precision_of_products_warns_and_changes_nothing():
    with pytest.warns(UserWarning, match="got 'low'; nothing is changed"):
        facula.set_float32_matmul_precision("low")
    assert facula.get_float32_matmul_precision() == "highest"


def test_the_default_device_is_that_of_the_innermost_block():
    assert facula.get_default_device() == facula.device("cpu")
    with facula.device("cpu") as device:
        assert device == facula.get_default_device()
    facula.set_default_device("cuda")
    assert facula.get_default_device() == facula.device("cuda")
    with facula.device("cpu"):
        assert facula.zeros(2).device.type == "cpu"


def test_the_default_device_belongs_to_a_thread():
    facula.set_default_device("cuda")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(facula.get_default_device()))
    thread.start()
    thread.join()
    assert seen == [facula.device("cpu")]


@pytest.mark.parametrize(
    "make",
    [
        lambda: facula.zeros(2),
        lambda: facula.tensor([1.0]),
        lambda: facula.rand(2),
        lambda: facula.arange(3),
        lambda: facula.randperm(3),
        lambda: facula.as_tensor([1]),
    ],
)
def test_new_tensors_are_made_on_the_default_device(make):
    facula.set_default_device("cuda")
    if facula.cuda.is_available():
        assert make().device.type == "cuda"
    else:
        with pytest.raises(RuntimeError):
            make()


def test_switches_without_an_effect_remember_what_they_were_given():
    facula.set_warn_always(True)
    assert facula.is_warn_always_enabled()
    facula.set_warn_always(False)
    assert facula.get_num_interop_threads() >= 1
    with pytest.raises(RuntimeError, match="positive"):
        facula.set_num_interop_threads(0)

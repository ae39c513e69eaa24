import numpy as np
import pytest

import facula
from facula.testing import assert_close


def test_equal_values_in_containers_pass():
    pair = {"a": [facula.ones(2), 1.0], "b": (np.ones(3), facula.tensor(2))}
    assert_close(pair, pair)


def test_the_message_counts_and_names_the_worst_place():
    with pytest.raises(AssertionError) as caught:
        assert_close(facula.tensor([[1.0, 2.0]]), facula.tensor([[1.0, 4.0]]))
    assert str(caught.value) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 2.0 at index (0, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5 at index (0, 1) (up to 1.3e-06 allowed)"
    )


def message_of(actual, expected, **options):
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected, **options)
    return str(caught.value)


def test_what_must_be_equal_has_no_tolerance_in_the_message():
    assert message_of(facula.tensor([1, 2]), facula.tensor([1, 3])) == (
        "Tensor-likes are not equal!\n\n"
        "Mismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 1 at index (1,)\n"
        "Greatest relative difference: 0.3333333432674408 at index (1,)"
    )


def test_numbers_and_tensors_without_dimensions_are_scalars():
    differences = "Absolute difference: 1\nRelative difference: 0.3333333333333333"
    for pair in ((2, 3), (facula.tensor(2), facula.tensor(3))):
        text = message_of(*pair)
        assert text == f"Scalars are not equal!\n\nExpected 3 but got 2.\n{differences}"
    assert message_of(True, False) == "Booleans mismatch: True is not False"


def test_numbers_have_the_tolerance_of_float64():
    assert_close(1.0, 1.0 + 1e-8)
    text = message_of(1.0, 1.000001)
    assert "(up to 1e-07 allowed)" in text and text.startswith("Scalars are not close!")


def test_an_item_is_named_by_its_path():
    with pytest.raises(AssertionError, match=r"The failure occurred for item \['w'\]\[1\]"):
        assert_close({"w": [1, facula.zeros(1)]}, {"w": [1, facula.ones(1)]})


@pytest.mark.parametrize(
    "actual, expected, text",
    [
        (facula.ones(2), facula.ones(3), "attribute 'shape'"),
        (facula.ones(2), facula.ones(2).double(), "attribute 'dtype'"),
        ([1], [1, 2], "length of the sequences"),
        ({"a": 1}, {"b": 1}, "keys of the mappings"),
        (1.0, 2.0, "Scalars are not close"),
        (facula.tensor(1), facula.tensor(2), "not equal"),
        (facula.tensor(facula.nan), facula.tensor(facula.nan), "not close"),
    ],
)
def test_a_difference_fails(actual, expected, text):
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected)


def test_what_is_asked_for_is_allowed():
    assert_close(facula.ones(2), facula.ones(2).double(), check_dtype=False)
    assert_close(facula.tensor(facula.nan), facula.tensor(facula.nan), equal_nan=True)
    assert_close(1.0, 1.4, rtol=0, atol=0.5)


def test_types_must_agree():
    assert_close([None], [None])
    assert_close(np.float64(1), 1.0)
    assert_close(1, 1.0, check_dtype=False)
    assert_close(facula.nn.Parameter(facula.ones(2)), facula.ones(2))
    for actual, expected in ((1, 1.0), (None, 1), (1j, 1.0)):
        with pytest.raises(AssertionError):
            assert_close(actual, expected)
    for actual, expected in ((facula.tensor(1), 1), (facula.ones(2), np.ones(2, "float32"))):
        with pytest.raises(TypeError, match="cannot compare"):
            assert_close(actual, expected)


def test_half_a_tolerance_and_other_types_are_refused():
    with pytest.raises(ValueError, match="both be specified"):
        assert_close(1, 1, rtol=1)
    with pytest.raises(TypeError, match="cannot compare str and int"):
        assert_close("1", 1)


def test_a_message_of_the_users_own():
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match=r"^layer 1: Scalars"):
        assert_close(1, 2, msg=lambda text: f"layer 1: {text}")

import pytest

import facula
from facula.testing import make_tensor

DTYPES = [facula.bool, facula.uint8, facula.int64, facula.float16, facula.float64, facula.complex64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_lie_in_the_usual_interval(dtype):
    x = make_tensor((50,), dtype=dtype, device="cpu")
    assert x.dtype == dtype
    parts = facula.view_as_real(x) if dtype.is_complex else x
    low = 0 if dtype in (facula.bool, facula.uint8) else -9
    assert low <= parts.min().item()
    assert parts.max().item() <= 9
    assert len(set(x.tolist())) > 1


def test_the_interval_can_be_given_and_is_cut_to_what_the_dtype_has():
    x = make_tensor(100, dtype=facula.int64, device="cpu", low=2, high=4)
    assert set(x.tolist()) == {2, 3}
    x = make_tensor(500, dtype=facula.uint8, device="cpu", low=-5, high=2)
    assert set(x.tolist()) == {0, 1}
    wide = make_tensor(9, dtype=facula.float32, device="cpu", low=-float("inf"), high=float("inf"))
    assert wide.isfinite().all()


def test_layouts():
    x = make_tensor(2, 3, dtype=facula.float32, device="cpu", noncontiguous=True)
    assert x.shape == (2, 3)
    assert not x.is_contiguous()
    assert x.storage_offset() == 1
    assert make_tensor((1,), dtype=facula.int8, device="cpu", noncontiguous=True).is_contiguous()
    image = make_tensor(
        1, 2, 3, 3, dtype=facula.float32, device="cpu", memory_format=facula.channels_last
    )
    assert image.is_contiguous(memory_format=facula.channels_last)


def test_zeros_can_be_left_out():
    x = make_tensor(200, dtype=facula.int8, device="cpu", low=0, high=3, exclude_zero=True)
    assert set(x.tolist()) == {1, 2}


def test_gradients_can_be_asked_for():
    assert make_tensor(2, dtype=facula.float32, device="cpu", requires_grad=True).requires_grad


@pytest.mark.parametrize(
    "message, options",
    [
        ("not supported for boolean and integral", {"dtype": facula.int8, "requires_grad": True}),
        ("cannot be NaN", {"low": float("nan")}),
        ("`low` must be less than `high`", {"low": 2, "high": 1}),
        ("only supports", {"dtype": facula.uint8, "low": 300, "high": 400}),
        (
            "mutually exclusive",
            {"noncontiguous": True, "memory_format": facula.contiguous_format},
        ),
    ],
)
def test_bad_arguments_are_refused(message, options):
    with pytest.raises(ValueError, match=message):
        make_tensor(2, 2, **{"dtype": facula.float32, "device": "cpu", **options})


def test_an_interval_of_one_value_warns():
    with pytest.warns(UserWarning, match="low==high"):
        x = make_tensor(2, dtype=facula.float32, device="cpu", low=1, high=1)
    assert x.tolist() == [1.0, 1.0]

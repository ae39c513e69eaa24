import pytest
from agree import assert_agrees

import facula

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
DTYPES = [
    facula.bool,
    facula.uint8,
    facula.int8,
    facula.int16,
    facula.int32,
    facula.int64,
    facula.float16,
    facula.bfloat16,
    facula.float32,
    facula.float64,
]


@pytest.mark.parametrize("dtype", [*DTYPES, facula.complex64], ids=str)
def test_a_tensor_goes_there_and_back_unchanged(dtype):
    x = (facula.arange(12.0) - 3).reshape(3, 4).to(dtype)
    y = x.to("cuda")
    assert y.device == facula.device("cuda", 0)
    assert y.dtype == dtype
    assert y.cpu().tolist() == x.tolist()
    assert y.t().cpu().tolist() == x.t().tolist()


@pytest.mark.parametrize("to", DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_casts_are_the_cpus(dtype, to):
    x = facula.tensor([0.0, 1.0, 2.6, 100.0, 3.4]).to(dtype)
    assert_agrees(lambda t: t.to(to), x)


def test_fills_and_zeros_are_made_on_the_gpu():
    x = facula.full((3, 5), 2.5, device="cuda")
    assert x.cpu().tolist() == [[2.5] * 5] * 3
    assert x[:, 1:3].zero_().sum().item() == 0
    assert x.sum().item() == 2.5 * 9
    assert facula.zeros(4, dtype=facula.int32, device="cuda").tolist() == [0] * 4
    assert facula.ones(2, dtype=facula.float16, device="cuda").tolist() == [1.0, 1.0]


def test_item_tolist_and_printing_read_from_the_gpu():
    x = facula.tensor([1.0, 2.0], device="cuda")
    assert x[1].item() == 2.0
    assert repr(x) == "tensor([1., 2.], device='cuda:0')"
    assert bool(x[0] == 1)


def test_strided_copies_of_many_dimensions_agree():
    x = facula.arange(2.0**10).reshape([2] * 10)
    assert_agrees(lambda t: t.permute(9, 1, 7, 3, 5, 4, 6, 2, 8, 0).contiguous() + 1, x)
    many = facula.arange(4.0).reshape([1] * 31 + [2] + [1] * 31 + [2])
    assert_agrees(lambda t: t.transpose(31, 63).contiguous() * 2, many)


def test_overlapping_copies_read_before_they_write():
    x = facula.arange(1000.0, device="cuda")
    x[1:] = x[:-1].clone()
    assert x.tolist() == [0.0, *map(float, range(999))]


def test_empty_tensors_launch_nothing():
    x = facula.empty(0, 3, device="cuda")
    assert (x + 1).exp().shape == (0, 3)
    assert x.sum().item() == 0


def test_tensors_of_two_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="on one device"):
        facula.ones(2, device="cuda") + facula.ones(2)


def test_there_is_no_device_beyond_the_last():
    n = facula.cuda.device_count()
    with pytest.raises(RuntimeError, match=f"cuda: there is no device cuda:{n}"):
        facula.ones(2, device=f"cuda:{n}")

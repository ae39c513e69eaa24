"""Numbers that do not fit into the dtype of a tensor are refused, by the rules of PyTorch."""

import pytest

import facula
from facula.nn import functional as F

pytestmark = pytest.mark.promise("T4")
INF, NAN = float("inf"), float("nan")
MASK, PLACE = facula.tensor([True, False]), facula.tensor([0])


def set_item(x, value):
    x[0] = value
    return x


# Each gives a tensor whose first element is the number.
FILLS = {
    "fill_": lambda x, value: x.fill_(value),
    "fill": facula.fill,
    "full": lambda x, value: facula.full((2,), value, dtype=x.dtype),
    "full_like": facula.full_like,
    "masked_fill": lambda x, value: x.masked_fill(MASK, value),
    "masked_fill_": lambda x, value: x.masked_fill_(MASK, value),
    "masked_fill, a tensor": lambda x, value: x.masked_fill(
        MASK, facula.tensor(value, dtype=facula.float64 if type(value) is float else None)
    ),
    "index_fill_": lambda x, value: x.index_fill_(0, PLACE, value),
    "scatter_": lambda x, value: x.scatter_(0, PLACE, value),
    "setitem": set_item,
}

TOO_LARGE = [
    ("uint8", 256),
    ("uint8", -256),
    ("uint8", -0.5),
    ("uint8", 255.5),
    ("uint8", NAN),
    ("int8", 128),
    ("int8", -129),
    ("int32", 2**31),
    ("int64", INF),
    ("int64", 2.0**63),
    ("float32", 1e39),
    ("float32", 1j),
]


@pytest.mark.parametrize("dtype, value", TOO_LARGE)
@pytest.mark.parametrize("name", FILLS)
def test_a_number_that_does_not_fit_is_refused_and_nothing_written(name, dtype, value):
    x = facula.ones(2, dtype=getattr(facula, dtype))
    with pytest.raises(RuntimeError, match=f"does not fit into {dtype}|complex"):
        FILLS[name](x, value)
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize(
    "dtype, value, stored",
    [
        ("uint8", -1, 255),  # negative numbers of its width are taken as bits
        ("uint8", -255, 1),
        ("uint8", 2.7, 2),
        ("int8", -128, -128),
        ("bool", NAN, True),
        ("float16", INF, INF),
        ("float32", 3.4e38, 3.4e38),
    ],
)
@pytest.mark.parametrize("name", FILLS)
def test_a_number_that_fits_is_stored(name, dtype, value, stored):
    x = facula.ones(2, dtype=getattr(facula, dtype))
    assert FILLS[name](x, value)[0].item() == pytest.approx(stored)


def test_a_number_too_large_for_16_bits_is_infinity_only_where_it_becomes_a_tensor_first():
    half = facula.ones(2, dtype=facula.float16)
    assert set_item(half.clone(), 7e4).tolist() == [INF, 1]
    assert facula.where(MASK, half, 7e4).tolist() == [1, INF]
    with pytest.raises(RuntimeError, match="fill_: the value 70000 does not fit into float16"):
        half.fill_(7e4)


def test_messages_name_operation_argument_number_and_dtype():
    x = facula.ones(2, dtype=facula.uint8)
    for call, message in [
        (lambda: x.masked_fill_(MASK, 300), "masked_fill: the value 300 does not fit into uint8."),
        (lambda: facula.full((2,), 300, dtype=x.dtype), "full: the fill_value 300 does not fit"),
        (lambda: facula.ones(2).fill_(1 - 2j), "fill_: the value 1-2j does not fit into float32."),
        (lambda: facula.where(MASK, x, 300), "where: the number 300 does not fit into uint8."),
        (lambda: x.clamp(max=300), "clamp: the bound 300 does not fit into uint8."),
        (lambda: x.add(x, alpha=256), "add: the alpha 256 does not fit into uint8."),
        (lambda: x.pow(256), "pow: the exponent 256 does not fit into uint8."),
        (lambda: facula.addcmul(x, x, x, value=-0.5), "addcmul: the value -0.5 does not fit into"),
        (lambda: x.index_add(0, PLACE, x[:1], alpha=256), "index_add: the alpha 256 does not fit"),
        (lambda: facula.threshold(x, 1, 256), "threshold: the value 256 does not fit into uint8."),
        (lambda: facula.linspace(0, 256, 2, dtype=x.dtype), "linspace: the end 256 does not fit"),
        (lambda: F.pad(x, (1, 1), value=-1), "pad: the value -1 does not fit into uint8."),
        (lambda: facula.lerp(facula.ones(2), facula.ones(2), 1e39), "lerp: the weight 1e"),
        (lambda: facula.addmm(x[:1], x[None], x[:, None], beta=256), "addmm: the beta 256"),
    ]:
        with pytest.raises(RuntimeError) as caught:
            call()
        assert str(caught.value).startswith(message)


def test_messages_have_the_words_of_pytorchs():
    with pytest.raises(
        RuntimeError, match=r"value cannot be converted to type .* without overflow"
    ):
        facula.full((), 1e39j)


def test_a_value_of_another_dtype_fills_where_it_fits():
    x = facula.ones(2, dtype=facula.int64)
    assert x.masked_fill(MASK, facula.tensor(2.7)).tolist() == [2, 1]
    assert facula.ones(2).masked_fill(MASK, facula.tensor(3 + 0j)).tolist() == [3, 1]

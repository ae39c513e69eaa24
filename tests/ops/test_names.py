"""Second names, and operations that a tensor also does in place."""

import inspect
import re

import pytest

import facula
from facula import Tensor

# The second name, the operation it stands for, and arguments after the tensor.
SECOND_NAMES = [
    ("absolute", "abs", ()),
    ("arccos", "acos", ()),
    ("arccosh", "acosh", ()),
    ("arcsin", "asin", ()),
    ("arcsinh", "asinh", ()),
    ("arctan", "atan", ()),
    ("arctan2", "atan2", (facula.tensor([0.5, -2.0, 3.0]),)),
    ("arctanh", "atanh", ()),
    ("clip", "clamp", (-0.2, 0.4)),
    ("concat", "cat", ()),
    ("concatenate", "cat", ()),
    ("divide", "div", (0.3,)),
    ("fix", "trunc", ()),
    ("ger", "outer", (facula.tensor([2.0, -1.0]),)),
    ("greater", "gt", (0.25,)),
    ("greater_equal", "ge", (0.25,)),
    ("less", "lt", (0.25,)),
    ("less_equal", "le", (0.25,)),
    ("moveaxis", "movedim", (0, 1)),
    ("multiply", "mul", (3,)),
    ("native_channel_shuffle", "channel_shuffle", (2,)),
    ("ndimension", "dim", ()),
    ("negative", "neg", ()),
    ("nelement", "numel", ()),
    ("not_equal", "ne", (0.25,)),
    ("subtract", "sub", (facula.tensor([1.0, 2.0, 3.0]),)),
    ("swapaxes", "transpose", (0, 1)),
    ("swapdims", "transpose", (0, 1)),
    ("true_divide", "div", (0.3,)),
]
IDS = [second for second, _, _ in SECOND_NAMES]


def input_of(name):
    """What the operation takes first: elements inside and at the edge of its domain."""
    if name == "cat":
        return [facula.ones(2, 3), facula.zeros(1, 3)]
    if name == "channel_shuffle":
        return facula.arange(24.0).reshape(1, 4, 2, 3)
    if name in ("movedim", "transpose"):
        return facula.arange(6.0).reshape(2, 3)
    x = facula.tensor([-0.75, 0.25, 1.0])
    return x + 2 if name == "acosh" else x


def assert_same(actual, expected):
    if not isinstance(expected, Tensor):
        assert actual == expected
        return
    assert actual.dtype == expected.dtype
    assert actual.stride() == expected.stride()
    assert facula.equal(actual.nan_to_num(9), expected.nan_to_num(9))


@pytest.mark.parametrize("second, first, more", SECOND_NAMES, ids=IDS)
def test_a_second_name_gives_the_result_of_the_first(second, first, more):
    for place in (facula, Tensor):
        if hasattr(place, second):
            x = input_of(first)
            assert_same(getattr(place, second)(x, *more), getattr(place, first)(x, *more))


@pytest.mark.promise("T5")
@pytest.mark.parametrize("second, first, more", SECOND_NAMES, ids=IDS)
def test_a_second_name_in_place_writes_what_the_first_does(second, first, more):
    for place in (facula, Tensor):
        if hasattr(place, second + "_"):
            x, y = input_of(first), input_of(first)
            assert getattr(place, second + "_")(x, *more) is x
            assert getattr(Tensor, first + "_")(y, *more) is y
            assert_same(x, y)


@pytest.mark.parametrize("second, first, more", SECOND_NAMES, ids=IDS)
def test_a_second_name_takes_the_out_of_the_first(second, first, more):
    function = getattr(facula, second, None)
    if "out:" in str(getattr(function, "__nb_signature__", "")):
        x = input_of(first)
        expected = getattr(facula, first)(x, *more)
        out = facula.empty(0, dtype=expected.dtype)
        assert function(x, *more, out=out) is out
        assert facula.equal(out.nan_to_num(9), expected.nan_to_num(9))


# These have an example of their own, or say which operation they stand for.
OWN_DOCSTRING = {
    "absolute",
    "native_channel_shuffle",
    "nelement",
    "swapaxes",
    "swapdims",
    "true_divide",
}


@pytest.mark.parametrize(
    "second, first", [(s, f) for s, f, _ in SECOND_NAMES if s not in OWN_DOCSTRING]
)
def test_a_second_name_has_the_docstring_of_the_first(second, first):
    # The first paragraph is the signature; of several signatures each has a line of its own.
    for place in (facula, Tensor):
        if hasattr(place, second):
            docs = [inspect.getdoc(getattr(place, n)).partition("\n\n")[2] for n in (second, first)]
            docs = [re.sub(r"^\d+\. ``.*``$", "", text, flags=re.MULTILINE) for text in docs]
            assert docs[0] == docs[1] != ""


def test_second_names_are_differentiated_as_the_first():
    x = facula.tensor([0.2, 0.4, 0.7], dtype=facula.float64, requires_grad=True)
    y = facula.tensor([0.3, 0.8, 0.5], dtype=facula.float64, requires_grad=True)
    for name in ("absolute", "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "negative"):
        assert facula.autograd.gradgradcheck(getattr(facula, name), (x,))
    for name in ("arctan2", "divide", "multiply", "subtract", "true_divide", "ger"):
        assert facula.autograd.gradgradcheck(getattr(facula, name), (x, y))
    for name in ("concat", "concatenate"):
        join = getattr(facula, name)
        assert facula.autograd.gradcheck(lambda *xs, join=join: join(xs).square(), (x, y))

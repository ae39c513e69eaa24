"""``repr``, ``format`` and the print options."""

import json
import time
from pathlib import Path

import pytest
from printing_cases import EXPRESSIONS, OPTIONS, printed

import facula

pytestmark = pytest.mark.promise("T8")
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "printing.json").read_text())


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_tensors_print_as_in_pytorch(expression):
    for options, text in zip(OPTIONS, GOLDEN[expression], strict=True):
        if text:
            assert printed(facula, expression, options) == text, options


def test_str_is_repr():
    x = facula.tensor([1.0, 2.5])
    assert str(x) == repr(x) == f"{x}"


def test_format_of_a_number_takes_its_format():
    assert f"{facula.tensor(1.23456):.2f}" == "1.23"
    assert f"{facula.tensor(7):04d}" == "0007"
    with pytest.raises(TypeError):
        format(facula.ones(2), ".2f")


def test_a_large_tensor_prints_in_a_moment():
    x = facula.ones(1000, 1000)
    start = time.process_time()
    repr(x)
    assert time.process_time() - start < 0.1  # every element would take seconds


def test_a_custom_function_is_named_in_grad_fn():
    class Twice(facula.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = facula.ones(1, requires_grad=True)
    assert repr(Twice.apply(x)) == "tensor([2.], grad_fn=<TwiceBackward>)"


def test_an_unknown_profile_is_refused():
    with pytest.raises(ValueError, match=r"set_printoptions: expected profile .*, got 'tiny'"):
        facula.set_printoptions(profile="tiny")

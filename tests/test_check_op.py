"""check_op finds the mistakes that it is there to find."""

import numpy as np
import pytest

import facula
from check_op import check_op


class SinWithWrongGradient(facula.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.sin()


class SinWithWrongSecondGradient(facula.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.detach().cos()


def doubled_in_place(x):
    return x.detach().mul_(2)


def test_check_op_accepts_a_right_operation(device):
    check_op(facula.sin, np.sin, [(2, 3)], device, elementwise=True)


@pytest.mark.parametrize(
    "op, reference, complaint",
    [
        (facula.sin, np.cos, "value"),
        (lambda x: x.sin().sum(), np.sin, "shape"),
        (doubled_in_place, lambda a: 2 * a, "an input was changed"),
        (SinWithWrongGradient.apply, np.sin, "gradient 0"),
        (SinWithWrongSecondGradient.apply, np.sin, "second gradient"),
    ],
)
def test_check_op_finds_a_mistake(op, reference, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_op(op, reference, [(2, 3)], dtypes=["float64"])

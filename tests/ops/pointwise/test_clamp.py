"""Bounds, and bounds in place."""

import numpy as np
import pytest

import facula
from check_op import check_op

VALUES = [-2.0, -0.5, 0.0, 0.5, 2.0]
FORMS = {
    "clamp_min": ((-0.5,), (-0.5, np.inf)),
    "clamp_max": ((0.5,), (-np.inf, 0.5)),
    "clip": ((-0.5, 0.5), (-0.5, 0.5)),
    "clamp": ((-0.5, 0.5), (-0.5, 0.5)),
}


@pytest.mark.parametrize("name", FORMS)
def test_bounds_agree_with_numpy(name):
    bounds, (low, high) = FORMS[name]
    for place in (facula, facula.Tensor):
        check_op(
            lambda x, place=place: getattr(place, name)(x, *bounds),
            lambda a: np.clip(a, low, high),
            [(3, 4)],
            elementwise=True,
        )


@pytest.mark.promise("T5")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", FORMS)
def test_bounds_in_place_agree_with_numpy(name, dtype):
    bounds, (low, high) = FORMS[name]
    for function in (getattr(facula, name + "_"), getattr(facula.Tensor, name + "_")):
        for given in (bounds, tuple(facula.tensor(b).to(getattr(facula, dtype)) for b in bounds)):
            x = facula.tensor([VALUES, VALUES], dtype=getattr(facula, dtype)).t()
            assert function(x, *given) is x
            assert x.tolist() == np.clip([VALUES, VALUES], low, high).T.tolist()


@pytest.mark.parametrize("name", FORMS)
def test_the_gradient_of_bounds_in_place_stops_outside(name):
    bounds, (low, high) = FORMS[name]
    x = facula.tensor([-2.0, -0.25, 0.25, 2.0], requires_grad=True)
    y = x * 1
    getattr(y, name + "_")(*bounds)
    y.sum().backward()
    assert x.grad.tolist() == [low < v < high for v in x.tolist()]


@pytest.mark.parametrize("name", FORMS)
def test_bounds_in_place_keep_integers_empty_tensors_and_nan(name):
    bounds, _ = FORMS[name]
    integers = facula.tensor([0, 0])
    assert getattr(integers, name + "_")(*(round(b) for b in bounds)).tolist() == [0, 0]
    with pytest.raises(RuntimeError, match=r"the result is .*float32 and cannot be stored"):
        getattr(integers, name + "_")(*bounds)
    assert getattr(facula.empty(0, 3), name + "_")(*bounds).shape == (0, 3)
    assert getattr(facula.tensor(float("nan")), name + "_")(*bounds).isnan()


def test_a_bound_beside_a_number_may_be_a_tensor_of_no_dimensions():
    x = facula.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    y = x.clamp(0, x.detach().max() - 1)
    assert y.tolist() == [0.0, 0.5, 1.0] and y.grad_fn.name() == "ClampBackward1"
    assert facula.clip(x, facula.tensor(1), 1.5).tolist() == [1.0, 1.0, 1.5]
    for bound in (facula.ones(1), x.max()):
        with pytest.raises(TypeError, match="clamp: expected min and max to be both numbers or"):
            x.clamp(0, bound)


def test_complex_numbers_are_refused_before_the_bound_is_looked_at():
    with pytest.raises(NotImplementedError, match=r"clamp: .*clamp is not supported for complex"):
        facula.zeros(2, dtype=facula.complex64).clamp(max=1e308)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 17, 70])
def test_bounds_keep_nan_and_the_sign_of_zero_and_nan_bounds_win(dtype, n):
    x = facula.tensor([facula.nan, -0.0, 0.0, -2.0, 2.0] * n, dtype=getattr(facula, dtype))
    nan = float("nan")
    for f in (
        lambda x: x.clamp(-1, 1),
        lambda x: x.clamp_min(-0.0),
        lambda x: x.clamp_max(0.0),
        lambda x: facula.nn.functional.hardtanh(x),
        lambda x: facula.nn.functional.relu6(x),
    ):
        for y in (f(x), f(x.repeat_interleave(2)[::2])):
            assert y.isnan().tolist() == x.isnan().tolist()
            assert y[1::5].signbit().all() and not y[2::5].signbit().any()
    for y in (
        x.clamp(nan, 1),
        x.clamp(-1, nan),
        x.clamp_min(nan),
        x.clamp_max(nan),
        facula.nn.functional.hardtanh(x, nan, 1.0),
        facula.nn.functional.hardtanh(x, 0.0, nan),
    ):
        assert y.dtype == x.dtype and y.isnan().all()
    assert facula.tensor([1, 2]).clamp_max(nan).isnan().all()

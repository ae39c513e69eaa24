"""logit, polygamma and mvlgamma against their formulas."""

import math

import numpy as np
import pytest

import facula
from check_op import assert_close, check_op

SOME = ["float32", "float64"]
INF, NAN = float("inf"), float("nan")


def polygamma(n, x):
    """Derivative of order n of digamma: a sum up to x + 20, then the Euler-Maclaurin tail."""
    x = np.asarray(x, dtype=np.float64)
    s, far = n + 1, x + 20
    total = sum((x + k) ** -s for k in range(20))
    total = total + far ** (1 - s) / (s - 1) + far**-s / 2
    rising = 1.0
    for j, bernoulli in enumerate([1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66], 1):
        rising = math.prod(s + i for i in range(2 * j - 1))
        total = total + bernoulli / math.factorial(2 * j) * rising * far ** (1 - s - 2 * j)
    return (-1) ** (n + 1) * math.factorial(n) * total


def mvlgamma(x, p):
    lgamma = np.vectorize(math.lgamma, otypes=[np.float64])
    return p * (p - 1) / 4 * math.log(math.pi) + sum(lgamma(x - j / 2) for j in range(p))


def test_logit_agrees_with_the_formula():
    check_op(
        facula.logit,
        lambda a: np.log(a / (1 - a)),
        [(3, 4)],
        dtypes=SOME,
        low=0.1,
        high=0.4,
        elementwise=True,
    )


def test_logit_is_the_inverse_of_sigmoid_and_infinite_at_the_ends():
    x = facula.linspace(-4, 4, 9, dtype=facula.float64)
    assert facula.allclose(x.sigmoid().logit(), x)
    assert facula.logit(facula.tensor([0.0, 0.5, 1.0])).tolist() == [-INF, 0, INF]
    assert facula.logit(facula.tensor([-0.1, 1.1, NAN])).isnan().all()
    assert facula.logit(facula.tensor([0, 1])).tolist() == [-INF, INF]


def test_eps_bounds_the_argument_of_logit_and_stops_its_gradient():
    x = facula.tensor([0.0, 0.1, 0.5, 1.0], dtype=facula.float64, requires_grad=True)
    y = x.logit(0.25)
    assert_close(y, np.log([1 / 3, 1 / 3, 1, 3]))
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 4, 0]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_polygamma_agrees_with_its_series(n):
    check_op(
        lambda x: facula.polygamma(n, x),
        lambda a: polygamma(n, a),
        [(3, 4)],
        dtypes=SOME,
        low=0.6,
        high=4,
        elementwise=True,
    )


def test_polygamma_has_its_known_values():
    x = facula.tensor([1.0, 0.5], dtype=facula.float64)
    assert_close(x.polygamma(1), np.array([math.pi**2 / 6, math.pi**2 / 2]))
    assert_close(x[:1].polygamma(3), np.array([math.pi**4 / 15]))
    assert facula.equal(x.polygamma(0), x.digamma())
    assert facula.polygamma(1, facula.tensor([2])).dtype == facula.float32
    with pytest.raises(RuntimeError, match="polygamma"):
        facula.polygamma(-1, x)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_mvlgamma_agrees_with_its_sum(p):
    check_op(
        lambda x: facula.mvlgamma(x, p),
        lambda a: mvlgamma(a, p),
        [(3, 4)],
        dtypes=SOME,
        low=2.5,
        high=5,
        elementwise=True,
    )


def test_mvlgamma_of_one_dimension_is_lgamma():
    x = facula.tensor([0.5, 3.0, 7.5], dtype=facula.float64)
    assert facula.allclose(facula.mvlgamma(x, 1), x.lgamma())
    with pytest.raises(RuntimeError, match="mvlgamma"):
        facula.mvlgamma(x, 0)


@pytest.mark.promise("T5")
@pytest.mark.parametrize(
    "name, more", [("logit", ()), ("logit", (0.3,)), ("polygamma", (2,)), ("mvlgamma", (1,))]
)
@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16, facula.float32, facula.float64])
def test_special_functions_in_place_write_the_same(name, more, dtype):
    x = facula.tensor([[0.25, 0.5], [0.75, 0.625]], dtype=dtype).t()
    expected = getattr(x, name)(*more)
    for place in (facula, facula.Tensor):
        if hasattr(place, name + "_"):
            y = x.t().clone().t()
            assert getattr(place, name + "_")(y, *more) is y
            assert y.dtype == dtype and facula.equal(y, expected)
    with pytest.raises(RuntimeError, match=f"{name}_: the result is"):
        getattr(facula.ones(2, dtype=facula.int64), name + "_")(*more)


def test_zeta_outside_of_where_it_converges():
    s = facula.tensor([1.0, 0.5, -2.0, float("nan"), 2.0], dtype=facula.float64)
    x = facula.tensor([1.0, -0.5, 3.0, 1.0, 1.0], dtype=facula.float64)
    found = facula.special.zeta(s, x).tolist()
    assert found[0] == math.inf and all(map(math.isnan, found[1:4]))
    assert found[4] == pytest.approx(math.pi**2 / 6, rel=1e-15)
    truths = facula.ones(70, dtype=facula.bool)
    assert facula.special.zeta(truths, truths).isinf().all()


def test_incomplete_gamma_of_float32_is_that_of_float64_rounded():
    a, x = facula.meshgrid(facula.logspace(-4, 3, 40), facula.logspace(-4, 3, 40), indexing="ij")
    for f in (facula.igamma, facula.igammac):
        exact = f(a.double(), x.double()).numpy()
        np.testing.assert_allclose(f(a, x).numpy(), exact, rtol=6.1e-8, atol=1e-37)

"""facula.special: values by identities and known numbers; the rows' own tests do the rest."""

import math

import numpy as np
import pytest

import facula
from facula import special

X = facula.linspace(0.05, 12, 241, dtype=facula.float64)

ALIASES = {
    "digamma": "digamma",
    "psi": "digamma",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expit": "sigmoid",
    "expm1": "expm1",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "gammaln": "lgamma",
    "i0": "i0",
    "log1p": "log1p",
    "log_softmax": "log_softmax",
    "logit": "logit",
    "logsumexp": "logsumexp",
    "modified_bessel_i0": "i0",
    "multigammaln": "mvlgamma",
    "polygamma": "polygamma",
    "round": "round",
    "sinc": "sinc",
    "softmax": "softmax",
    "xlogy": "xlogy",
}


def tensor(*values):
    return facula.tensor(values, dtype=facula.float64)


def check(actual, expected, rtol=1e-13, atol=0.0):
    expected = expected.numpy() if isinstance(expected, facula.Tensor) else expected
    np.testing.assert_allclose(actual.numpy(), expected, rtol, atol)


@pytest.mark.parametrize("name", ALIASES)
def test_what_facula_has_too_is_the_same_object(name):
    assert getattr(special, name) is getattr(facula, ALIASES[name])


def test_i1_has_two_names():
    assert special.modified_bessel_i1 is special.i1


KNOWN = {
    "airy_ai": [
        (-10.0, 0.040241238486441955),
        (-7.5, 0.3217757163806479),
        (-2.0, 0.22740742820168564),
    ],
    "bessel_j0": [(1.0, 0.7651976865579665), (10.0, -0.24593576445134832)],
    "bessel_j1": [(1.0, 0.44005058574493355), (10.0, 0.04347274616886141)],
    "bessel_y0": [(1.0, 0.08825696421567697), (10.0, 0.05567116728359961)],
    "bessel_y1": [(1.0, -0.7812128213002888), (10.0, 0.24901542420695388)],
    "erfcx": [(-2.0, 108.94090438997797), (1.0, 0.427583576155807), (50.0, 0.011281536265323772)],
    "i0e": [(1.0, 0.46575960759364043), (-20.0, 0.089780311884826)],
    "i1": [(1.0, 0.5651591039924851), (-30.0, -768532038938.9569)],
    "i1e": [(1.0, 0.2079104153497085), (40.0, 0.06248222907444206)],
    "log_ndtr": [(-40.0, -804.6084420137539), (0.0, -math.log(2)), (9.0, -1.1285884059538324e-19)],
    "modified_bessel_k0": [(0.1, 2.4270690247020164), (2.0, 0.1138938727495334)],
    "modified_bessel_k1": [(0.1, 9.853844780870606), (2.0, 0.13986588181652246)],
    "ndtri": [(0.975, 1.959963984540054), (1e-10, -6.361340902404056), (0.5, 0.0)],
    "scaled_modified_bessel_k0": [(1.0, 1.1444630798068947), (100.0, 0.1251756216591266)],
    "scaled_modified_bessel_k1": [(1.0, 1.636153486263258), (100.0, 0.12579995047957854)],
    "spherical_bessel_j0": [(0.0, 1.0), (1.0, math.sin(1.0))],
}


@pytest.mark.parametrize("name", KNOWN)
def test_values_are_those_of_tables(name):
    places, values = zip(*KNOWN[name], strict=True)
    check(getattr(special, name)(tensor(*places)), values, rtol=1e-9)
    single = getattr(special, name)(facula.tensor(places))
    np.testing.assert_allclose(single.numpy(), values, rtol=1e-5, atol=1e-30)


def test_bessel_functions_of_both_kinds_fit_together():
    # Their Wronskians, over the whole range and across the seams of the formulas.
    j0, j1, y0, y1 = (getattr(special, f"bessel_{n}")(X) for n in ("j0", "j1", "y0", "y1"))
    check((j1 * y0 - j0 * y1) * X * math.pi / 2, np.ones(len(X)))
    x = facula.cat([X, facula.linspace(12, 300, 100, dtype=facula.float64)])
    i0, i1 = special.i0e(x), special.i1e(x)
    k0, k1 = special.scaled_modified_bessel_k0(x), special.scaled_modified_bessel_k1(x)
    check((i0 * k1 + i1 * k0) * x, np.ones(len(x)))


def test_scaled_functions_are_the_others_times_an_exponential():
    check(special.i0e(X), special.i0(X) * (-X).exp())
    check(special.i1e(X), special.i1(X) * (-X).exp())
    for order in "01":
        k = getattr(special, f"modified_bessel_k{order}")(X)
        check(getattr(special, f"scaled_modified_bessel_k{order}")(X), k * X.exp())
    check(special.erfcx(X), special.erfc(X) * X.square().exp(), rtol=1e-12)


def test_airy_s_function_solves_its_equation():
    x = facula.linspace(-12, 8, 2001, dtype=facula.float64)
    h = 0.01
    y = special.airy_ai(x)
    # Numerov's difference, exact to the sixth power of the step.
    left, here, right = y[:-2], y[1:-1], y[2:]
    f = x * y
    defect = left - 2 * here + right - h * h / 12 * (f[:-2] + 10 * f[1:-1] + f[2:])
    assert defect.abs().max().item() < 2e-10


def test_normal_distribution_functions_are_inverses():
    p = facula.tensor([1e-300, 1e-20, 1e-5, 0.02, 0.1, 0.5, 0.9, 0.999], dtype=facula.float64)
    x = special.ndtri(p)
    check(special.log_ndtr(x), p.log(), rtol=1e-13)
    check(special.ndtr(x), p, rtol=1e-11)
    assert special.ndtri(tensor(0.0, 1.0, -0.1, 1.1)).tolist()[:2] == [-math.inf, math.inf]
    assert special.ndtri(tensor(-0.1, 1.1)).isnan().all()
    out = facula.empty(0)
    assert special.ndtr(facula.zeros(2), out=out) is out and out.tolist() == [0.5, 0.5]


def test_entr_and_xlog1py_have_their_limits():
    assert special.entr(tensor(0.0, 1.0, -1.0)).tolist() == [0, 0, -math.inf]
    check(special.entr(X), -X.numpy() * np.log(X.numpy()))
    zero = special.xlog1py(0, tensor(-1.0, math.inf))
    assert zero.tolist() == [0, 0]
    assert special.xlog1py(tensor(0.0), tensor(math.nan)).isnan().all()
    check(special.xlog1py(X, 1e-9), X.numpy() * 1e-9, rtol=1e-8)


def test_zeta_sums_powers():
    assert math.isclose(special.zeta(tensor(2.0), 1).item(), math.pi**2 / 6)
    check(special.zeta(3.0, X + 1), special.zeta(3.0, X).numpy() - X.numpy() ** -3.0, rtol=1e-11)
    # Numbers below zero too, where the exponent is whole.
    expected = special.zeta(2.0, tensor(0.75)).item() + 0.25**-2 + 1.25**-2
    check(special.zeta(2.0, tensor(-1.25)), [expected], rtol=1e-12)
    edges = special.zeta(tensor(1.0, 0.5, 2.0, 2.5), tensor(3.0, 3.0, -1.0, -1.5)).tolist()
    assert edges[0] == edges[2] == math.inf and math.isnan(edges[1]) and math.isnan(edges[3])


def test_huge_orders_return_at_once():
    x = tensor(0.5, 2.0, -1e12 - 0.25)
    assert not facula.polygamma(2, x).isnan().any()
    assert facula.polygamma(10**12, x).shape == (3,)
    assert special.zeta(1e15, tensor(1.0, 2.0)).tolist() == [1, 0]
    with pytest.raises(RuntimeError, match=r"not enough memory.*can't allocate memory"):
        facula.mvlgamma(facula.ones(3), 10**14)


def test_mvlgamma_is_a_sum_of_lgamma():
    x = X + 3
    terms = sum(facula.lgamma(x - j / 2) for j in range(4))
    check(special.multigammaln(x, 4), terms + 3 * math.log(math.pi), rtol=1e-13)


POLYNOMIALS = {
    "chebyshev_polynomial_t": lambda x: 4 * x**3 - 3 * x,
    "chebyshev_polynomial_u": lambda x: 8 * x**3 - 4 * x,
    "chebyshev_polynomial_v": lambda x: 8 * x**3 - 4 * x**2 - 4 * x + 1,
    "chebyshev_polynomial_w": lambda x: 8 * x**3 + 4 * x**2 - 4 * x - 1,
    "hermite_polynomial_h": lambda x: 8 * x**3 - 12 * x,
    "hermite_polynomial_he": lambda x: x**3 - 3 * x,
    "laguerre_polynomial_l": lambda x: (-(x**3) + 9 * x**2 - 18 * x + 6) / 6,
    "legendre_polynomial_p": lambda x: (5 * x**3 - 3 * x) / 2,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_degree_three_are_written_out(name):
    x = facula.linspace(-2, 2, 41, dtype=facula.float64)
    expected = POLYNOMIALS[name](x.numpy())
    check(getattr(special, name)(x, 3), expected, atol=1e-13)
    check(getattr(special, name)(x, n=facula.tensor(3.9)), expected, atol=1e-13)
    if name.startswith("chebyshev"):
        check(getattr(special, "shifted_" + name)((x + 1) / 2, 3), expected, atol=1e-13)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_degrees_below_zero_give_zero_and_the_degree_zero_one(name):
    function = getattr(special, name)
    degrees = tensor(-3.0, -1.0, -0.5, 0.0, 0.5)
    assert function(0.3, degrees).tolist() == [0, 0, 1, 1, 1]
    assert function(facula.tensor([1, 2]), 0).dtype == facula.float32
    with pytest.raises(TypeError, match="at least one of the operands to be a tensor"):
        function(1.0, 2)


@pytest.mark.parametrize(
    "name, x, rise",
    [
        ("legendre_polynomial_p", (-0.9, -1e-7, 1e-6, 0.3), lambda x, n: (2 * n + 1) * x),
        ("laguerre_polynomial_l", (20.0, 0.3, 2.0, 8.0), lambda x, n: 2 * n + 1 - x),
    ],
)
def test_polynomials_of_degrees_that_nobody_counts_to_go_on_from_those_below(name, x, rise):
    function, x, n = getattr(special, name), tensor(*x), 2**22
    before, last, following = (function(x, n + d) for d in (-1, 0, 1))
    check(following, (rise(x, n) * last - n * before) / (n + 1), rtol=1e-6, atol=1e-7)
    assert function(x[1:], 1.8e19).abs().max() < 1


def test_laguerre_polynomials_of_high_degree_grow_below_zero_as_bessel_functions():
    x, n = tensor(-1e-3, -1e-7, -1e-13), 2**23
    expected = (x / 2).exp() * special.i0(2 * (-x * (n + 0.5)).sqrt())
    check(special.laguerre_polynomial_l(x, n), expected, rtol=1e-6)
    assert special.laguerre_polynomial_l(tensor(-1.0), n).item() == math.inf


@pytest.mark.parametrize("kind", "tuvw")
def test_chebyshev_polynomials_of_high_degree_follow_their_recurrence(kind):
    for name in (f"chebyshev_polynomial_{kind}", f"shifted_chebyshev_polynomial_{kind}"):
        x = facula.linspace(-1, 1, 21, dtype=facula.float64)
        argument = (x + 1) / 2 if name.startswith("shifted") else x
        p = [getattr(special, name)(argument, n) for n in (7, 8, 9, 10)]
        for i in (2, 3):
            check(p[i], (2 * x * p[i - 1] - p[i - 2]).numpy(), atol=1e-12)


def test_hermite_polynomials_end_at_a_degree():
    assert special.hermite_polynomial_h(facula.ones(1), 10**9).isnan().all()
    assert special.hermite_polynomial_he(facula.ones(1), 10**9).isnan().all()


@pytest.mark.parametrize("name", ["airy_ai", "bessel_j0", "modified_bessel_k0"])
def test_functions_without_a_derivative_are_constants_for_autograd(name):
    assert not getattr(special, name)(facula.ones(2, requires_grad=True)).requires_grad


def test_zeta_has_a_derivative_by_its_second_operand_only():
    s, x = tensor(2.0).requires_grad_(), tensor(1.5).requires_grad_()
    (slope,) = facula.autograd.grad(special.zeta(s.detach(), x), x)
    check(slope, (-2 * special.zeta(3.0, x)).detach())
    with pytest.raises(NotImplementedError, match="zeta"):
        facula.autograd.grad(special.zeta(s, 1.5), s)


def test_complex_numbers_are_refused():
    for name in ("entr", "erfcx", "bessel_j0"):
        with pytest.raises(NotImplementedError, match=f"special_{name}: not implemented"):
            getattr(special, name)(facula.ones(1) + 0j)


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16])
def test_functions_that_halves_are_too_short_for_refuse_them(dtype):
    x = facula.ones(2, dtype=dtype)
    for call in (special.bessel_j0, special.ndtri, special.erfcx, special.airy_ai):
        with pytest.raises(NotImplementedError, match=f"not implemented for {str(dtype)[6:]}"):
            call(x)
    with pytest.raises(NotImplementedError, match="hermite_polynomial_h: not implemented"):
        special.hermite_polynomial_h(x, 2)


# Functions that take their values from several formulas, and numbers on both sides of each seam.
SEAMS = {
    "airy_ai": (-30.0, -4.5, -3.9, -0.5, 0.5, 2.0, 2.2, 11.0),
    "bessel_j0": (0.0, 1.0, -7.9, 8.1, 3e6, -40.0, 8.0, 2.0),
    "bessel_j1": (0.0, 1.0, -7.9, 8.1, 3e6, -40.0, 8.0, 2.0),
    "bessel_y0": (0.0, 1.0, -7.9, 8.1, 3e6, 1e-9, 8.0, 2.0),
    "bessel_y1": (0.0, 1.0, -7.9, 8.1, 3e6, 1e-9, 8.0, 2.0),
    "i1": (0.0, 7.9, -8.1, 800.0, -1.0, 8.0, 40.0, 1e-9),
    "i1e": (0.0, 7.9, -8.1, 800.0, -1.0, 8.0, 40.0, 1e-9),
    "modified_bessel_k0": (0.0, -1.0, 1.9, 2.0, 2.1, 60.0, 800.0, 1e-9),
    "modified_bessel_k1": (0.0, -1.0, 1.9, 2.0, 2.1, 60.0, 800.0, 1e-9),
    "ndtri": (0.0, 1.0, 0.5, 1e-9, 0.99999, 0.02, 0.3, -1.0),
    "scaled_modified_bessel_k0": (0.0, -1.0, 1.9, 2.0, 2.1, 60.0, 800.0, 1e-9),
    "scaled_modified_bessel_k1": (0.0, -1.0, 1.9, 2.0, 2.1, 60.0, 800.0, 1e-9),
    "spherical_bessel_j0": (0.0, 1.0, -3.0, 1e7, math.inf, -math.inf, 1e-9, 2.0),
}


@pytest.mark.parametrize("dtype", [facula.float32, facula.float64])
@pytest.mark.parametrize("name", SEAMS)
def test_an_element_has_the_same_bits_beside_others_and_in_any_layout(name, dtype):
    function = getattr(special, name)
    x = facula.tensor([*SEAMS[name], math.nan], dtype=dtype).repeat(5)
    alone = [function(one).item() for one in x[:9]]
    expected = np.tile(np.array(alone), 5)
    np.testing.assert_array_equal(function(x).double().numpy(), expected)
    wide = facula.zeros(45, 2, dtype=dtype)
    wide[:, 0] = x
    np.testing.assert_array_equal(function(wide[:, 0]).double().numpy(), expected)
    assert function(x[:0]).shape == (0,)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_degrees_may_differ_from_element_to_element(name):
    function = getattr(special, name)
    x = tensor(*(0.3, -1.0, 1.0, 1.5, -0.7, 0.0, math.nan) * 3)
    n = tensor(*range(-2, 19))
    n[4], n[16] = 600, 2**23
    alone = [function(a, b).item() for a, b in zip(x, n, strict=True)]
    np.testing.assert_array_equal(function(x, n).numpy(), alone)


def test_orders_and_arguments_of_zeta_may_differ_from_element_to_element():
    s = tensor(2.0, 1.5, 3.0, 1e15, 1.0, 0.5, math.nan, 2.0, 4.0, math.inf, 3.0)
    x = tensor(1.0, 30.0, -2.5, 2.0, 1.0, 1.0, 1.0, 1e12, -1e12 - 0.5, 1.0, math.inf)
    alone = [special.zeta(a, b).item() for a, b in zip(s, x, strict=True)]
    np.testing.assert_array_equal(special.zeta(s, x).numpy(), alone)
    known = [math.pi**2 / 6, 0.36821662818700035, 0.0541020258208637, 0]
    check(special.zeta(s, x)[:4], known, rtol=1e-12)
    assert alone[4] == math.inf and math.isnan(alone[5]) and alone[-1] == 0


def test_trigamma_reflects_below_one_half():
    x = tensor(0.25, -0.25, -3.75, 1e-3, 9.5, 40.0, -1.0, 0.0, math.inf)
    y = facula.polygamma(1, x)
    assert y[6:].tolist() == [math.inf, math.inf, 0]
    # psi'(1 - x) + psi'(x) = (pi / sin(pi x))^2.
    x = facula.linspace(-4.93, 4.9, 198, dtype=facula.float64)
    both = facula.polygamma(1, x) + facula.polygamma(1, 1 - x)
    check(both, (math.pi / np.sin(math.pi * x.numpy())) ** 2, rtol=1e-11)


def test_j1_keeps_the_sign_of_zero():
    for dtype in (facula.float32, facula.float64):
        y = special.bessel_j1(facula.tensor([-0.0, 0.0], dtype=dtype))
        assert y.signbit().tolist() == [True, False]

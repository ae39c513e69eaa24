"""Distributions against PyTorch: the same parameters, values and seeds."""

import importlib
import pkgutil
import re
import warnings

import numpy as np
import pytest
import torch
import torch.distributions
from distribution_cases import BY_MATRIX, CASES, MATRIX_NAMES, NAMES, Maker, make

import facula

# PyTorch says so of every sample of Wishart's distribution.
pytestmark = pytest.mark.filterwarnings("ignore:Singular sample detected")

LIBS = (facula, torch)
ALL = [*NAMES, *MATRIX_NAMES]
TOLERANCE = {"float32": {"rtol": 3e-5, "atol": 3e-6}, "float64": {"rtol": 1e-7, "atol": 1e-9}}
# PyTorch differentiates gamma and beta numbers by approximations of about three digits.
APPROXIMATE = {"rtol": 5e-3, "atol": 1e-3}
BY_GAMMA = {
    *("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "Independent", "InverseGamma"),
    "StudentT",
}
# PyTorch's mode is the logarithm of a negative number.
WRONG_THERE = {("Kumaraswamy", "mode")}
# PyTorch compares the concentration with a number of float32, and then refuses float64.
FLOAT32_THERE = {"GeneralizedPareto"}
# PyTorch overwrites a mask that the backward of these samples needs.
NO_GRADIENT_THERE = {"Wishart"}
# Their diagonals are what is left of 1 - sum of squares.
CANCELLING = {"LKJCholesky": {"rtol": 1e-3, "atol": 1e-4}}


def seed(value):
    facula.manual_seed(value)
    torch.manual_seed(value)


def same_state():
    return facula.get_rng_state().numpy().tobytes() == torch.get_rng_state().numpy().tobytes()


def outcome(call):
    """The result, or the type of the exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:
        return type(error)


def assert_same(ours, theirs, what="", **tolerance):
    if isinstance(theirs, type):
        assert ours is theirs, (what, ours, theirs)
        return
    assert not isinstance(ours, type), (what, ours)
    assert tuple(ours.shape) == tuple(theirs.shape), (what, ours.shape, theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype), what
    # Numbers alone make distributions of the default dtype, whatever the dtype of the test.
    tolerance = tolerance or TOLERANCE.get(str(ours.dtype).rpartition(".")[2], {"rtol": 0})
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), err_msg=str(what), **tolerance
    )


def converted(lib, value):
    return lib.from_numpy(value.detach().numpy().copy())


def gradients(result, leaves):
    if isinstance(result, type) or not result.requires_grad or not result.is_floating_point():
        return [None] * len(leaves)
    weights = np.linspace(0.5, 1.5, result.numel()).reshape(tuple(result.shape))
    lib = torch if isinstance(result, torch.Tensor) else facula
    total = (result * lib.tensor(weights, dtype=result.dtype)).sum()
    return lib.autograd.grad(total, leaves, allow_unused=True)


def assert_same_gradients(ours, theirs, what, **tolerance):
    for i, (mine, other) in enumerate(zip(gradients(*ours), gradients(*theirs), strict=True)):
        if mine is None or other is None:  # an unused parameter has no gradient, or one of zeros
            assert mine is None or not mine.any(), what
            assert other is None or not other.any(), what
        else:
            assert_same(mine, other, (what, "gradient", i), **tolerance)


def test_the_package_has_pytorchs_names():
    assert sorted(facula.distributions.__all__) == sorted(torch.distributions.__all__)


@pytest.mark.parametrize(
    "module", [m.name for m in pkgutil.iter_modules(torch.distributions.__path__)]
)
def test_modules_have_pytorchs_names(module):
    ours = importlib.import_module(f"facula.distributions.{module}")
    theirs = importlib.import_module(f"torch.distributions.{module}")
    assert sorted(ours.__all__) == sorted(theirs.__all__)


def test_every_class_has_a_case():
    classes = {
        name
        for name in torch.distributions.__all__
        if isinstance(getattr(torch.distributions, name), type)
        and issubclass(getattr(torch.distributions, name), torch.distributions.Distribution)
    }
    assert set(CASES) | set(BY_MATRIX) == classes - {"Distribution", "ExponentialFamily"}


def describe_support(distribution):
    """Without the nodes of tensors that are bounds, which need not be the same."""
    return re.sub(r",\s*grad_fn=<\w+>", "", repr(distribution.support))


@pytest.mark.parametrize("name, i", ALL)
def test_shapes_and_descriptions(name, i):
    ours, theirs = (make(lib, name, i)[0] for lib in LIBS)
    for attribute in ("batch_shape", "event_shape"):
        assert tuple(getattr(ours, attribute)) == tuple(getattr(theirs, attribute))
    for attribute in ("has_rsample", "has_enumerate_support"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert repr(ours) == repr(theirs)
    assert describe_support(ours) == describe_support(theirs)
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.support.is_discrete == theirs.support.is_discrete
    assert list(ours.arg_constraints) == list(theirs.arg_constraints)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, i", ALL)
def test_moments_and_entropy(name, i, dtype):
    for what in ("mean", "mode", "variance", "stddev", "entropy", "perplexity"):
        if (name, what) in WRONG_THERE:
            continue
        results = []
        for lib in LIBS:
            distribution, leaves = make(lib, name, i, dtype)

            def call(distribution=distribution, what=what):
                value = getattr(distribution, what)
                return value() if callable(value) else value

            results.append((outcome(call), leaves))
        assert_same(results[0][0], results[1][0], what)
        assert_same_gradients(*results, what)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, i", ALL)
def test_samples_of_a_seed(name, i, dtype):
    for value in range(4):
        for shape in ((), (5,), (2, 3)):
            ours, theirs = (make(lib, name, i, dtype)[0] for lib in LIBS)
            seed(value)
            mine, other = ours.sample(shape), theirs.sample(shape)
            assert not mine.requires_grad
            assert_same(mine, other, (value, shape), **CANCELLING.get(name, {}))
            assert same_state()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, i", ALL)
def test_differentiable_samples_of_a_seed(name, i, dtype):
    tolerance = APPROXIMATE if name in BY_GAMMA else {}
    results = []
    for lib in LIBS:
        seed(3)
        distribution, leaves = make(lib, name, i, dtype)
        results.append((outcome(lambda d=distribution: d.rsample((4,))), leaves))
    assert_same(results[0][0], results[1][0])
    if name not in NO_GRADIENT_THERE:
        assert_same_gradients(*results, "rsample", **tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, i", ALL)
def test_log_prob_and_cdf(name, i, dtype):
    if name in FLOAT32_THERE:
        dtype = "float32"
    torch.manual_seed(7)
    value = make(torch, name, i, dtype)[0].sample((6,))
    for what in ("log_prob", "cdf"):
        results = []
        for lib in LIBS:
            distribution, leaves = make(lib, name, i, dtype)
            point = converted(lib, value)
            if point.is_floating_point() and not distribution.support.is_discrete:
                point.requires_grad_()
                leaves = [*leaves, point]
            results.append(
                (outcome(lambda d=distribution, w=what, p=point: getattr(d, w)(p)), leaves)
            )
        if (name, what) == ("Gamma", "cdf") or (name, what) == ("Chi2", "cdf"):
            results = [(result, leaves[-1:]) for result, leaves in results]
        assert_same(results[0][0], results[1][0], what)
        if not (name in ("InverseGamma",) and what == "cdf"):
            assert_same_gradients(*results, what)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, i", ALL)
def test_icdf(name, i, dtype):
    results = []
    for lib in LIBS:
        distribution, leaves = make(lib, name, i, dtype)
        levels = lib.tensor([0.01, 0.3, 0.5, 0.97], dtype=getattr(lib, dtype))
        levels = levels.reshape((4, *(1,) * len(distribution.batch_shape)))
        results.append((outcome(lambda d=distribution, p=levels: d.icdf(p)), leaves))
    assert_same(results[0][0], results[1][0])
    assert_same_gradients(*results, "icdf")


@pytest.mark.parametrize("name, i", ALL)
def test_enumerate_support(name, i):
    for expand in (True, False):
        results = [
            outcome(lambda lib=lib, e=expand: make(lib, name, i)[0].enumerate_support(expand=e))
            for lib in LIBS
        ]
        assert_same(*results, rtol=0)


@pytest.mark.parametrize("name, i", ALL)
def test_expanded_distributions(name, i):
    results = []
    for lib in LIBS:
        seed(11)
        distribution = make(lib, name, i)[0]
        new = distribution.expand((3, *distribution.batch_shape))
        assert type(new) is type(distribution)
        results.append((tuple(new.batch_shape), tuple(new.event_shape), new, new.sample((2,))))
    assert results[0][:2] == results[1][:2]
    assert_same(results[0][3], results[1][3])
    value = results[1][3]
    assert_same(
        *(
            new.log_prob(converted(lib, value))
            for lib, (*_, new, _) in zip(LIBS, results, strict=True)
        ),
    )


BAD_CALLS = {
    "a negative scale": lambda D, x: D.Normal(0.0, -1.0),
    "a NaN": lambda D, x: D.Normal(float("nan"), 1.0),
    "bounds in the wrong order": lambda D, x: D.Uniform(1.0, 0.0),
    "a probability above 1": lambda D, x: D.Bernoulli(x.plain([0.5, 1.5])),
    "probabilities below 0": lambda D, x: D.Categorical(x.plain([-0.5, 1.5])),
    "neither probs nor logits": lambda D, x: D.Bernoulli(),
    "both probs and logits": lambda D, x: D.Categorical(x.plain([0.5]), x.plain([0.5])),
    "probs of no dimension": lambda D, x: D.Categorical(x.plain(0.5)),
    "logits of no dimension": lambda D, x: D.Categorical(logits=x.plain(0.5)),
    "concentration of no dimension": lambda D, x: D.Dirichlet(x.plain(0.5)),
    "a certain failure": lambda D, x: D.Geometric(0.0),
    "a string": lambda D, x: D.Normal("0", 1.0),
    "shapes that do not fit": lambda D, x: D.Normal(x.plain([0.0, 1.0]), x.plain([1.0, 1.0, 1.0])),
    "a fraction of a count": lambda D, x: D.Binomial(x.plain([1.5]), x.plain([0.5])),
    "several counts": lambda D, x: D.Multinomial(x.plain([3.0, 4.0]), x.plain([0.5, 0.5])),
    "a matrix of one row": lambda D, x: D.LKJCholesky(1),
    "more dimensions than there are": lambda D, x: D.Independent(D.Normal(0.0, 1.0), 1),
    "no transform": lambda D, x: D.TransformedDistribution(D.Normal(0.0, 1.0), 3),
    "a tuple of transforms": lambda D, x: D.TransformedDistribution(D.Normal(0.0, 1.0), ()),
    "an event too small": lambda D, x: D.TransformedDistribution(
        D.Normal(0.0, 1.0), D.StickBreakingTransform()
    ),
    "no categorical": lambda D, x: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)),
    "no component": lambda D, x: D.MixtureSameFamily(D.Categorical(x.plain([1.0])), 1),
    "too few components": lambda D, x: D.MixtureSameFamily(
        D.Categorical(x.plain([1.0, 1.0])), D.Normal(x.plain([0.0, 1.0, 2.0]), 1.0)
    ),
    "batches that do not fit": lambda D, x: D.MixtureSameFamily(
        D.Categorical(x.plain([[1.0, 1.0]] * 3)), D.Normal(x.plain([[0.0, 1.0]] * 2), 1.0)
    ),
    "neither True nor False": lambda D, x: D.Distribution.set_default_validate_args(None),
    "a number as value": lambda D, x: D.Normal(0.0, 1.0).log_prob(1.0),
    "a value of another shape": lambda D, x: D.Normal(x.plain([0.0, 1.0]), 1.0).log_prob(
        x.plain([0.0, 1.0, 2.0])
    ),
    "an event of another shape": lambda D, x: D.Dirichlet(x.plain([1.0, 1.0])).log_prob(
        x.plain([1.0])
    ),
    "a value outside the support": lambda D, x: D.Uniform(0.0, 1.0).log_prob(x.plain([2.0])),
    "a category that is not there": lambda D, x: D.Categorical(x.plain([0.5, 0.5])).log_prob(
        x.plain([2.0])
    ),
    "a negative count": lambda D, x: D.Poisson(1.0).log_prob(x.plain([-1.0])),
    "no simplex": lambda D, x: D.Dirichlet(x.plain([1.0, 1.0])).log_prob(x.plain([0.7, 0.7])),
    "a cdf outside": lambda D, x: D.Exponential(1.0).cdf(x.plain([-1.0])),
    "no rsample": lambda D, x: D.Bernoulli(0.5).rsample(),
    "no icdf": lambda D, x: D.Gamma(1.0, 1.0).icdf(x.plain([0.5])),
    "counts that differ": lambda D, x: D.Binomial(x.plain([1.0, 2.0]), 0.5).enumerate_support(),
    "a support of products": lambda D, x: D.Independent(
        D.Bernoulli(x.plain([0.5, 0.5])), 1
    ).enumerate_support(),
    "an expansion that does not fit": lambda D, x: D.Normal(x.plain([0.0, 1.0]), 1.0).expand((3,)),
    "a divergence that is not there": lambda D, x: D.kl_divergence(
        D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0)
    ),
    "transforms that differ": lambda D, x: D.kl_divergence(
        D.LogNormal(0.0, 1.0), D.TransformedDistribution(D.Normal(0.0, 1.0), D.TanhTransform())
    ),
    "no constraint": lambda D, x: D.biject_to.register(3, lambda constraint: None),
    "no bijection": lambda D, x: D.biject_to(D.constraints.positive_definite),
    "a cache too large": lambda D, x: D.ExpTransform(cache_size=2),
    "shapes of other sizes": lambda D, x: D.ReshapeTransform((2,), (3,)),
    "no lower triangle": lambda D, x: D.CorrCholeskyTransform().forward_shape((2,)),
    "a dependent constraint": lambda D, x: D.constraints.dependent.check(x.plain([0.0])),
    "too few dimensions": lambda D, x: D.constraints.real_vector.check(x.plain(0.0)),
    "no sign": lambda D, x: D.StickBreakingTransform().sign,
    "two event dims": lambda D, x: D.CorrCholeskyTransform().event_dim,
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_arguments_raise_pytorchs_exceptions(name):
    errors = [
        outcome(lambda lib=lib: BAD_CALLS[name](lib.distributions, Maker(lib))) for lib in LIBS
    ]
    assert isinstance(errors[1], type) and errors[0] is errors[1], errors


@pytest.mark.parametrize("name", ["a negative scale", "bounds in the wrong order", "no simplex"])
def test_messages_are_pytorchs(name):
    messages = []
    for lib in LIBS:
        with pytest.raises(ValueError) as error:
            BAD_CALLS[name](lib.distributions, Maker(lib))
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_without_validation_anything_goes():
    for lib in LIBS:
        normal = lib.distributions.Normal(0.0, -1.0, validate_args=False)
        assert normal.log_prob(lib.tensor(0.0)).isnan()


# ---- transforms: a constructor, and values of the domain


def _transforms(D, x):
    return {
        "exp": (D.ExpTransform(), [-1.0, 0.5]),
        "power": (D.PowerTransform(x([2.0, -0.5])), [0.5, 3.0]),
        "sigmoid": (D.SigmoidTransform(), [-100.0, 0.5, 100.0]),
        "softplus": (D.SoftplusTransform(), [-5.0, 0.5, 30.0]),
        "tanh": (D.TanhTransform(), [-1.0, 0.5]),
        "abs": (D.AbsTransform(), [-1.0, 0.5]),
        "affine": (D.AffineTransform(1.0, -2.0), [-1.0, 0.5]),
        "affine of tensors": (D.AffineTransform(x([1.0, 2.0]), x([-2.0, 3.0])), [-1.0, 0.5]),
        "affine of events": (
            D.AffineTransform(x([1.0, 0.0]), x([2.0, -3.0]), event_dim=1),
            [-1.0, 0.5],
        ),
        "affine of matrices": (
            D.AffineTransform(0.0, x([[1.0, 2.0], [3.0, 0.5]]), event_dim=2),
            [[-1.0, 0.5], [2.0, 1.0]],
        ),
        "softmax": (D.SoftmaxTransform(), [[-1.0, 0.5, 0.0]]),
        "stick breaking": (D.StickBreakingTransform(), [[-1.0, 0.5, 0.0], [0.0, 3.0, -9.0]]),
        "corr cholesky": (D.CorrCholeskyTransform(), [[-1.0, 0.5, 0.0], [0.2, 1.0, -2.0]]),
        "lower cholesky": (D.LowerCholeskyTransform(), [[-1.0, 0.5], [0.2, 1.0]]),
        "reshape": (D.ReshapeTransform((2, 2), (4,)), [[[-1.0, 0.5], [0.2, 1.0]]]),
        "independent": (D.IndependentTransform(D.ExpTransform(), 1), [[-1.0, 0.5], [0.2, 1.0]]),
        "compose": (
            D.ComposeTransform([D.AffineTransform(0.5, x(2.0)), D.SigmoidTransform()]),
            [-1.0, 0.5],
        ),
        "compose of event dims": (
            D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()]),
            [[-1.0, 0.5]],
        ),
        "identity": (D.identity_transform, [-1.0, 0.5]),
        "cat": (
            D.CatTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)], dim=0, lengths=[1, 2]),
            [-1.0, 0.5, 2.0],
        ),
        "cat of events": (
            D.CatTransform([D.IndependentTransform(D.ExpTransform(), 1), D.TanhTransform()], -2),
            [[-1.0, 0.5, 2.0], [0.0, 1.0, 2.0]],
        ),
        "stack": (
            D.StackTransform([D.ExpTransform(), D.TanhTransform()], dim=1),
            [[-1.0, 0.5], [2.0, 0.1]],
        ),
        "cdf": (D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), [-1.0, 0.5]),
        "inverse": (D.ExpTransform().inv, [1.0, 0.5]),
        "inverse of a composition": (
            D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.ExpTransform()]).inv,
            [1.0, 0.5],
        ),
    }


TRANSFORMS = list(_transforms(facula.distributions, Maker(facula)))


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("cache_size", [0, 1])
def test_transforms(name, cache_size):
    calls = {
        "value": lambda t, x: t(x),
        "inverse": lambda t, x: t.inv(t(x)),
        "log det": lambda t, x: t.log_abs_det_jacobian(x, t(x)),
        "log det of the inverse": lambda t, x: t.inv.log_abs_det_jacobian(t(x), x),
        "domain": lambda t, x: t.domain.check(x),
        "codomain": lambda t, x: t.codomain.check(t(x)),
    }
    for what, call in calls.items():
        results = []
        for lib in LIBS:
            maker = Maker(lib)
            transform, values = _transforms(lib.distributions, maker)[name]
            transform = transform.with_cache(cache_size)
            point = maker(values)
            results.append((outcome(lambda c=call, t=transform, p=point: c(t, p)), maker.leaves))
        assert_same(results[0][0], results[1][0], what)
        assert_same_gradients(*results, what)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_properties_of_transforms(name):
    def describe(lib):
        transform, values = _transforms(lib.distributions, Maker(lib))[name]
        shape = Maker(lib).plain(values).shape
        sign = outcome(lambda: transform.sign)
        return {
            "repr": repr(transform),
            "inverse": repr(transform.inv),
            "bijective": transform.bijective,
            "sign": sign.tolist() if hasattr(sign, "tolist") else sign,
            "event dim": outcome(lambda: transform.event_dim),
            "domain": (repr(transform.domain), transform.domain.event_dim),
            "codomain": (repr(transform.codomain), transform.codomain.event_dim),
            "equal": transform == _transforms(lib.distributions, Maker(lib))[name][0],
            "self": transform == transform.inv.inv,
            "forward": outcome(lambda: tuple(transform.forward_shape(shape))),
            "inverse shape": outcome(
                lambda: tuple(transform.inverse_shape(transform.forward_shape(shape)))
            ),
        }

    ours, theirs = (describe(lib) for lib in LIBS)
    for key in theirs:
        mine, other = (str(d[key]).replace("facula.distributions", "") for d in (ours, theirs))
        mine = mine.split("object at")[0]
        assert mine == other.replace("torch.distributions", "").split("object at")[0], key


def test_caches_return_the_same_tensors():
    for lib in LIBS:
        D = lib.distributions
        for transform in (
            D.ExpTransform(cache_size=1),
            D.AffineTransform(0.0, 2.0, cache_size=1),
            D.ComposeTransform([D.ExpTransform(), D.TanhTransform()], cache_size=1),
            D.ExpTransform(cache_size=1).inv,
        ):
            x = lib.tensor([0.3, 0.5])
            y = transform(x)
            assert transform(x) is y
            assert transform.inv(y) is x
            assert transform.inv is transform.inv
        plain = D.ExpTransform()
        assert plain(x) is not plain(x)


# ---- constraints and their transforms


def _constraints(C, x):
    return {
        "boolean": (C.boolean, [0.0, 1.0, 0.5]),
        "one hot": (C.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
        "positive integer": (C.positive_integer, [0.0, 1.0, 1.5]),
        "nonnegative integer": (C.nonnegative_integer, [-1.0, 0.0, 0.5]),
        "integer interval": (C.integer_interval(1, 3), [0.0, 1.0, 3.0, 2.5, 4.0]),
        "real": (C.real, [0.0, float("nan"), float("inf")]),
        "real vector": (C.real_vector, [[0.0, float("nan")], [1.0, 2.0]]),
        "positive": (C.positive, [-1.0, 0.0, 1.0]),
        "nonnegative": (C.nonnegative, [-1.0, 0.0, 1.0]),
        "greater than": (C.greater_than(x([1.0, 2.0])), [1.5, 1.5]),
        "greater than eq": (C.greater_than_eq(1.0), [0.5, 1.0]),
        "less than": (C.less_than(1.0), [0.5, 1.0]),
        "unit interval": (C.unit_interval, [-0.5, 0.0, 0.5, 1.0, 1.5]),
        "interval": (C.interval(-1.0, 2.0), [-2.0, -1.0, 2.0, 3.0]),
        "half open": (C.half_open_interval(-1.0, 2.0), [-2.0, -1.0, 2.0]),
        "simplex": (C.simplex, [[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]]),
        "multinomial": (C.multinomial(3), [[1.0, 2.0], [3.0, 1.0], [-1.0, 1.0]]),
        "lower triangular": (C.lower_triangular, [[[1.0, 0.0], [2.0, -3.0]], [[1.0, 1.0], [0, 1]]]),
        "lower cholesky": (C.lower_cholesky, [[[1.0, 0.0], [2.0, -3.0]], [[1.0, 0.0], [2.0, 1]]]),
        "corr cholesky": (C.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [2.0, 1.0]]]),
        "square": (C.square, [[[1.0, 0.0], [2.0, -3.0]]]),
        "symmetric": (C.symmetric, [[[1.0, 2.0], [2.0, -3.0]], [[1.0, 1.0], [0.0, 1.0]]]),
        "independent": (C.independent(C.positive, 2), [[[1.0, 2.0], [2.0, 3.0]]]),
        "cat": (C.cat([C.positive, C.real], 0, [1, 2]), [-1.0, -1.0, 1.0]),
        "stack": (C.stack([C.positive, C.real], 0), [[-1.0, 1.0], [-1.0, 1.0]]),
        "mixture": (C.MixtureSameFamilyConstraint(C.positive), [1.0, -1.0]),
    }


CONSTRAINTS = list(_constraints(facula.distributions.constraints, Maker(facula).plain))


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints(name):
    ours, theirs = (
        _constraints(lib.distributions.constraints, Maker(lib).plain)[name] for lib in LIBS
    )
    assert repr(ours[0]) == repr(theirs[0]) or name in ("cat", "stack")
    for attribute in ("event_dim", "is_discrete"):
        assert getattr(ours[0], attribute) == getattr(theirs[0], attribute)
    values = [Maker(lib).plain(ours[1]) for lib in LIBS]
    assert_same(ours[0].check(values[0]), theirs[0].check(values[1]), name)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_transforms_into_constraints(name, registry):
    results = []
    for lib in LIBS:
        constraint, _ = _constraints(lib.distributions.constraints, Maker(lib).plain)[name]

        def call(lib=lib, constraint=constraint):
            transform = getattr(lib.distributions, registry)(constraint)
            event_dim = transform.domain.event_dim
            shape = {0: (3,), 1: (2, 3), 2: (2, 3, 3)}[event_dim]
            if name in ("greater than", "stack"):
                shape = (2, 2)
            x = (lib.arange(1, 1 + torch.Size(shape).numel()).reshape(shape) / 10.0).float()
            y = transform(x)
            assert constraint.check(y).all() or name == "simplex"
            return y

        results.append(outcome(call))
    assert_same(*results, name)


# ---- divergences


DIVERGENT = {
    "Bernoulli": ([0.7, 0.2],),
    "Beta": ([0.5, 2.0], [1.5, 3.0]),
    "Cauchy": ([0.3, 1.0], [1.0, 2.0]),
    "Categorical": ([[0.2, 0.8], [0.5, 0.5]],),
    "ContinuousBernoulli": ([0.7, 0.2],),
    "Dirichlet": ([[0.5, 2.0], [1.0, 3.0]],),
    "Exponential": ([0.7, 2.5],),
    "Gamma": ([0.5, 2.0], [1.5, 3.0]),
    "Geometric": ([0.7, 0.2],),
    "Gumbel": ([0.3, 1.0], [1.0, 2.0]),
    "HalfNormal": ([1.0, 2.0],),
    "Laplace": ([0.3, 1.0], [1.0, 2.0]),
    "LogNormal": ([0.3, 1.0], [1.0, 2.0]),
    "Normal": ([0.3, 1.0], [1.0, 2.0]),
    "OneHotCategorical": ([[0.2, 0.8], [0.5, 0.5]],),
    "Pareto": ([1.0, 0.5], [3.0, 2.5]),
    "Poisson": ([0.5, 3.0],),
    "Chi2": ([0.5, 3.0],),
    "Uniform": ([0.2, 0.4], [0.9, 1.8]),
    "LogisticNormal": ([0.3, 1.0], [1.0, 2.0]),
}
OTHERS = {
    "Bernoulli": ([0.6, 0.3],),
    "Binomial": (2, [0.6, 0.3]),
    "Beta": ([1.5, 0.7], [0.5, 2.0]),
    "Cauchy": ([0.0, 1.5], [2.0, 0.3]),
    "Categorical": ([[0.6, 0.4], [0.1, 0.9]],),
    "ContinuousBernoulli": ([0.4, 0.6],),
    "Dirichlet": ([[1.5, 1.0], [1.0, 0.7]],),
    "Exponential": ([1.7, 0.5],),
    "Gamma": ([1.5, 1.0], [0.5, 2.0]),
    "Geometric": ([0.3, 0.6],),
    "Gumbel": ([0.0, 2.0], [0.7, 3.0]),
    "HalfNormal": ([2.0, 0.5],),
    "Laplace": ([0.0, 2.0], [0.7, 3.0]),
    "LogNormal": ([0.0, 2.0], [0.7, 3.0]),
    "Normal": ([0.0, 2.0], [0.7, 3.0]),
    "OneHotCategorical": ([[0.6, 0.4], [0.1, 0.9]],),
    "Pareto": ([0.5, 0.7], [2.0, 1.5]),
    "Poisson": ([1.5, 2.0],),
    "Chi2": ([1.5, 2.0],),
    "Uniform": ([-0.2, 0.3], [1.5, 2.0]),
    "LogisticNormal": ([0.0, 2.0], [0.7, 3.0]),
}


def _distribution(lib, maker, name, parameters):
    args = [maker(p) if isinstance(p, list) else p for p in parameters]
    return getattr(lib.distributions, name)(*args)


@pytest.mark.parametrize("q", OTHERS)
@pytest.mark.parametrize("p", DIVERGENT)
def test_divergences_of_pairs(p, q):
    results = []
    for lib in LIBS:
        maker = Maker(lib, "float64")
        first = _distribution(lib, maker, p, DIVERGENT[p])
        second = _distribution(lib, maker, q, OTHERS[q])
        results.append(
            (
                outcome(lambda a=first, b=second, lib=lib: lib.distributions.kl_divergence(a, b)),
                maker.leaves,
            )
        )
    assert_same(results[0][0], results[1][0])
    if not isinstance(results[0][0], type) and results[0][0].isfinite().all():
        assert_same_gradients(*results, "kl")


def test_the_same_pairs_are_registered():
    ours, theirs = (
        {(p.__name__, q.__name__) for p, q in lib.distributions.kl._KL_REGISTRY} for lib in LIBS
    )
    assert ours >= theirs
    assert {pair for pair in ours - theirs if "Point" not in pair} == set()


def test_divergence_of_independent_and_binomial():
    for lib in LIBS:
        D = lib.distributions
        x = Maker(lib).plain
        normal = [D.Independent(D.Normal(x([m, 1.0]), 1.0), 1) for m in (0.0, 2.0)]
        assert D.kl_divergence(*normal).item() == 2.0
        same = D.kl_divergence(D.Binomial(3, x([0.2, 0.5])), D.Binomial(3, x([0.5, 0.5])))
        more = D.kl_divergence(D.Binomial(5, x([0.2, 0.5])), D.Binomial(3, x([0.5, 0.5])))
        assert same[1].item() == 0.0 and more.isinf().all()
        with pytest.raises(NotImplementedError):
            D.kl_divergence(D.Binomial(3, x([0.2])), D.Binomial(5, x([0.5])))


MATRIX_PAIRS = {
    "full and full": ("MultivariateNormal", 0, "MultivariateNormal", 1),
    "a batch and one": ("MultivariateNormal", 3, "MultivariateNormal", 1),
    "one and a batch": ("MultivariateNormal", 0, "MultivariateNormal", 4),
    "low rank and full": ("LowRankMultivariateNormal", 1, "MultivariateNormal", 1),
    "full and low rank": ("MultivariateNormal", 3, "LowRankMultivariateNormal", 1),
    "low rank and low rank": ("LowRankMultivariateNormal", 1, "LowRankMultivariateNormal", 1),
    "Wishart": ("Wishart", 0, "Wishart", 1),
}


@pytest.mark.parametrize("name", MATRIX_PAIRS)
def test_divergences_of_matrices(name):
    p, i, q, j = MATRIX_PAIRS[name]
    results = []
    for lib in LIBS:
        (first, leaves), (second, more) = make(lib, p, i, "float64"), make(lib, q, j, "float64")
        results.append((lib.distributions.kl_divergence(first, second), [*leaves, *more]))
    assert_same(results[0][0], results[1][0])
    assert_same_gradients(*results, "kl")


@pytest.mark.parametrize("what", ["covariance_matrix", "precision_matrix", "scale_tril"])
@pytest.mark.parametrize("name, i", MATRIX_NAMES)
def test_forms_of_the_covariance(name, i, what):
    results = []
    for lib in LIBS:
        distribution, leaves = make(lib, name, i, "float64")
        results.append((getattr(distribution, what), leaves))
    assert_same(results[0][0], results[1][0])
    assert_same_gradients(*results, what)


def test_positive_definite_matrices():
    for lib in LIBS:
        C, D = lib.distributions.constraints, lib.distributions
        x = Maker(lib).plain([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]])
        assert C.positive_definite.check(x).tolist() == [True, False]
        assert C.positive_semidefinite.check(x).tolist() == [True, False]
        transform = D.transform_to(C.positive_definite)
        point = Maker(lib).plain([[0.3, 0.0], [-0.5, 1.0]])
        assert lib.allclose(transform.inv(transform(point)), point, atol=1e-6)

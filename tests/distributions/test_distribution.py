"""What all distributions share: shapes, validation, expansion, descriptions, laziness."""

import copy
import pickle
import subprocess
import sys

import pytest
from distribution_cases import MATRIX_NAMES, NAMES, make

import facula
from facula import distributions as D
from facula.distributions import constraints


@pytest.mark.parametrize("name, i", [*NAMES, *MATRIX_NAMES])
def test_expand_adds_batch_dimensions(name, i):
    distribution, _ = make(facula, name, i)
    shape = (3, *distribution.batch_shape)
    new = distribution.expand(shape)
    assert type(new) is type(distribution)
    assert new.batch_shape == shape and new.event_shape == distribution.event_shape
    facula.manual_seed(0)
    value = new.sample((2,))
    assert value.shape == (2, *shape, *new.event_shape)
    log_prob = new.log_prob(value)
    assert log_prob.shape == (2, *shape)
    facula.testing.assert_close(log_prob, distribution.log_prob(value))
    assert new.expand((2, *shape)).batch_shape == (2, *shape)


@pytest.mark.parametrize("name, i", [*NAMES, *MATRIX_NAMES])
def test_copies_and_pickles_behave_as_the_original(name, i):
    distribution, _ = make(facula, name, i)
    facula.manual_seed(1)
    value = distribution.sample((2,))
    for new in (copy.copy(distribution), pickle.loads(pickle.dumps(distribution))):
        assert repr(new) == repr(distribution)
        facula.manual_seed(1)
        assert facula.equal(new.sample((2,)), value)


def test_the_package_is_imported_when_it_is_first_used():
    code = "import sys, facula; assert 'facula.distributions' not in sys.modules; "
    code += "facula.distributions.Normal; assert 'facula.distributions.normal' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parameters_outside_their_constraints_are_refused():
    with pytest.raises(ValueError) as error:
        D.Normal(facula.zeros(2), facula.tensor([1.0, -1.0]))
    assert str(error.value) == (
        "Expected parameter scale (Tensor of shape (2,)) of distribution Normal(loc: "
        "torch.Size([2]), scale: torch.Size([2])) to satisfy the constraint "
        "GreaterThan(lower_bound=0.0), but found invalid values:\ntensor([ 1., -1.])"
    )
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1


def test_values_outside_the_support_are_refused():
    with pytest.raises(
        ValueError, match=r"within the support \(GreaterThanEq\(lower_bound=0.0\)\)"
    ):
        D.Exponential(1.0).log_prob(facula.tensor(-1.0))
    with pytest.raises(ValueError, match="must be a Tensor"):
        D.Exponential(1.0).log_prob(1.0)
    with pytest.raises(ValueError, match=r"right-most size of value must match event_shape"):
        D.Dirichlet(facula.ones(3)).log_prob(facula.ones(2) / 2)
    with pytest.raises(ValueError, match="not broadcastable"):
        D.Normal(facula.zeros(2), 1.0).log_prob(facula.zeros(3))
    plain = D.Exponential(1.0, validate_args=False)
    assert plain.log_prob(facula.tensor(-1.0)) == 1


def test_the_default_of_validation_can_be_changed():
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
        with pytest.raises(ValueError):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="expected True or False"):
        D.Distribution.set_default_validate_args("yes")


def test_optimised_python_validates_nothing():
    code = "from facula.distributions import Normal; Normal(0.0, -1.0)"
    subprocess.run([sys.executable, "-O", "-c", code], check=True)


def test_descriptions_tell_numbers_and_shapes():
    assert repr(D.Normal(0.5, 1.0)) == "Normal(loc: 0.5, scale: 1.0)"
    assert repr(D.Bernoulli(facula.zeros(2))) == "Bernoulli(probs: torch.Size([2]))"
    inner = "Normal(loc: torch.Size([2]), scale: torch.Size([2]))"
    assert repr(D.Independent(D.Normal(facula.zeros(2), 1.0), 1)) == f"Independent({inner}, 1)"


def test_probs_and_logits_are_computed_from_each_other_once():
    given = D.Bernoulli(logits=facula.tensor([0.0, 2.0]))
    assert "probs" not in vars(given)
    assert given.probs is given.probs and "probs" in vars(given)
    facula.testing.assert_close(given.probs, facula.tensor([0.5, 0.8808]), rtol=1e-3, atol=0.0)
    for kind in (D.Bernoulli, D.Categorical, D.Geometric, D.ContinuousBernoulli):
        with pytest.raises(ValueError, match="Either `probs` or `logits` must be specified"):
            kind()
        with pytest.raises(ValueError, match="Either `probs` or `logits` must be specified"):
            kind(facula.tensor([0.5]), facula.tensor([0.5]))


def test_the_base_class_has_nothing_but_shapes():
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        base = D.Distribution((2,), (3,))
    assert (base.batch_shape, base.event_shape) == ((2,), (3,))
    for what in ("mean", "mode", "variance", "stddev", "support", "arg_constraints"):
        with pytest.raises(NotImplementedError):
            getattr(base, what)
    for method in ("sample", "rsample", "entropy", "enumerate_support", "perplexity"):
        with pytest.raises(NotImplementedError):
            getattr(base, method)()
    for method in ("log_prob", "cdf", "icdf"):
        with pytest.raises(NotImplementedError):
            getattr(base, method)(facula.zeros(()))
    with pytest.raises(NotImplementedError):
        base.expand((2, 2))


class Shifted(D.Normal):
    def __init__(self, shift):
        super().__init__(shift, 1.0)


class Renamed(D.Normal):
    pass


def test_a_subclass_with_its_own_init_must_expand_itself():
    with pytest.raises(NotImplementedError, match=r"Subclass Shifted of Normal .* \.expand"):
        Shifted(facula.zeros(2)).expand((3, 2))
    assert type(Renamed(facula.zeros(2), 1.0).expand((3, 2))) is Renamed


class Unsupported(D.Distribution):
    arg_constraints = {}  # noqa: RUF012

    def log_prob(self, value):
        self._validate_sample(value)
        return value


def test_a_distribution_without_support_warns_instead_of_checking():
    with pytest.warns(UserWarning, match="does not define `support`"):
        Unsupported().log_prob(facula.tensor(1.0))


def test_sample_n_is_sample_with_a_warning():
    with pytest.warns(FutureWarning, match="will be deprecated"):
        assert D.Normal(facula.zeros(2), 1.0).sample_n(3).shape == (3, 2)


def test_events_of_independent_distributions_are_summed():
    base = D.Normal(facula.zeros(2, 3), 1.0)
    for n in range(3):
        ours = D.Independent(base, n)
        assert ours.batch_shape == (2, 3)[: 2 - n] and ours.event_shape == (2, 3)[2 - n :]
        value = facula.ones(2, 3)
        assert ours.log_prob(value).shape == ours.batch_shape
        assert ours.entropy().shape == ours.batch_shape
        assert ours.support.event_dim == n
    with pytest.raises(ValueError, match="Expected reinterpreted_batch_ndims <="):
        D.Independent(base, 3)
    with pytest.raises(NotImplementedError, match="cartesian product"):
        D.Independent(D.Bernoulli(facula.tensor([0.5])), 1).enumerate_support()


def test_what_mixtures_refuse():
    weights, components = D.Categorical(facula.ones(2)), D.Normal(facula.zeros(2), 1.0)
    with pytest.raises(ValueError, match="Mixture distribution needs to be"):
        D.MixtureSameFamily(components, components)
    with pytest.raises(ValueError, match="Component distribution needs to be"):
        D.MixtureSameFamily(weights, 3)
    with pytest.raises(ValueError, match="does not equal"):
        D.MixtureSameFamily(weights, D.Normal(facula.zeros(3), 1.0))
    with pytest.raises(ValueError, match="is not compatible with"):
        D.MixtureSameFamily(D.Categorical(facula.ones(3, 2)), D.Normal(facula.zeros(4, 2), 1.0))


def test_what_distributions_of_matrices_refuse():
    eye = facula.eye(2)
    with pytest.raises(ValueError, match="Exactly one of"):
        D.MultivariateNormal(facula.zeros(2))
    with pytest.raises(ValueError, match="Exactly one of"):
        D.MultivariateNormal(facula.zeros(2), eye, eye)
    with pytest.raises(ValueError, match="loc must be at least one-dimensional"):
        D.MultivariateNormal(facula.tensor(0.0), eye)
    with pytest.raises(ValueError, match="at least two-dimensional"):
        D.MultivariateNormal(facula.zeros(2), facula.ones(2))
    with pytest.raises(ValueError, match="PositiveDefinite"):
        D.MultivariateNormal(facula.zeros(2), -eye)
    with pytest.raises(ValueError, match="LowerCholesky"):
        D.MultivariateNormal(facula.zeros(2), scale_tril=facula.ones(2, 2))
    with pytest.raises(ValueError, match="greater than ndim - 1"):
        D.Wishart(facula.tensor(1.0), eye)
    with pytest.raises(ValueError, match="cov_factor must be a batch of matrices"):
        D.LowRankMultivariateNormal(facula.zeros(2), facula.ones(3, 1), facula.ones(2))
    with pytest.raises(ValueError, match="cov_diag must be a batch of vectors"):
        D.LowRankMultivariateNormal(facula.zeros(2), facula.ones(2, 1), facula.ones(3))
    with pytest.raises(ValueError, match="dim=1"):
        D.LKJCholesky(1)


def test_few_degrees_of_freedom_warn_of_singular_samples():
    with pytest.warns(UserWarning, match="Low df values detected"):
        D.Wishart(facula.tensor(1.5), facula.eye(2))


def test_constraints_of_uniform_bounds_depend_on_each_other():
    assert repr(D.Uniform(0.0, 1.0).arg_constraints["low"]) == "LessThan(upper_bound=1.0)"
    with pytest.raises(ValueError, match="parameter low"):
        D.Uniform(1.0, 0.0)
    assert constraints.is_dependent(D.Uniform.support)


def test_counts_are_enumerated():
    values = D.Binomial(2, facula.tensor([0.5, 0.5])).enumerate_support()
    assert values.tolist() == [[0, 0], [1, 1], [2, 2]]
    with pytest.raises(NotImplementedError, match="Inhomogeneous total count"):
        D.Binomial(facula.tensor([1.0, 2.0]), 0.5).enumerate_support()
    assert D.Bernoulli(0.5).enumerate_support().tolist() == [0, 1]
    one_hot = D.OneHotCategorical(facula.ones(2, 3)).enumerate_support(expand=False)
    assert one_hot.shape == (3, 1, 3)


def test_dtype_and_device_follow_the_parameters():
    loc = facula.zeros(2, dtype=facula.float64)
    assert D.Normal(loc, 1.0).sample().dtype == facula.float64
    assert D.Gamma(1, 2).sample().dtype == facula.get_default_dtype()
    with pytest.raises(ValueError, match="numbers and tensors"):
        D.Normal([0.0], 1.0)

"""Constraints: what they admit, their dimensions and descriptions."""

import pytest

import facula
from facula import distributions as D
from facula.distributions import constraints as C

NAN = float("nan")
# A constraint, values, and which of them it admits.
CASES = {
    "boolean": (C.boolean, [0.0, 1.0, 0.5], [True, True, False]),
    "one hot": (C.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]], [True, False, False]),
    "nonnegative integer": (C.nonnegative_integer, [-1.0, 0.0, 0.5], [False, True, False]),
    "positive integer": (C.positive_integer, [0.0, 1.0, 1.5], [False, True, False]),
    "integer interval": (
        C.integer_interval(1, 2),
        [0.0, 1.0, 1.5, 3.0],
        [False, True, False, False],
    ),
    "integers below": (C._IntegerLessThan(2), [1.0, 2.0, 3.0], [True, True, False]),
    "real": (C.real, [0.0, NAN], [True, False]),
    "real vector": (C.real_vector, [[0.0, NAN], [1.0, 2.0]], [False, True]),
    "positive": (C.positive, [-1.0, 0.0, 1.0], [False, False, True]),
    "nonnegative": (C.nonnegative, [-1.0, 0.0, 1.0], [False, True, True]),
    "less than": (C.less_than(1.0), [0.5, 1.0], [True, False]),
    "interval": (C.interval(0.0, 1.0), [-0.5, 0.0, 1.0], [False, True, True]),
    "half open": (C.half_open_interval(0.0, 1.0), [0.0, 1.0], [True, False]),
    "simplex": (C.simplex, [[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]], [True, False, False]),
    "multinomial": (C.multinomial(3), [[1.0, 2.0], [3.0, 1.0], [-1.0, 1.0]], [True, False, False]),
    "lower triangular": (
        C.lower_triangular,
        [[[1.0, 0], [2, -3]], [[1, 1], [0, 1]]],
        [True, False],
    ),
    "lower cholesky": (C.lower_cholesky, [[[1.0, 0], [2, -3]], [[1, 0], [2, 1]]], [False, True]),
    "corr cholesky": (C.corr_cholesky, [[[1.0, 0], [0.6, 0.8]], [[1, 0], [2, 1]]], [True, False]),
    "symmetric": (C.symmetric, [[[1.0, 2], [2, 3]], [[1, 1], [0, 1]]], [True, False]),
    "square": (C.square, [[[1.0, 2], [2, 3]]], [True]),
    "positive definite": (
        C.positive_definite,
        [[[2.0, 1], [1, 2]], [[1, 2], [2, 1]]],
        [True, False],
    ),
    "positive semidefinite": (
        C.positive_semidefinite,
        [[[2.0, 1], [1, 2]], [[1, 2], [2, 1]]],
        [True, False],
    ),
    "cat": (C.cat([C.positive, C.real], 0, [1, 2]), [-1.0, -1.0, 1.0], [False, True, True]),
    "stack": (C.stack([C.positive, C.real]), [-1.0, -1.0], [False, True]),
    "mixture": (C.MixtureSameFamilyConstraint(C.positive), [1.0, -1.0], [True, False]),
}


@pytest.mark.parametrize("name", CASES)
def test_check(name):
    constraint, values, expected = CASES[name]
    values = facula.tensor(values)
    assert constraint.check(values).tolist() == expected
    if name not in ("cat", "stack"):
        assert values.dim() - constraint.event_dim == 1


def test_matrices_that_are_not_square_are_not_symmetric():
    for constraint in (C.square, C.symmetric, C.positive_definite, C.positive_semidefinite):
        assert constraint.check(facula.ones(2, 3)).item() is False


def test_descriptions():
    assert repr(C.real) == "Real()" and repr(C.positive) == "GreaterThan(lower_bound=0.0)"
    assert repr(C.unit_interval) == "Interval(lower_bound=0.0, upper_bound=1.0)"
    assert repr(C.real_vector) == "IndependentConstraint(Real(), 1)"
    mixture = C.MixtureSameFamilyConstraint(C.real)
    assert repr(mixture) == "MixtureSameFamilyConstraint(Real())"
    assert (mixture.event_dim, mixture.is_discrete) == (0, False)


def test_dependent_constraints_are_known_to_instances_only():
    assert C.is_dependent(C.dependent) and not C.is_dependent(C.real)
    with pytest.raises(ValueError, match="cannot be checked"):
        C.dependent.check(facula.zeros(1))
    for name in ("is_discrete", "event_dim"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(C.dependent, name)
    known = C.dependent(is_discrete=False, event_dim=1)
    assert (known.is_discrete, known.event_dim) == (False, 1)
    assert D.Binomial.support.is_discrete and D.Binomial.support.event_dim == 0
    assert not C.is_dependent(D.Binomial(3, 0.5).support)


def test_dimensions_of_composed_constraints():
    assert C.independent(C.simplex, 2).event_dim == 3
    assert C.independent(C.boolean, 1).is_discrete
    assert C.cat([C.simplex, C.real_vector], 0).event_dim == 1
    assert C.stack([C.real, C.boolean], -1).event_dim == 1
    assert C.stack([C.real, C.boolean]).is_discrete
    with pytest.raises(ValueError, match=r"Expected value.dim\(\) >= 1"):
        C.real_vector.check(facula.tensor(0.0))
    with pytest.raises(ValueError, match=r"Expected value.dim\(\) >= 1"):
        C.MixtureSameFamilyConstraint(C.simplex).check(facula.tensor(0.0))
    with pytest.raises(TypeError, match="Expected constraints"):
        C.cat([3])
    with pytest.raises(ValueError, match="Expected 1 lengths"):
        C.cat([C.real], 0, [1, 2])
    with pytest.raises(NotImplementedError):
        C.Constraint().check(facula.zeros(1))

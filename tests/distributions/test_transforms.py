"""Transforms: inverses, Jacobians, shapes, caches, and the constraints they map into."""

import math
import pickle

import pytest

import facula
from facula import distributions as D
from facula.distributions import constraints, transforms


def x(values):
    return facula.tensor(values, dtype=facula.float64)


# Bijective transforms, and a point of their domain.
BIJECTIONS = {
    "exp": (D.ExpTransform(), [0.3, -1.0]),
    "power": (D.PowerTransform(x(2.5)), [0.3, 2.0]),
    "sigmoid": (D.SigmoidTransform(), [0.3, -1.0]),
    "softplus": (D.SoftplusTransform(), [0.3, -1.0]),
    "tanh": (D.TanhTransform(), [0.3, -1.0]),
    "affine": (D.AffineTransform(x([1.0, 2.0]), x([-2.0, 3.0])), [0.3, -1.0]),
    "affine of events": (D.AffineTransform(x(1.0), x(-2.0), event_dim=1), [0.3, -1.0]),
    "independent": (D.IndependentTransform(D.ExpTransform(), 1), [0.3, -1.0]),
    "compose": (D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.TanhTransform()]), [0.3, -0.7]),
    "stick breaking": (D.StickBreakingTransform(), [0.3, -1.0, 0.5]),
    "reshape": (D.ReshapeTransform((4,), (2, 2)), [0.3, -1.0, 0.5, 2.0]),
    "cat": (D.CatTransform([D.ExpTransform(), D.TanhTransform()], 0, [2, 1]), [0.3, -1.0, 0.5]),
    "stack": (D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0), [0.3, -1.0]),
    "corr cholesky": (D.CorrCholeskyTransform(), [0.3, -1.0, 0.5]),
    "cdf": (D.CumulativeDistributionTransform(D.Normal(x(0.0), x(1.0))), [0.3, -1.0]),
    "inverse": (D.ExpTransform().inv, [0.3, 2.0]),
}


@pytest.mark.parametrize("name", BIJECTIONS)
def test_the_inverse_leads_back(name):
    transform, point = BIJECTIONS[name]
    point = x(point)
    image = transform(point)
    facula.testing.assert_close(transform.inv(image), point)
    assert transform.inv.inv is transform or transform.inv.inv == transform
    assert transform.bijective and transform.inv.bijective
    assert transform.domain.check(point).all() and transform.codomain.check(image).all()
    assert transform.forward_shape(point.shape) == image.shape
    assert transform.inverse_shape(image.shape) == point.shape


def free_elements(name, image):
    """As many elements of the image as the point has: the others follow from them."""
    if name == "stick breaking":
        return image[..., :-1]
    if name == "corr cholesky":
        return D.utils.tril_matrix_to_vec(image, -1)
    return image.flatten()


@pytest.mark.parametrize("name", BIJECTIONS)
def test_log_abs_det_jacobian_is_that_of_the_jacobian(name):
    transform, point = BIJECTIONS[name]
    point = x(point)
    jacobian = facula.autograd.functional.jacobian(
        lambda p: free_elements(name, transform(p)), point
    )
    # All of these are triangular, in the order of the elements.
    assert facula.equal(jacobian, jacobian.tril())
    expected = jacobian.diagonal().abs().log()
    ours = transform.log_abs_det_jacobian(point, transform(point))
    facula.testing.assert_close(ours.sum(), expected.sum())
    if transform.domain.event_dim == 0:
        facula.testing.assert_close(ours, expected)
    back = transform.inv.log_abs_det_jacobian(transform(point), point)
    facula.testing.assert_close(back, -ours)


def test_a_scale_that_is_broadcast_counts_for_each_element():
    transform = D.AffineTransform(0.0, x([2.0]), event_dim=1)
    point = x([[1.0, 2.0, 3.0]])
    log_det = transform.log_abs_det_jacobian(point, transform(point))
    assert log_det.tolist() == pytest.approx([3 * math.log(2)])


def test_signs_tell_whether_order_is_kept():
    assert D.ExpTransform().sign == 1 and D.AffineTransform(0.0, -2.0).sign == -1
    assert D.AffineTransform(0.0, x([-2.0, 3.0])).sign.tolist() == [-1, 1]
    assert D.PowerTransform(x(-1.0)).sign == -1
    both = D.ComposeTransform([D.AffineTransform(0.0, -1.0), D.ExpTransform()])
    assert both.sign == -1 and both.inv.sign == -1
    falling = D.TransformedDistribution(D.Uniform(x(0.0), x(1.0)), D.AffineTransform(0.0, -2.0))
    assert falling.cdf(x([-1.5, -0.5])).tolist() == [0.25, 0.75]
    assert falling.icdf(x([0.25, 0.75])).tolist() == [-1.5, -0.5]


def test_equality():
    assert D.ExpTransform() == D.ExpTransform() != D.TanhTransform()
    assert D.ExpTransform().inv == D.ExpTransform().inv != D.ExpTransform()
    assert D.AffineTransform(0.0, 1.0) == D.AffineTransform(0.0, 1.0)
    assert D.AffineTransform(0.0, x([1.0, 2.0])) != D.AffineTransform(0.0, x([1.0, 3.0]))
    assert D.AffineTransform(0.0, x(1.0)) == D.AffineTransform(0.0, 1.0)
    assert D.PowerTransform(x(2.0)) == D.PowerTransform(2.0) != D.PowerTransform(3.0)
    parts = [D.ExpTransform(), D.TanhTransform()]
    assert D.ComposeTransform(parts) == D.ComposeTransform(list(parts))
    assert D.ComposeTransform(parts) != D.ComposeTransform(parts[::-1])
    reshape = D.ReshapeTransform((2,), (1, 2))
    assert reshape == reshape != D.ReshapeTransform((2,), (1, 2))


def test_a_cache_gives_the_very_tensor_back():
    point = x([0.3, 20.0])
    cached, plain = D.TanhTransform(cache_size=1), D.TanhTransform()
    image = cached(point)
    assert cached(point) is image and cached.inv(image) is point
    assert plain(point) is not plain(point)
    # tanh(20) rounds to 1, of which the inverse is infinite.
    assert plain.inv(plain(point))[1] == facula.inf
    other = x([0.1])
    assert cached.inv(cached(other)) is other and cached(point) is not image
    for transform, value in BIJECTIONS.values():
        new = transform.with_cache()
        value = x(value)
        assert new.inv(new(value)) is value
        assert new.with_cache() is new and new.with_cache(0)._cache_size == 0


class Custom(D.Transform):
    def __init__(self, number):
        super().__init__()


def test_what_transforms_refuse():
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)
    for call in (Custom(3), Custom(3)._inverse):
        with pytest.raises(NotImplementedError):
            call(x([1.0]))
    with pytest.raises(NotImplementedError):
        Custom(3).log_abs_det_jacobian(x([1.0]), x([1.0]))
    with pytest.raises(NotImplementedError):
        D.StickBreakingTransform().sign  # noqa: B018
    with pytest.raises(ValueError, match=r"\.domain\.event_dim or \.codomain\.event_dim"):
        D.CorrCholeskyTransform().event_dim  # noqa: B018
    with pytest.raises(ValueError, match="different numbers of elements"):
        D.ReshapeTransform((2,), (3,))
    with pytest.raises(ValueError, match="Shape mismatch"):
        D.ReshapeTransform((2,), (1, 2)).forward_shape((3,))
    with pytest.raises(ValueError, match="not a flattened lower-diagonal"):
        D.CorrCholeskyTransform().forward_shape((2,))
    with pytest.raises(ValueError, match="not square"):
        D.CorrCholeskyTransform().inverse_shape((2, 3))
    for transform in (D.SoftmaxTransform(), D.StickBreakingTransform(), D.CorrCholeskyTransform()):
        with pytest.raises(ValueError, match="Too few dimensions"):
            transform.forward_shape(())
        with pytest.raises(ValueError, match="Too few dimensions"):
            transform.inverse_shape(())
    with pytest.raises(ValueError, match="Too few dimensions"):
        D.IndependentTransform(D.ExpTransform(), 1)(x(0.0))
    with pytest.raises(TypeError, match="Expected transforms"):
        D.CatTransform([3])
    with pytest.raises(ValueError, match="expected 2 lengths"):
        D.CatTransform([D.ExpTransform()] * 2, 0, [1])
    with pytest.raises(ValueError, match="expected 2 elements along dimension 0"):
        D.CatTransform([D.ExpTransform()] * 2)(x([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="expected 2 slices along dimension 0"):
        D.StackTransform([D.ExpTransform()] * 2)(x([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="must be a Transform or list"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), (D.ExpTransform(),))


def test_transforms_without_inverse_jacobians():
    assert D.AbsTransform()(x([-2.0])).item() == 2
    assert D.AbsTransform().inv(x([2.0])).item() == 2
    assert not D.AbsTransform().bijective
    simplex = D.SoftmaxTransform()(x([[1.0, 2.0]]))
    facula.testing.assert_close(D.SoftmaxTransform()(D.SoftmaxTransform().inv(simplex)), simplex)
    factor = D.LowerCholeskyTransform()(x([[0.0, 9.0], [3.0, 1.0]]))
    assert factor.tolist() == [[1, 0], [3, pytest.approx(math.e)]]
    facula.testing.assert_close(D.LowerCholeskyTransform().inv(factor), x([[0.0, 0.0], [3.0, 1.0]]))


def test_positive_definite_matrices_come_from_any_matrix():
    point = x([[0.2, 9.0], [3.0, -1.0]])
    matrix = D.PositiveDefiniteTransform()(point)
    assert constraints.positive_definite.check(matrix)
    facula.testing.assert_close(D.PositiveDefiniteTransform().inv(matrix), point.tril())


def test_the_identity_does_nothing():
    point = x([1.0, 2.0])
    assert transforms.identity_transform(point) is point
    assert transforms.identity_transform.log_abs_det_jacobian(point, point).tolist() == [0, 0]
    assert repr(transforms.identity_transform) == "ComposeTransform(\n    \n)"


def test_transforms_can_be_pickled():
    for transform, point in BIJECTIONS.values():
        new = pickle.loads(pickle.dumps(transform))
        assert facula.equal(new(x(point)), transform(x(point)))
        assert new.inv.inv is new or new.inv.inv == new


# ---- into constraints

INTO = [
    constraints.real,
    constraints.positive,
    constraints.nonnegative,
    constraints.greater_than(x([1.0, 2.0])),
    constraints.less_than(-1.0),
    constraints.unit_interval,
    constraints.interval(-2.0, 3.0),
    constraints.half_open_interval(x(-2.0), 3.0),
    constraints.simplex,
    constraints.real_vector,
    constraints.independent(constraints.positive, 1),
    constraints.stack([constraints.positive, constraints.less_than(0.0)]),
    constraints.cat([constraints.positive, constraints.less_than(0.0)], 0, [1, 1]),
]


@pytest.mark.parametrize("constraint", INTO, ids=str)
@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to])
def test_registries_lead_into_the_constraint(constraint, registry):
    transform = registry(constraint)
    image = transform(x([0.3, -1.5]))
    assert constraint.check(image).all()
    if registry is D.biject_to:
        facula.testing.assert_close(transform.inv(image), x([0.3, -1.5]))


def test_registries_of_matrices():
    points = facula.randn(4, 3, dtype=facula.float64)
    for registry in (D.biject_to, D.transform_to):
        assert constraints.corr_cholesky.check(registry(constraints.corr_cholesky)(points)).all()
    matrix = facula.randn(3, 3, dtype=facula.float64)
    for constraint in (constraints.lower_cholesky, constraints.positive_definite):
        assert constraint.check(D.transform_to(constraint)(matrix))
        with pytest.raises(NotImplementedError, match="Cannot transform"):
            D.biject_to(constraint)


def test_own_constraints_can_be_registered():
    class Even(constraints.Constraint):
        pass

    registry = D.constraint_registry.ConstraintRegistry()
    registry.register(Even, lambda constraint: D.ExpTransform())
    assert registry(Even()) == D.ExpTransform()

    @registry.register(constraints.real)
    def _(constraint):
        return D.TanhTransform()

    assert registry(constraints.real) == D.TanhTransform()
    with pytest.raises(TypeError, match="Constraint subclass or instance"):
        registry.register(int, lambda constraint: None)
    with pytest.raises(NotImplementedError):
        registry(constraints.positive)


def test_the_inverse_has_a_class_that_packages_ask_for():
    inverse = D.ExpTransform().inv
    assert isinstance(inverse, D.transforms._InverseTransform)
    assert not isinstance(D.ExpTransform(), D.transforms._InverseTransform)


def test_factors_of_precisions_are_found_beside_the_multivariate_normal():
    from facula.distributions.multivariate_normal import _precision_to_scale_tril

    covariance = facula.tensor([[2.0, 0.5], [0.5, 1.0]])
    factor = _precision_to_scale_tril(facula.linalg.inv(covariance))
    facula.testing.assert_close(factor @ factor.mT, covariance)

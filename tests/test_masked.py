"""facula.masked: what a function gives for the elements that count alone."""

import numpy as np
import pytest

import facula
from facula import masked
from facula.autograd import gradcheck, gradgradcheck

X = np.random.default_rng(0).standard_normal((4, 5))
# In one line nothing counts.
MASK = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 1, 1]], dtype=bool)

# Of the elements of one line that count; what an empty line gives.
REDUCTIONS = {
    "sum": (np.sum, 0.0),
    "prod": (np.prod, 1.0),
    "amax": (np.max, -np.inf),
    "amin": (np.min, np.inf),
    "mean": (np.mean, np.nan),
    "median": (lambda a: np.sort(a)[(len(a) - 1) // 2], np.nan),
    "logsumexp": (lambda a: np.log(np.exp(a).sum()), -np.inf),
    "norm": (np.linalg.norm, 0.0),
    "var": (lambda a: np.var(a, ddof=1) if len(a) > 1 else np.nan, np.nan),
    "std": (lambda a: np.std(a, ddof=1) if len(a) > 1 else np.nan, np.nan),
}


def tensors():
    return facula.tensor(X), facula.tensor(MASK)


def along(name, dim):
    return {"norm": (2.0, dim)}.get(name, (dim,))


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions_see_only_what_counts(name, dim, keepdim):
    reference, empty = REDUCTIONS[name]
    x, mask = tensors()
    result = getattr(masked, name)(x, *along(name, dim), keepdim=keepdim, mask=mask)
    lines = zip(np.moveaxis(X, dim, -1), np.moveaxis(MASK, dim, -1), strict=True)
    expected = [reference(a[m]) if m.any() else empty for a, m in lines]
    assert result.dim() == (2 if keepdim else 1)
    np.testing.assert_allclose(result.flatten().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(set(REDUCTIONS) - {"median"}))
def test_several_dimensions_and_all_are_reduced_as_one(name):
    x, mask = tensors()
    function, (reference, _) = getattr(masked, name), REDUCTIONS[name]
    for dim in (None, (), (0, 1), (-1, 0)):
        result = function(x, *along(name, dim), mask=mask)
        np.testing.assert_allclose(result.item(), reference(X[MASK]), rtol=1e-12)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_without_a_mask_everything_counts(name):
    x, _ = tensors()
    reference, _ = REDUCTIONS[name]
    result = getattr(masked, name)(x, *along(name, 1))
    np.testing.assert_allclose(result.numpy(), [reference(a) for a in X], rtol=1e-12)


@pytest.mark.parametrize("name, numpy_name", [("argmax", "max"), ("argmin", "min")])
def test_places_are_those_of_elements_that_count(name, numpy_name):
    x, mask = tensors()
    places = getattr(masked, name)(x, 0, mask=mask, dtype=facula.int64)
    filled = np.ma.array(X, mask=~MASK)
    expected = getattr(np.ma, "arg" + numpy_name)(filled, 0)
    assert places.tolist() == expected.tolist()
    assert getattr(masked, name)(x, 0, mask=mask).dtype == x.dtype
    flat = getattr(masked, name)(x, mask=mask, dtype=facula.int64)
    assert X.ravel()[flat.item()] == getattr(X[MASK], numpy_name)()


def test_running_sums_and_products_pass_over_what_does_not_count():
    x, mask = tensors()
    sums = np.cumsum(np.where(MASK, X, 0), 1)
    products = np.cumprod(np.where(MASK, X, 1), 0)
    np.testing.assert_allclose(masked.cumsum(x, 1, mask=mask).numpy(), sums)
    np.testing.assert_allclose(masked.cumprod(x, 0, mask=mask).numpy(), products)
    assert masked.cumsum(facula.ones(3, dtype=facula.int8), 0).dtype == facula.int8


def test_weights_are_shared_among_what_counts():
    x, mask = tensors()
    for function, sign in ((masked.softmax, 1), (masked.softmin, -1)):
        weights = np.where(MASK, np.exp(sign * X), 0)
        with np.errstate(invalid="ignore"):
            weights = weights / weights.sum(1, keepdims=True)
        np.testing.assert_allclose(function(x, 1, mask=mask).numpy(), weights)
    logarithm = masked.log_softmax(x[:2], 1, mask=mask[:2]).exp()
    assert facula.allclose(logarithm, masked.softmax(x[:2], 1, mask=mask[:2]))


def test_normalize_divides_by_the_norm_of_what_counts():
    x, mask = tensors()
    result = masked.normalize(x, 2.0, 1, mask=mask)
    sizes = (result * result).sum(1)
    assert facula.allclose(sizes, facula.tensor([1.0, 1.0, 0.0, 1.0], dtype=facula.float64))
    assert (result[~mask] == 0).all()


def test_logaddexp_takes_a_mask_for_each_operand():
    x, mask = tensors()
    result = masked.logaddexp(x, x, input_mask=mask, other_mask=~mask)
    np.testing.assert_allclose(result.numpy(), X)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "norm", "var", "std", "logsumexp"])
def test_gradients_reach_only_what_counts(name):
    x, mask = facula.tensor(X[:2], requires_grad=True), facula.tensor(MASK[:2])

    def function(x):
        return getattr(masked, name)(x, *along(name, 1), mask=mask)

    assert gradcheck(function, x) and gradgradcheck(function, x)
    (grad,) = facula.autograd.grad(function(x).sum(), x)
    assert (grad[~mask] == 0).all()


def test_integers_are_summed_in_int64_and_bounded_by_their_dtype():
    x = facula.tensor([[100, 100], [3, 4]], dtype=facula.int8)
    mask = facula.tensor([[True, True], [False, False]])
    assert masked.sum(x, 1, mask=mask).tolist() == [200, 0]
    assert masked.prod(x, 1).dtype == facula.int64
    assert masked.amax(x, 1, mask=mask).tolist() == [100, -128]
    assert masked.amin(x, 1, mask=mask).tolist() == [100, 127]
    assert masked.median(x, 1).tolist() == [100, 3]
    assert masked.var(x, 1).dtype == facula.float32


def test_the_variance_is_corrected_as_asked():
    x, mask = tensors()
    expected = np.var(X[0][MASK[0]])
    for arguments in ({"unbiased": False}, {"correction": 0}):
        result = masked.var(x[0], mask=mask[0], **arguments)
        np.testing.assert_allclose(result.item(), expected)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda x, m: masked.sum(x[0], mask=m),
            IndexError,
            "expected a mask that can be broadcast",
        ),
        (lambda x, m: masked.sum(x, (0, 0)), RuntimeError, "sum: dim appears multiple times"),
        (lambda x, m: masked.amax(x, 2), IndexError, "amax: dim 2 is out of range"),
        (lambda x, m: masked.mean(x.long()), ValueError, "mean: Could not infer output dtype"),
        (lambda x, m: masked.median(x.long(), 1, mask=m), ValueError, "fully masked out rows"),
        (lambda x, m: masked.argmax(x + 0j, mask=m), TypeError, "complex numbers have no order"),
        (lambda x, m: masked.amax(x > 0, mask=m), NotImplementedError, "not available for bool"),
        (
            lambda x, m: masked.std(x, unbiased=True, correction=1),
            AssertionError,
            "std: Only one of unbiased and correction",
        ),
        (lambda x, m: masked.MaskedTensor, AttributeError, "not part of Facula"),
        (lambda x, m: masked.something, AttributeError, "has no attribute 'something'"),
    ],
)
def test_what_has_no_meaning_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(*tensors())

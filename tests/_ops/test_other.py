"""Distances, bounded norms, and covariances."""

import numpy as np
import pytest

import facula
from check_op import check_op

SOME = ["float32", "float64"]
INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, float("inf")])
@pytest.mark.parametrize("n_rows", [4, 30])
def test_cdist_agrees_with_the_formula(p, n_rows):
    a, b = facula.rand(2, n_rows, 3).double(), facula.rand(5, 3).double()
    difference = (a.numpy()[:, :, None] - b.numpy()[None, None]).reshape(-1, 3)
    expected = np.linalg.norm(difference, p, axis=1).reshape(2, n_rows, 5)
    np.testing.assert_allclose(facula.cdist(a, b, p).numpy(), expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("width", [2, 37])
def test_distances_of_rows_with_nan(width, requires_grad):
    # By a kernel without a gradient, composed with one: the values are PyTorch's in both.
    x = facula.ones(3, width)
    x[0, -1] = x[2, 0] = NAN
    x[1] = 3
    x.requires_grad_(requires_grad)
    zeros = facula.zeros(1, width)
    for p, expected in ((0, [NAN, width, NAN]), (1, [NAN, 3 * width, NAN]), (INF, [1, 3, 1])):
        result = facula.cdist(x, zeros, p).detach().numpy().ravel()
        np.testing.assert_array_equal(result, np.float32(expected))
    for p in (0, 1, INF):
        assert facula.pdist(x, p).isnan().tolist() == [True] * 3


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_the_gradient_of_a_zero_distance_is_zero(mode):
    x = facula.rand(3, 2, dtype=facula.float64, requires_grad=True)
    facula.cdist(x, x.detach(), compute_mode=mode).diagonal().sum().backward()
    assert x.grad.tolist() == [[0, 0]] * 3


def test_cdist_is_differentiable():
    a, b = (facula.rand(3, 2, dtype=facula.float64, requires_grad=True) for _ in range(2))
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        assert facula.autograd.gradcheck(lambda a, b, m=mode: facula.cdist(a, b, 2, m), (a, b))


def test_cov_and_corrcoef_agree_with_numpy():
    check_op(facula.cov, np.cov, [(3, 5)], dtypes=SOME)
    check_op(lambda x: facula.cov(x, correction=0), lambda a: np.cov(a, ddof=0), [(3, 5)])
    a = np.random.default_rng(0).normal(size=(3, 5))
    result = facula.corrcoef(facula.tensor(a))
    np.testing.assert_allclose(result.numpy(), np.corrcoef(a), rtol=1e-12)


def test_cov_takes_both_kinds_of_weights():
    a = np.random.default_rng(0).normal(size=(3, 5))
    counts, weights = np.array([1, 2, 0, 3, 1]), np.array([0.1, 0.2, 0.5, 1.0, 2.0])
    result = facula.cov(
        facula.tensor(a), fweights=facula.tensor(counts), aweights=facula.tensor(weights)
    )
    expected = np.cov(a, fweights=counts, aweights=weights)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="expected fweights to be integers"):
        facula.cov(facula.tensor(a), fweights=facula.tensor(weights))


def test_renorm_scales_only_what_is_too_large():
    x = facula.tensor([[3.0, 4.0], [0.3, 0.4]])
    result = facula.renorm(x, 2, 0, 1)
    assert facula.allclose(result, facula.tensor([[0.6, 0.8], [0.3, 0.4]]))
    assert facula.equal(result[1], x[1])
    assert x.renorm_(2, 0, 1) is x
    assert facula.equal(x, result)


def test_renorm_of_halves_takes_norms_that_no_half_holds():
    x = facula.full((2, 8), 30000.0, dtype=facula.float16)
    assert facula.renorm(x, 2, 0, 60000.0).tolist() == [[21216.0] * 8] * 2
    with pytest.raises(RuntimeError, match="expected p > 0, got nan"):
        facula.renorm(x, float("nan"), 0, 1)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("shape", [(4, 3), (2, 5, 40), (3, 0), (0, 3)])
def test_distances_are_the_same_with_a_gradient_and_without(p, shape):
    facula.manual_seed(0)
    x = facula.randn(shape, dtype=facula.float64)
    y = facula.cat([x[..., :1, :], x + 1], -2)
    with_gradient = facula.cdist(x.clone().requires_grad_(), y, p, "donot_use_mm_for_euclid_dist")
    without = facula.cdist(x, y, p, "donot_use_mm_for_euclid_dist")
    np.testing.assert_allclose(without.numpy(), with_gradient.detach().numpy(), rtol=1e-12)
    if x.dim() == 2:
        pairs = facula.pdist(x.clone().requires_grad_(), p).detach()
        np.testing.assert_allclose(facula.pdist(x, p).numpy(), pairs.numpy(), rtol=1e-12)

"""Numbers of successes: range, moments, and the generator they come from."""

import math

import pytest

import facula

N = 20_000


@pytest.mark.parametrize("count, prob", [(1, 0.3), (5, 0.5), (40, 0.9), (1000, 0.02), (1000, 0.6)])
def test_binomial_has_the_mean_and_the_variance_of_its_law(count, prob):
    generator = facula.Generator().manual_seed(1)
    counts, probs = facula.full((N,), float(count)), facula.full((N,), prob)
    x = facula.binomial(counts, probs, generator)
    assert x.dtype == facula.float32 and x.shape == (N,)
    assert facula.equal(x, x.round()) and x.min() >= 0 and x.max() <= count
    variance = count * prob * (1 - prob)
    # Five standard errors, of the mean and (for a law near the normal one) of the variance.
    assert abs(x.mean().item() - count * prob) < 5 * math.sqrt(variance / N)
    assert abs(x.double().var().item() / variance - 1) < 5 * math.sqrt(3 / N)


def test_binomial_is_certain_at_the_ends():
    count = facula.tensor([[0.0, 7.0, 7.0]], dtype=facula.float64)
    prob = facula.tensor([[0.5, 0.0, 1.0]], dtype=facula.float64)
    x = facula.binomial(count, prob)
    assert (x.tolist(), x.dtype) == ([[0, 0, 7]], facula.float64)
    assert facula.binomial(count[:, :0], prob[:, :0]).shape == (1, 0)
    assert facula.binomial(count[0, 1], prob[0, 2]).item() == 7


def test_binomial_depends_on_its_generator_only():
    count, prob = facula.full((50,), 30.0), facula.rand(50)
    draws = [facula.binomial(count, prob, facula.Generator().manual_seed(s)) for s in (3, 3, 4)]
    assert facula.equal(draws[0], draws[1])
    assert not facula.equal(draws[0], draws[2])
    facula.manual_seed(5)
    first = facula.binomial(count, prob)
    facula.manual_seed(5)
    assert facula.equal(first, facula.binomial(count, prob))
    with pytest.raises(RuntimeError, match="binomial"):
        facula.binomial(count.long(), prob)

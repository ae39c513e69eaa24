"""Rounding errors of sums: bounded, however many elements there are and however they lie."""

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import facula
import facula.nn.functional as F

EPSILON = 2.0**-23
# In units of the last place of float32, relative to the sum of the magnitudes. A chain of additions
# of equal numbers has an error of about a twelfth of its length.
LIMIT = 3

KINDS = {
    "equal": lambda rng, shape: np.full(shape, 0.1),
    "positive": lambda rng, shape: rng.random(shape),
    "any": lambda rng, shape: rng.standard_normal(shape),
}
LAYOUTS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: a.T,
    "every other column": lambda a: a[:, ::2],
    "without a column": lambda a: a[:, 1:],
    "every third row": lambda a: a[::3],
    "twice the same": lambda a: np.broadcast_to(a[None], (2, *a.shape)),
}


def error(result, terms, dim=None):
    """The error of a sum of terms, in units of the last place of the largest that it may be."""
    terms = np.asarray(terms, dtype=np.float64)
    if dim is None:
        exact, size = math.fsum(terms.flat), math.fsum(np.abs(terms).flat)
    else:
        exact, size = terms.sum(dim), np.abs(terms).sum(dim)
    return np.max(np.abs(result.double().numpy() - exact) / np.maximum(size, 1e-300)) / EPSILON


@hypothesis.given(
    st.integers(1, 6000),
    st.integers(2, 300),
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(sorted(LAYOUTS)),
    st.sampled_from(["float32", "bfloat16", "float16"]),
)
@hypothesis.example(1, 8192, "equal", "contiguous", "float32")
@hypothesis.example(5000, 16, "equal", "without a column", "float32")
@hypothesis.settings(max_examples=40, deadline=None)
def test_sums_and_norms_have_small_errors_in_every_layout(n_rows, n_columns, kind, layout, dtype):
    a = KINDS[kind](np.random.default_rng(n_rows), (n_rows, n_columns)).astype(np.float32)
    whole = facula.from_numpy(a).to(getattr(facula, dtype))
    a = LAYOUTS[layout](whole.float().numpy())
    x = whole.as_strided(
        a.shape, [stride // 4 for stride in a.strides], int(layout.startswith("without"))
    )
    assert error(x.sum(dtype=facula.float32), a) < LIMIT
    assert error(x.mean(dtype=facula.float32) * a.size, a) < LIMIT + 1
    assert error(x.norm(1, dtype=facula.float32), np.abs(a)) < LIMIT
    assert (
        error(x.norm(2, dtype=facula.float32).double() ** 2, a.astype(np.float64) ** 2) < LIMIT + 1
    )
    for dim in range(a.ndim):
        assert error(x.sum(dim, dtype=facula.float32), a, dim) < LIMIT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [100, 8192, 100_003, 1 << 20])
def test_losses_and_spreads_of_many_elements_have_small_errors(kind, n):
    rng = np.random.default_rng(n)
    a, b = KINDS[kind](rng, n).astype(np.float32), rng.random(n).astype(np.float32)
    x, t = facula.from_numpy(a), facula.from_numpy(b)
    a, b = a.astype(np.float64), b.astype(np.float64)
    assert error(F.mse_loss(x, t, reduction="sum"), (a - b) ** 2) < LIMIT
    assert error(F.l1_loss(x, t, reduction="sum"), np.abs(a - b)) < LIMIT
    zeros = facula.zeros(n)
    each = np.full(n, math.log(2))
    assert error(F.binary_cross_entropy_with_logits(zeros, t, reduction="sum"), each) < LIMIT
    labels = facula.zeros(n, dtype=facula.int64)
    assert error(F.cross_entropy(facula.zeros(n, 2), labels, reduction="sum"), each) < LIMIT
    assert error(x.var(correction=0) * n, (a - a.mean()) ** 2) < 2


@pytest.mark.parametrize("n", [64, 4096, 100_003])
def test_complex_sums_have_small_errors(n):
    part = np.full(n, 0.1, dtype=np.float32)
    for x in (
        facula.from_numpy(part - 1j * part),
        facula.from_numpy((part - 1j * part).repeat(2))[::2],
    ):
        total = x.sum()
        assert error(total.real, part) < LIMIT
        assert error(total.imag, -part) < LIMIT

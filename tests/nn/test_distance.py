"""Distances and similarities between vectors."""

import numpy as np
import pytest

import facula
from facula import nn
from facula.nn import functional as F
from tests.check_op import check_op

pytestmark = pytest.mark.promise("N2")


def pairs(x):
    return [x[i] - x[j] for i in range(len(x)) for j in range(i + 1, len(x))]


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, float("inf")])
def test_pdist_gives_each_pair_of_rows_once(p):
    check_op(
        lambda x: F.pdist(x, p),
        lambda x: np.array([np.linalg.norm(d, p) for d in pairs(x)]),
        [(4, 3)],
        differentiable=False,  # of equal rows, which check_op tries too
    )
    x = facula.randn(4, 3, dtype=facula.float64, requires_grad=True)
    assert facula.autograd.gradcheck(lambda x: F.pdist(x, p), x)


def test_pdist_of_equal_rows_has_a_gradient_of_zero():
    x = facula.ones(2, 3, requires_grad=True)
    facula.pdist(x).sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("shape", [(0, 3), (1, 3)])
def test_pdist_of_no_pairs_is_empty(shape):
    assert facula.pdist(facula.ones(shape)).shape == (0,)


def test_pdist_refuses_what_has_no_rows():
    with pytest.raises(RuntimeError, match=r"pdist: expected a matrix of rows, got \(3,\)"):
        facula.pdist(facula.ones(3))
    with pytest.raises(RuntimeError, match="pdist: expected p >= 0"):
        facula.pdist(facula.ones(2, 3), -1)


def test_cosine_similarity_agrees_with_the_formula():
    check_op(
        F.cosine_similarity,
        lambda x, y: (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1),
        [(4, 3), (4, 3)],
    )


def test_cosine_similarity_with_nothing_is_zero():
    assert F.cosine_similarity(facula.zeros(1, 2), facula.ones(1, 2)).tolist() == [0.0]


def test_modules_are_the_functions():
    x, y = facula.randn(4, 3), facula.randn(4, 3)
    assert facula.equal(nn.PairwiseDistance(p=1)(x, y), F.pairwise_distance(x, y, p=1))
    assert facula.equal(nn.CosineSimilarity(dim=0)(x, y), F.cosine_similarity(x, y, dim=0))

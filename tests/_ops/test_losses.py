"""The losses at top level: their reductions are numbers."""

import pytest

import facula
from facula.nn import functional as F

X, Y = facula.tensor([[0.5, 2.0], [1.0, -1.0]]), facula.tensor([[0.25, 0.5], [0.75, 1.0]])
SIGNS = facula.tensor([1.0, -1.0])
LOSSES = [
    ("binary_cross_entropy_with_logits", (X, Y)),
    ("kl_div", (X, Y)),
    ("poisson_nll_loss", (X, Y, True, False, 1e-8)),
    ("hinge_embedding_loss", (X, SIGNS)),
    ("margin_ranking_loss", (X, Y, SIGNS)),
    ("cosine_embedding_loss", (X, Y, SIGNS)),
    ("triplet_margin_loss", (X, Y, -X)),
]


@pytest.mark.parametrize("name, args", LOSSES, ids=[name for name, _ in LOSSES])
def test_reductions_are_the_mean_and_the_sum_of_the_losses(name, args):
    loss = getattr(facula, name)
    losses = loss(*args, reduction=0)
    assert facula.allclose(loss(*args, reduction=1), losses.mean())
    assert facula.allclose(loss(*args, reduction=2), losses.sum())


def test_losses_are_those_of_nn():
    assert facula.equal(facula.kl_div(X, Y, 2), F.kl_div(X, Y, reduction="sum"))
    log_probs = facula.randn(5, 2, 3).log_softmax(-1)
    labels, lengths = facula.tensor([[1, 2], [1, 1]]), ((5, 5), (2, 1))
    assert facula.equal(
        facula.ctc_loss(log_probs, labels, *lengths), F.ctc_loss(log_probs, labels, *lengths)
    )


def test_shapes_that_do_not_broadcast_are_refused_in_the_name_of_the_loss():
    with pytest.raises(RuntimeError, match=r"^kl_div: shapes do not broadcast"):
        facula.kl_div(X, facula.ones(3))


def test_margin_ranking_loss_of_integers_is_a_float():
    one, two = facula.tensor([1]), facula.tensor([2])
    loss = facula.nn.functional.margin_ranking_loss(one, two, one)
    assert loss.dtype == facula.float32 and loss == 1

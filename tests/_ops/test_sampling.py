"""Dropouts and rrelu: what is random, and what is not."""

import pytest

import facula

DROPOUTS = ["feature_dropout", "alpha_dropout", "feature_alpha_dropout"]


@pytest.mark.parametrize("name", DROPOUTS)
def test_the_form_in_place_draws_the_same_numbers(name):
    x = facula.randn(4, 5, 3)
    facula.manual_seed(1)
    expected = getattr(facula, name)(x, 0.5, True)
    facula.manual_seed(1)
    y = x.clone()
    assert getattr(facula, name + "_")(y, 0.5, True) is y
    assert facula.equal(y, expected)
    assert not facula.equal(y, x)


@pytest.mark.parametrize("name", DROPOUTS)
def test_nothing_is_dropped_outside_training_or_with_probability_zero(name):
    x = facula.randn(2, 3)
    for p, train in ((0.5, False), (0.0, True)):
        assert getattr(facula, name)(x, p, train) is x
    assert getattr(facula, name)(x, 1.0, True).count_nonzero() == 0
    with pytest.raises(RuntimeError, match=f"^{name}: expected p from 0 to 1, got 2"):
        getattr(facula, name)(x, 2, True)


def test_feature_dropout_drops_whole_channels():
    y = facula.feature_dropout(facula.ones(3, 4, 5), 0.5, True)
    assert facula.equal(y, y[:, :, :1].expand(3, 4, 5))
    assert set(y.flatten().tolist()) == {0, 2}
    with pytest.raises(
        RuntimeError, match=r"^feature_dropout: expected an input of at least 2 dim"
    ):
        facula.feature_dropout(facula.ones(3), 0.5, True)


def test_alpha_dropout_keeps_mean_and_variance():
    y = facula.alpha_dropout(facula.randn(200_000), 0.3, True)
    assert abs(y.mean().item()) < 0.02
    assert abs(y.var().item() - 1) < 0.02


def test_rrelu_draws_slopes_for_what_is_not_positive():
    x = facula.tensor([-1.0, 2.0, -1.0])
    assert facula.rrelu(x, 0.25, 0.75).tolist() == [-0.5, 2, -0.5]
    y = facula.rrelu(x, 0.25, 0.75, training=True)
    assert y[1] == 2
    assert all(-0.75 <= slope <= -0.25 for slope in y[::2].tolist())
    with pytest.raises(RuntimeError, match=r"^rrelu_: expected lower <= upper, got 2 and 1"):
        facula.rrelu_(x, 2, 1)

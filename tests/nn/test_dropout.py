"""Dropout."""

import pytest

import facula
import facula.nn.functional as F
from check_op import check_threads
from facula import nn


@pytest.mark.promise("N5", "T9")
def test_same_seed_drops_what_pytorch_drops():
    facula.manual_seed(0)
    kept = [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 2.0, 0.0, 2.0]
    assert F.dropout(facula.ones(10), 0.5).tolist() == kept


@pytest.mark.promise("N5")
@pytest.mark.parametrize(
    "layer, shape",
    [
        (nn.Dropout(), (20, 30)),
        (nn.Dropout1d(), (20, 30, 2)),
        (nn.Dropout2d(), (20, 30, 2, 2)),
        (nn.Dropout3d(), (20, 30, 1, 2, 2)),
        (nn.AlphaDropout(), (20, 30)),
        (nn.FeatureAlphaDropout(), (20, 30, 2)),
    ],
    ids=lambda v: type(v).__name__,
)
def test_evaluation_hands_the_input_on_and_training_does_not(layer, shape):
    x = facula.randn(shape)
    assert layer.eval()(x) is x
    assert not facula.equal(layer.train()(x), x)


@pytest.mark.promise("N5")
@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16, facula.float32, facula.float64])
def test_elements_are_zero_or_scaled_and_so_are_their_gradients(dtype):
    x = facula.ones(1000, dtype=dtype, requires_grad=True)
    y = F.dropout(x, 0.2)
    assert sorted(set(y.tolist())) == [0.0, facula.tensor(1.25, dtype=dtype).item()]
    y.backward(facula.ones_like(y))
    assert facula.equal(x.grad, y)
    assert 0.75 < (y > 0).float().mean() < 0.85


@pytest.mark.promise("N5")
def test_whole_channels_are_dropped():
    y = F.dropout2d(facula.ones(8, 16, 3, 3), 0.5)
    assert set(y.flatten(2).sum(2).flatten().tolist()) == {0.0, 18.0}


@pytest.mark.promise("N5", "T5")
def test_in_place_form_writes_into_its_input():
    x = facula.ones(50)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert set(x.tolist()) == {0.0, 2.0}


@pytest.mark.promise("N5")
def test_alpha_dropout_keeps_mean_and_variance():
    y = F.alpha_dropout(facula.randn(200_000), 0.3, training=True)
    assert abs(y.mean()) < 0.02
    assert abs(y.var() - 1) < 0.05


@pytest.mark.promise("N5")
def test_native_dropout_returns_its_mask():
    y, mask = facula.native_dropout(facula.ones(100), 0.5, True)
    assert facula.equal(y, mask * 2.0)


@pytest.mark.promise("N5")
def test_dropping_all_draws_nothing():
    before = facula.get_rng_state()
    assert F.dropout(facula.ones(3), 1.0).tolist() == [0.0, 0.0, 0.0]
    assert facula.equal(facula.get_rng_state(), before)


@pytest.mark.promise("T10")
def test_bits_do_not_depend_on_threads():
    def drop():
        facula.manual_seed(1)
        return F.dropout(facula.ones(300_000), 0.3)

    check_threads(drop)


@pytest.mark.promise("N5")
@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: F.dropout(facula.ones(1), 2),
            ValueError,
            "dropout: expected a probability p from 0 to 1, got 2",
        ),
        (
            lambda: facula.dropout(facula.ones(1), -1, True),
            RuntimeError,
            "dropout: expected p from 0 to 1, got -1",
        ),
        (lambda: nn.Dropout2d(1.5), ValueError, "Dropout2d: expected a probability p from 0 to 1"),
        (lambda: F.dropout(facula.ones(1).int()), RuntimeError, "dropout: expected a floating-po"),
        (lambda: F.dropout1d(facula.ones(1)), RuntimeError, r"dropout1d: expected an input \(N, C"),
        (
            lambda: F.feature_alpha_dropout(facula.ones(1), 0.5, True),
            RuntimeError,
            "expected an input of at least 2 dimensions",
        ),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()

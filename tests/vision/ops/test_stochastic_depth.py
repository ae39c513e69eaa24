import pytest

import facula
from facula.vision.ops import StochasticDepth, stochastic_depth

pytestmark = pytest.mark.promise("D3")


def test_rows_are_kept_or_zeroed_as_a_whole():
    facula.manual_seed(0)
    y = stochastic_depth(facula.ones(64, 2, 3), p=0.75, mode="row")
    rows = {tuple(row.flatten().tolist()) for row in y}
    assert rows == {(0.0,) * 6, (4.0,) * 6}


def test_a_batch_is_kept_or_zeroed_as_a_whole():
    facula.manual_seed(0)
    x = facula.ones(3, 2)
    assert {stochastic_depth(x, 0.5, "batch").sum().item() for _ in range(20)} == {0.0, 12.0}


def test_evaluation_and_zero_probability_return_the_input_and_draw_nothing():
    x = facula.ones(2)
    state = facula.get_rng_state()
    assert stochastic_depth(x, 0.5, "row", training=False) is x
    assert stochastic_depth(x, 0.0, "row") is x
    assert StochasticDepth(0.5, "row").eval()(x) is x
    assert facula.equal(facula.get_rng_state(), state)


def test_certain_death_gives_zeros_not_nan():
    assert stochastic_depth(facula.ones(2), 1.0, "row").tolist() == [0.0, 0.0]


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="expected a probability p from 0 to 1, got 2"):
        stochastic_depth(facula.ones(2), 2, "row")
    with pytest.raises(ValueError, match="expected mode 'batch' or 'row', got 'column'"):
        stochastic_depth(facula.ones(2), 0.5, "column")


def test_the_layer_prints_its_arguments():
    assert repr(StochasticDepth(0.2, "row")) == "StochasticDepth(p=0.2, mode=row)"

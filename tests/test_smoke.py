"""From import to a trained, saved and reloaded model."""

import pytest

import facula
from examples import digits


@pytest.mark.promise("U1")
def test_the_demo_learns_saves_and_its_weights_reload(tmp_path):
    model, losses, test_accuracy = digits.train(
        tmp_path, tmp_path / "logs", n_epochs=2, batch_size=32, seed=0
    )
    assert losses[-1] < losses[0] / 4
    assert test_accuracy > 0.9

    digits.save(tmp_path, model, losses)
    reloaded = digits.Net()
    reloaded.load_state_dict(facula.load(tmp_path / "weights.pt"))
    facula.manual_seed(0)
    _, test = digits.load_digits()
    assert digits.accuracy(reloaded, *test) == test_accuracy
    assert len((tmp_path / "loss.csv").read_text().splitlines()) == 1 + len(losses)

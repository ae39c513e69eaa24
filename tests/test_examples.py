"""The examples that train a network, at small size: they learn, and the doctor finds nothing."""

import pytest

import facula
from examples import (
    char_gpt,
    dcgan,
    graph_attention,
    language_model,
    policy_gradient,
    speed,
    vae,
)
from facula import doctor

pytestmark = pytest.mark.promise("U8")


@pytest.fixture(autouse=True)
def _nothing_is_found():
    with doctor.watch(tell=lambda finding: None) as watch:
        yield
    assert watch.findings == []


def test_a_gpt_learns_the_characters_of_a_text():
    text = "to be or not to be, that is the question. " * 20
    model, losses, chars = char_gpt.train(text, n_steps=30, context=16, batch_size=8)
    assert losses[-1] < 0.7 * losses[0]
    start = facula.tensor([chars.index("t")])
    written = model.write(start, 40).tolist()
    assert len(written) == 41
    assert model.training


def test_a_language_model_goes_on_from_piece_to_piece(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("one two three four five six seven eight " * 40)
    text = language_model.read([path], 20)
    assert text.max() == 8
    _, perplexities = language_model.train(text, 20, n_epochs=6, n_columns=4, length=8)
    assert perplexities[-1] < 0.5 * perplexities[0]


def test_an_autoencoder_learns_digits():
    model, bounds = vae.train(n_epochs=3)
    assert bounds[-1] < 0.9 * bounds[0]
    drawn = model.sample(5)
    assert drawn.shape == (5, 1, 8, 8)
    assert 0 <= drawn.min() <= drawn.max() <= 1


def test_two_networks_play_against_each_other():
    generator, losses = dcgan.train(n_epochs=1)
    assert len(losses) == 23
    assert all(d > 0 and g > 0 for d, g in losses)
    drawn = generator(facula.randn(2, dcgan.N_LATENT, 1, 1))
    assert drawn.shape == (2, 1, 8, 8)


def test_a_policy_learns_to_balance():
    _, lengths = policy_gradient.train(n_episodes=60)
    assert sum(lengths[-10:]) > 1.5 * sum(lengths[:10])


def test_communities_are_found_by_their_edges():
    assert graph_attention.train(n_steps=60) > 0.7


def test_every_way_to_be_faster_is_measured(capsys, monkeypatch):
    command = ["speed.py", "--device=cpu", "--size=8", "--small=2", "--large=4", "--seconds=0.01"]
    monkeypatch.setattr("sys.argv", command)
    speed.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("training, 2 at a time") and lines[0].endswith("1.00x")
    assert lines[5].startswith("prediction, 4 at a time") and lines[5].endswith("1.00x")
    assert all(float(line.split()[-1][:-1]) > 0 for line in lines)

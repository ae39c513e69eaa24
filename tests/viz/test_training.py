"""Curves of a training: from every kind of log, as a page and as a picture."""

import pytest
from browser import ask, browser, needs_browser
from PIL import Image

import facula

pytestmark = pytest.mark.promise("U5")


def test_dicts_and_checkpoints_have_lists_of_numbers(tmp_path):
    state = {"epoch": 3, "losses": [2.0, 1.0], "norms": {"fc": [(10, 1.5), (20, 1.0)]}}
    curves = facula.viz.training(state).curves
    assert curves == {"losses": [(0, 2.0), (1, 1.0)], "norms/fc": [(10, 1.5), (20, 1.0)]}
    facula.save({"losses": [2.0, 1.0], "w": facula.ones(2)}, tmp_path / "c.pt")
    assert facula.viz.training(tmp_path / "c.pt").curves == {"losses": [(0, 2.0), (1, 1.0)]}


def test_tables_have_the_step_in_their_first_column(tmp_path):
    (tmp_path / "loss.csv").write_text("step,loss,lr\n0,2.5,0.1\n5,1.5,\n")
    page = facula.viz.training(tmp_path / "loss.csv")
    assert page.curves == {"loss": [(0, 2.5), (5, 1.5)], "lr": [(0, 0.1)]}


def test_logs_of_tensorboard_are_read_also_while_they_are_written(tmp_path):
    from facula.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path / "run") as writer:
        for step in range(3):
            writer.add_scalar("loss", 1 / (step + 1), step)
    page = facula.viz.training(tmp_path)
    assert [step for step, _ in page.curves["loss"]] == [0, 1, 2]
    assert [value for _, value in page.curves["loss"]] == pytest.approx([1, 1 / 2, 1 / 3])
    (path,) = tmp_path.rglob("*tfevents*")
    path.write_bytes(path.read_bytes()[:-3])
    assert len(facula.viz.training(path).curves["loss"]) == 2


def test_nothing_to_draw_is_told():
    with pytest.raises(ValueError, match="training: found no numbers over steps"):
        facula.viz.training({"epoch": 1})


def test_a_picture_shows_every_curve(tmp_path):
    page = facula.viz.training({"loss": [3.0, float("nan"), 1.0], "lr": [0.1, 0.1], "no": [0, 0]})
    page.save(tmp_path / "run.png")
    with Image.open(tmp_path / "run.png") as image:
        assert image.size == (900, 3 * 260)
        blue = image.convert("RGB").getcolors(1 << 20)
    assert any(color == (0x1F, 0x6F, 0xEB) for _, color in blue)


@needs_browser
def test_the_page_draws_smooths_and_tells_values(tmp_path):
    values = [1.0, 0.5, float("nan"), 0.25]
    facula.viz.training({"loss": values}).save(tmp_path / "run.html")
    with browser(tmp_path) as page:
        ask(f"{page}/url", {"url": (tmp_path / "run.html").as_uri()})

        def js(script):
            return ask(f"{page}/execute/sync", {"script": f"return {script}", "args": []})

        def element(selector):
            found = ask(f"{page}/element", {"using": "css selector", "value": selector})
            return f"{page}/element/{next(iter(found.values()))}"

        raw = "document.querySelector('path.raw').getAttribute('d')"
        assert js(raw).count("M") == 2  # a gap at the NaN
        assert js("document.querySelector('output').textContent") == "step 3: 0.25000"
        ask(f"{element('svg')}/value", {"text": "\ue012"})  # left
        assert js("document.querySelector('output').textContent") == "step 1: 0.50000"
        linear = js(raw)
        ask(f"{element('#log')}/click", {})
        assert js(raw) != linear

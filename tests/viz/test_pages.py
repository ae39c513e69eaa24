"""Pages about graphs and checkpoints: what they say, and what happens in a browser."""

import subprocess
import sys
import time

import pytest
from browser import ask, browser, needs_browser

import facula
from examples.char_gpt import GPT
from facula import nn, vision

pytestmark = pytest.mark.promise("U5")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return x + self.b(self.a(x).relu())


def rows_of(page):
    return [(row["name"], row["path"], row["inputs"]) for row in page.data["rows"]]


def test_operations_are_in_their_modules_and_know_what_they_are_made_of():
    page = facula.viz.graph(nn.Sequential(Block(), nn.Tanh()), (2, 4))
    assert rows_of(page) == [
        ("input", "", []),
        ("linear", "0.a", [0]),
        ("relu", "0", [1]),
        ("linear", "0.b", [2]),
        ("add", "0", [0, 3]),
        ("tanh", "1", [4]),
    ]
    assert page.data["rows"][1]["parameters"] == ["0.a.weight (4, 4)", "0.a.bias (4,)"]
    assert page.data["rows"][2]["line"].startswith(f"{__file__}:")
    assert page.data["groups"]["0"] == "Block, 40 parameters"
    assert page.data["rows"][5]["saved"] == ["result (2, 4), 32 B"]


def test_the_graph_of_a_loss_is_its_history():
    w = facula.ones(3, requires_grad=True)
    page = facula.viz.graph((w * w).sum())
    assert [row["name"] for row in page.data["rows"]] == ["leaf", "MulBackward0", "SumBackward0"]
    assert page.data["rows"][1]["inputs"] == [0]
    assert page.data["rows"][1]["line"].startswith(f"{__file__}:")


def test_what_has_no_graph_is_refused():
    with pytest.raises(ValueError, match="graph: expected a tensor with a history"):
        facula.viz.graph(facula.ones(2))
    with pytest.raises(TypeError, match="graph: expected a Module or a Tensor, got list"):
        facula.viz.graph([])


def test_a_checkpoint_shows_numbers_and_histograms(tmp_path):
    state = {"epoch": 3, "model": {"fc.weight": facula.arange(6.0).reshape(2, 3)}}
    state["odd"] = facula.tensor([1.0, float("nan")])
    facula.save(state, tmp_path / "c.pt")
    rows = {row["name"]: row for row in facula.viz.checkpoint(tmp_path / "c.pt").data["rows"]}
    assert rows["epoch"]["shape"] == "3"
    assert rows["weight"]["path"] == "model.fc"
    assert sum(rows["weight"]["histogram"]) == 6
    assert rows["weight"]["saved"] == ["from 0 to 5, mean 2.5, standard deviation 1.708"]
    assert rows["odd"]["saved"][1] == "1 of 2 are not finite"


def test_safetensors_are_shown_too(tmp_path):
    from facula.serialization.safetensors import save_file

    save_file({"layer.bias": facula.zeros(3)}, tmp_path / "c.safetensors")
    (row,) = facula.viz.checkpoint(tmp_path / "c.safetensors").data["rows"]
    assert (row["path"], row["name"], row["shape"]) == ("layer", "bias", "(3,)")


def test_names_cannot_break_the_page():
    page = facula.viz.Page("</script><b>", "graph.html", {"title": "</script><b>"})
    assert "</script><b>" not in page.html
    assert "<title>&lt;/script&gt;&lt;b&gt;</title>" in page.html


def run(*words, cwd):
    command = [sys.executable, "-m", "facula.cli", "view", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_the_command_shows_the_first_loss_of_a_program(tmp_path):
    program = "import sys, torch\nw = torch.ones(2, requires_grad=True)\n(w * w).sum().backward()\n"
    (tmp_path / "train.py").write_text(program + "raise SystemError\n")
    done = run("train.py", "--epochs", "3", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "facula view: train.html has 3 rows.\n"
    assert "MulBackward0" in (tmp_path / "train.html").read_text()


def test_the_command_shows_models_and_checkpoints(tmp_path):
    facula.save({"w": facula.ones(2)}, tmp_path / "c.pt")
    assert run("c.pt", "-o", "x.html", cwd=tmp_path).stdout == "facula view: x.html has 1 rows.\n"
    done = run("squeezenet1_1", "--size", "1,3,64,64", cwd=tmp_path)
    assert "squeezenet1_1.html has" in done.stdout
    done = run("nothing", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "facula view: there is no file nothing, and no such model.\n"
    assert "no such model. Was resnet50 or resnet" in run("resnet5", cwd=tmp_path).stderr
    (tmp_path / "empty.py").write_text("x = 1\n")
    assert "empty.py ended without a call of backward" in run("empty.py", cwd=tmp_path).stderr


def test_the_command_shows_logs_of_a_training(tmp_path):
    (tmp_path / "loss.csv").write_text("step,loss,lr\n0,2.0,0.1\n1,1.0,0.1\n")
    done = run("loss.csv", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("facula view: loss.html has 2 curves.\n", "")
    writer = pytest.importorskip("tensorboardX").SummaryWriter(str(tmp_path / "logs"))
    writer.add_scalar("loss", 2.0, 0)
    writer.close()
    assert run("logs", cwd=tmp_path).stdout == "facula view: logs.html has 1 curves.\n"


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("text.pt", b"hello", "load: the file is no checkpoint"),
        ("folder", None, "training: found no numbers over steps in 'folder'"),
        ("gone.csv", None, "No such file or directory: 'gone.csv'"),
        ("gone.py", None, "there is no file gone.py"),
    ],
)
def test_what_cannot_be_shown_is_told_in_a_line(tmp_path, name, content, said):
    (tmp_path / "folder").mkdir()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = run(name, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("facula view: ") and said in done.stderr
    assert "Traceback" not in done.stderr


@needs_browser
def test_the_page_opens_searches_and_tells_by_mouse_and_keyboard(tmp_path):
    model = nn.Sequential(*(Block() for _ in range(12)))
    path = tmp_path / "model.html"
    facula.viz.graph(model, (2, 4)).save(path)
    with browser(tmp_path) as page:
        ask(f"{page}/url", {"url": path.as_uri()})

        def js(script):
            return ask(f"{page}/execute/sync", {"script": f"return {script}", "args": []})

        def element(selector):
            found = ask(f"{page}/element", {"using": "css selector", "value": selector})
            return f"{page}/element/{next(iter(found.values()))}"

        def labels():
            return js("[...document.querySelectorAll('li')].map(li => li.children[1].textContent)")

        assert labels() == ["input", *map(str, range(12))]  # the outermost modules
        assert js("document.querySelectorAll('#edges path').length") == 12

        ask(f"{element('li:nth-child(2) .arrow')}/click", {})
        assert labels()[:6] == ["input", "0", "a", "relu", "b", "add"]
        ask(f"{element('li:nth-child(4)')}/click", {})  # relu
        text = js("document.getElementById('details').innerText")
        assert "relu" in text
        assert "(2, 4)" in text
        assert "test_pages.py:" in text
        assert js("document.querySelectorAll('#edges path.in').length") == 1

        # Left goes to the group around, once more closes it.
        focused = element("li:focus")
        ask(f"{focused}/value", {"text": "\ue012"})
        assert js("document.activeElement.children[1].textContent") == "0"
        ask(f"{element('li:focus')}/value", {"text": "\ue012"})
        assert labels() == ["input", *map(str, range(12))]

        ask(f"{element('#search')}/value", {"text": "11.a"})
        assert js("document.getElementById('count').textContent") == "1 found"
        assert js("document.querySelector('li.found').children[1].textContent") == "linear"


def pages_of_large_models():
    resnet = vision.models.resnet50(weights=None).eval()
    yield "resnet50", facula.viz.graph(resnet, (1, 3, 64, 64))
    gpt = GPT(65, context=64, n_layers=12)
    tokens = facula.zeros(1, 64, dtype=facula.int64)
    yield "gpt", facula.viz.graph(gpt, (tokens,))
    yield "loss of gpt", facula.viz.graph(gpt(tokens).mean())


@needs_browser
def test_pages_of_large_models_open_within_two_seconds(tmp_path):
    with browser(tmp_path) as session:
        for name, page in pages_of_large_models():
            path = tmp_path / f"{name}.html"
            page.save(path)
            start = time.monotonic()
            ask(f"{session}/url", {"url": path.as_uri()})  # answers when the page is loaded
            script = (
                "document.getElementById('open').click();"
                "document.body.getBoundingClientRect();"  # waits for the layout
                "return document.querySelectorAll('li').length"
            )
            n_rows = ask(f"{session}/execute/sync", {"script": script, "args": []})
            seconds = time.monotonic() - start
            assert n_rows >= len(page.data["rows"])
            assert seconds < 2, f"{name}: {n_rows} rows in {seconds:.2f} s"

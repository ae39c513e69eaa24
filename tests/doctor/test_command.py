"""``facula doctor`` runs a program as ``facula run`` does, and sums up what was found."""

import json
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from facula.doctor import Finding, Place
from facula.doctor._page import page

FAULTY = """
import torch
print("hello")
p = torch.ones(1, 2, requires_grad=True).softmax(1)
torch.nn.functional.cross_entropy(p, torch.tensor([0]))  # <b> & "x"
"""
CORRECT = "import torch\nprint(torch.ones(2).sum().item())\n"
FAILING = """
import sys, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    def forward(self, x):
        return self.layers(x)

class Broken(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, i):
        raise KeyError(i)

how, net = sys.argv[1], Net()
if how == "model":
    net(torch.ones(2, 5))
if how == "cause":
    try:
        net(torch.ones(2, 5))
    except RuntimeError as error:
        raise ValueError("wrong") from error
if how == "state":
    net.load_state_dict({})
if how == "backward":
    loss = (net(torch.ones(1, 3)) ** 2).sum()
    torch.autograd.backward([loss])
    torch.autograd.backward([loss])
if how == "optimiser":
    torch.optim.SGD([], lr=0.1)
if how == "loader":
    next(iter(DataLoader(Broken())))
if how == "save":
    torch.save({}, "no/such/folder.pt")
if how == "exit":
    sys.exit("goodbye")
"""


@pytest.fixture
def command(tmp_path):
    """Writes a program, and gives the finished process of ``facula doctor`` with these options."""

    def command(source, *options, name="doctor", arguments=()):
        (tmp_path / "train.py").write_text(source)
        return subprocess.run(
            [sys.executable, "-m", "facula", name, *options, "train.py", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return command


def test_findings_are_told_and_summed_up(command):
    done = command(FAULTY)
    assert done.returncode == 0
    assert done.stdout == "hello\n"
    lines = done.stderr.splitlines()
    assert lines[0].startswith("train.py:5: F101 cross_entropy is given the result of softmax")
    assert lines[0].endswith("(see also train.py:4)")
    assert lines[-1] == "facula doctor: 1 finding (F101)."


def test_nothing_found_is_said(command):
    done = command(CORRECT, "--strict")
    assert (done.returncode, done.stdout) == (0, "2.0\n")
    assert done.stderr == "facula doctor: no findings.\n"


def test_strict_ends_with_a_status(command):
    assert command(FAULTY, "--strict").returncode == 1
    assert command(FAULTY, "--strict", "--ignore", "F999,F101").returncode == 0
    assert command(FAULTY, "--strict", "--ignore=F101:train.py:5").returncode == 0


def test_json_goes_to_a_file_or_to_standard_output(command, tmp_path):
    done = command(FAULTY, "--json", "-")
    assert done.stdout.startswith("hello\n")
    (finding,) = json.loads(done.stdout.removeprefix("hello\n"))
    assert finding["id"] == "F101"
    assert finding["place"] == "train.py:5" and finding["other"] == "train.py:4"
    command(FAULTY, "--json=findings.json")
    assert json.loads((tmp_path / "findings.json").read_text()) == [finding]


def test_the_page_shows_the_lines(command, tmp_path):
    command(FAULTY, "--page", "findings.html")
    text = (tmp_path / "findings.html").read_text()
    check_html(text)
    assert "<h1>1 finding in train.py</h1>" in text
    assert "# &lt;b&gt; &amp; &quot;x&quot;" in text


def test_files_are_written_also_if_the_program_fails(command, tmp_path):
    done = command(FAULTY + "raise ValueError('mine')\n", "--json=findings.json", "--strict")
    assert done.returncode == 1
    assert "ValueError: mine" in done.stderr
    assert [f["id"] for f in json.loads((tmp_path / "findings.json").read_text())] == ["F101"]


def test_strict_counts_also_for_a_program_that_exits(command):
    assert command(FAULTY + "raise SystemExit(0)\n", "--strict").returncode == 1
    assert command(FAULTY + "raise SystemExit(7)\n", "--strict").returncode == 7
    assert command(FAULTY + "raise SystemExit(0)\n").returncode == 0


def test_files_lie_where_the_command_was_given(command, tmp_path):
    command(FAULTY + "import os; os.mkdir('below'); os.chdir('below')\n", "--json=findings.json")
    assert (tmp_path / "findings.json").exists()


def test_options_of_run_may_stand_among_those_of_the_doctor(command):
    done = command(FAULTY, "--report", "--era", "none", "--strict")
    assert done.returncode == 1
    assert "F101" in done.stderr


def test_a_program_that_is_not_there_is_no_program_without_findings(command):
    done = command("", "gone.py")
    assert done.returncode == 2
    assert done.stderr.startswith("facula doctor: there is no file gone.py.")
    assert "no findings" not in done.stderr


def test_help_and_unknown_options(command):
    assert command("", "--help").stdout.startswith("usage: facula doctor [options] (SCRIPT")
    done = command("", "--nonsense")
    assert done.returncode == 2
    assert done.stderr.startswith("facula doctor: there is no option --nonsense.")


@pytest.mark.parametrize(
    "how", ["model", "cause", "state", "backward", "optimiser", "loader", "save", "exit"]
)
def test_errors_of_the_program_are_shown_as_without_a_doctor(command, how):
    ours = command(FAILING, arguments=[how])
    theirs = command(FAILING, name="run", arguments=[how])
    assert theirs.stderr
    assert ours.stderr.replace("facula doctor: no findings.\n", "") == theirs.stderr
    assert ours.returncode == theirs.returncode


class Balanced(HTMLParser):
    """Refuses elements that are closed in another order than they were opened."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_html(text):
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert parser.open == []


def test_the_page_is_well_formed_and_escapes_what_it_shows(tmp_path):
    source = tmp_path / "<a>&.py"
    source.write_text("x < 1 and y > 2  # </pre><script>\n")
    place = Place(str(source), 1)
    finding = Finding("F101", "<i>it</i> & so", place, Place("<stdin>", 3), "a < b", "y = x & 1")
    text = page([finding, finding], "<script>.py")
    check_html(text)
    assert "<i>" not in text and "<script>" not in text
    assert "x &lt; 1 and y &gt; 2" in text
    assert "<h1>2 findings in &lt;script&gt;.py</h1>" in text
    check_html(page([], "train.py"))
    assert "<h1>Nothing found in train.py</h1>" in page([], "train.py")

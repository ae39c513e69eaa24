"""Programs with a silent mistake, which the doctor finds at the marked line, and programs without.

A line of a program in ``faulty/`` that ends with ``# finds F101`` is where that finding is
expected; nothing else may be found. In the programs of ``correct/`` nothing is found.
"""

import re
import runpy
import warnings
from pathlib import Path

import pytest

import facula
from facula import doctor
from facula.doctor._checks.data import SlowLoading

HERE = Path(__file__).parent
MARK = re.compile(r"# finds (F\d+(?:, F\d+)*)")


def findings_of(program):
    with doctor.watch(tell=lambda finding: None) as watch:
        runpy.run_path(str(program), run_name="__main__")
    return sorted((f.id, f.place.line) for f in watch.findings)


def expected_of(program):
    lines = enumerate(program.read_text().splitlines(), start=1)
    marks = ((number, MARK.search(line)) for number, line in lines)
    return sorted((id, n) for n, mark in marks if mark for id in mark[1].split(", "))


@pytest.mark.promise("U4")
@pytest.mark.parametrize("program", sorted((HERE / "faulty").glob("*.py")), ids=lambda p: p.stem)
def test_the_mistake_is_found_at_its_line(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SlowLoading, "least_s", 0.1)  # rather than a test of many seconds
    assert expected_of(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of a few of the mistakes, too
        warnings.filterwarnings("error", "doctor: ")
        assert findings_of(program) == expected_of(program)


@pytest.mark.promise("U4")
@pytest.mark.parametrize("program", sorted((HERE / "correct").glob("*.py")), ids=lambda p: p.stem)
def test_nothing_is_found_in_a_correct_program(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert findings_of(program) == []


def test_every_check_has_a_program_that_it_finds_something_in():
    found = {id for p in (HERE / "faulty").glob("*.py") for id, _ in expected_of(p)}
    assert found == {check.id for check in doctor._checks.CHECKS}


def test_a_watch_leaves_everything_as_it_was():
    before = facula.nn.Module.__call__, facula.Tensor.data, facula.save, facula.optim.Optimizer.step
    with doctor.watch():
        assert facula.nn.Module.__call__ is not before[0]
    after = facula.nn.Module.__call__, facula.Tensor.data, facula.save, facula.optim.Optimizer.step
    assert after == before


WORKERS = """
from facula.utils.data import DataLoader
for _ in DataLoader(list(range(4)), num_workers=1):
    pass
"""


def test_a_cell_of_a_notebook_needs_no_guard():
    with doctor.watch(tell=lambda finding: None) as watch:
        exec(compile(WORKERS, "/tmp/ipykernel_1/2.py", "exec"), {"__name__": "__main__"})
    assert not watch.findings


LAYERS = """
from facula import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), None
        self.later = nn.Linear(2, 1)
    def forward(self, x):
        return self.first(x)
"""
LATER = """
import facula
from layers import Net
net = Net()
optimizer = facula.optim.SGD(net.parameters(), lr=0.1)
for step in range(30):
    h = net(facula.ones(4, 2))
    loss = h.square().mean() if step < 20 else net.later(h).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_layer_that_another_file_uses_later_is_used(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "layers.py").write_text(LAYERS)
    program = tmp_path / "train.py"
    program.write_text(LATER)
    assert findings_of(program) == []
    program.write_text(LATER.replace("step < 20", "True"))
    assert findings_of(program) == [("F603", 7)]

import importlib
import sys
import warnings
from pathlib import Path

import pytest

import facula

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))
reasons, sweep, sweep_calls, sweep_inputs = map(
    importlib.import_module, ("reasons", "sweep", "sweep_calls", "sweep_inputs")
)
CALLS = sweep_calls.all_calls(facula)
KEY = ("torch.exp(x)", "8", "contiguous", "float32", 1)


def row(ratio, key=KEY):
    return sweep.Row(key, 1e-6, ratio * 1e-6)


@pytest.mark.parametrize("family", list(dict.fromkeys(call.family for call in CALLS)))
def test_every_call_of_the_sweep_runs(family):
    for call in CALLS:
        if call.family == family and call.functions() not in (
            ["torch.indices_copy"],  # of sparse tensors, which PyTorch refuses as well
            ["torch.values_copy"],
        ):
            key = (call.text, *sweep_calls.PLANS[call.plan][0])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert sweep.Rows(facula).time(key, 0) > 0, call


@pytest.mark.parametrize("layout", sweep_inputs.LAYOUTS)
@pytest.mark.parametrize("dtype", sweep_inputs.DTYPES)
def test_inputs_have_the_layout_and_the_dtype_of_the_row(layout, dtype):
    x = sweep_inputs.Inputs(facula, "1k", layout, dtype).x()
    strides = {"contiguous": (32, 1), "transposed": (1, 32), "strided": (64, 2)}
    assert (x.shape, x.stride(), x.dtype) == ((32, 32), strides[layout], getattr(facula, dtype))


def test_every_function_of_tensors_alone_is_in_the_sweep():
    names = {name for call in CALLS for name in call.names()}
    assert {"torch.exp", "torch.add", "torch.sum", "F.relu", "Tensor.exp_", "nn.ReLU"} <= names
    assert len(names) > 800
    left = sweep_calls.uncovered(facula, CALLS)
    assert "torch.set_num_threads" in left
    simple = [*sweep_calls.exported(facula).items()]
    assert not [n for n, f in simple if n in left and list(sweep_calls.from_signature(n, f))]


def test_names_in_braces_stand_for_a_call_each():
    assert sweep_calls.expanded("torch.{sin cos}(x)") == ["torch.sin(x)", "torch.cos(x)"]


def test_rows_that_became_slower_by_a_quarter_are_pointed_out():
    other = ("torch.sin(x)", *KEY[1:])
    last = {KEY: row(2.0), other: row(2.0, other)}
    assert sweep.fallen([row(1.4), row(1.6, other)], last) == [(row(1.4), row(2.0))]
    assert sweep.fallen([row(1.4)], {}) == []


def test_rows_are_read_as_they_were_written(tmp_path):
    key = ('torch.einsum("ij,jk->ik", x, thin)', "1M", "strided", "bfloat16", 2)
    rows = [row(2.0), row(0.5, key)]
    sweep.write(tmp_path / "sweep.csv", rows)
    read = sweep.read(tmp_path / "sweep.csv")
    assert {key: row.ratio for key, row in read.items()} == {KEY: 2.0, key: 0.5}
    assert sweep.read(tmp_path / "none.csv") == {}


def test_the_summary_counts_rows_below_each_limit():
    lines = sweep.summary([row(4.0), row(0.25)], {KEY[0]: "unary"}).splitlines()
    assert lines[2] == "| unary | 1 | 2 | 1.00x | 50.0% | 50.0% |"
    assert lines[3].startswith("| all |")


def test_the_slowest_rows_come_first():
    *_, first, second = sweep.table([row(1.0), row(0.5)]).splitlines()
    assert first.startswith("| 0.50x | `torch.exp(x)` | 8 | `contiguous` |")
    assert second.startswith("| 1.00x |")


@pytest.mark.parametrize(
    "call, reply",
    [
        ("import os; os._exit(3)", "crashed with 3"),
        ("import time; time.sleep(60)", "no reply after 2 s"),
        ("torch.nothing()", "AttributeError: module 'facula' has no attribute 'nothing'"),
    ],
)
def test_a_call_that_ends_its_process_costs_its_row_alone(call, reply, monkeypatch):
    monkeypatch.setattr(sweep, "TIMEOUT_S", 2)
    worker = sweep.Worker("facula")
    before, failed, after = worker.times([KEY, (call, *KEY[1:]), KEY], 0)
    worker.close()
    assert before > 0
    assert failed == reply
    assert after > 0


def test_the_page_shows_the_rows_of_the_table_that_are_below_1():
    rows = [row for row in sweep.read(sweep.TABLE).values() if row.ratio < 1]
    assert rows
    assert sweep.table(rows) in sweep.PAGE.read_text()


def test_rows_that_are_behind_are_told_with_what_limits_them(monkeypatch):
    known = (("sort", "Memory is its limit."), ("exp|log", "Its polynomial is longer."))
    monkeypatch.setattr(reasons, "REASONS", known)
    assert reasons.explained(
        ["torch.log(x)", "`torch.exp(x)`", "torch.sin(x)", "torch.log(x)"]
    ) == (
        "- `torch.log(x)`, `torch.exp(x)`: Its polynomial is longer.\n"
        f"- `torch.sin(x)`: {reasons.UNKNOWN}"
    )

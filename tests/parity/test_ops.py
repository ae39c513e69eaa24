"""Every operation of the table over every dtype, layout and form, compared with PyTorch."""

from __future__ import annotations

import pytest

from .engine import check_bad_inputs, check_op
from .frameworks import DTYPES, facula
from .known_differences import known
from .ops import Op, table
from .report import missing_forms

OPS = table()
N_SHOWN = 8


@pytest.mark.parametrize("name", OPS)
def test_every_form_of_the_operation_exists(name: str) -> None:
    assert missing_forms(facula, OPS[name]) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPS)
def test_op(name: str, dtype: str) -> None:
    op: Op = OPS[name]
    if missing_forms(facula, op):
        pytest.skip("the test of its existence fails")
    excused = known(name, dtype)
    _, differences = check_op(op, dtype)
    new = [f"{d.category}: {d.text}" for d in differences if d.category not in excused]
    assert not new, f"{len(new)} differences\n" + "\n".join(new[:N_SHOWN])
    unseen = set(excused) - {d.category for d in differences}
    assert not unseen, f"known_differences.py excuses {unseen}, which no longer differ"


@pytest.mark.parametrize("name", [n for n, op in OPS.items() if op.info.error_inputs_func])
def test_bad_inputs_raise_what_pytorch_raises(name: str) -> None:
    if missing_forms(facula, OPS[name]):
        pytest.skip("the test of its existence fails")
    _, differences = check_bad_inputs(OPS[name])
    assert not differences, "\n".join(d.text for d in differences[:N_SHOWN])

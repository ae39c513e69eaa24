"""Every operation of the table over every dtype, layout and form, compared with PyTorch."""

from __future__ import annotations

import pytest

from .engine import check_bad_inputs, check_op
from .frameworks import facula
from .known_differences import KNOWN, unexcused
from .ops import Op, table

OPS = table()
N_SHOWN = 8


@pytest.mark.parametrize("name", OPS)
def test_every_form_of_the_operation_exists(name: str) -> None:
    assert OPS[name].missing_forms(facula) == []


def _present(name: str) -> Op:
    op = OPS[name]
    if len(op.missing_forms(facula)) == len(op.forms):
        pytest.skip("the test of its existence fails")
    return op


@pytest.mark.parametrize(
    "name, dtype", [(name, dtype) for name, op in OPS.items() for dtype in op.dtypes]
)
def test_op(name: str, dtype: str) -> None:
    """Differences are known, and what is known to differ does."""
    _, differences = check_op(_present(name), dtype)
    new = [f"{d.category}: {d.text}" for d in unexcused(name, dtype, differences)]
    assert not new, f"{len(new)} differences\n" + "\n".join(new[:N_SHOWN])


def test_every_known_difference_is_of_an_operation_and_a_dtype_that_are_compared() -> None:
    assert [k for k in KNOWN if not set(k.dtypes) <= set(OPS[k.op].dtypes)] == []


@pytest.mark.parametrize("name", [n for n, op in OPS.items() if op.info.error_inputs_func])
def test_bad_inputs_raise_what_pytorch_raises(name: str) -> None:
    _, differences = check_bad_inputs(_present(name))
    assert not differences, "\n".join(d.text for d in differences[:N_SHOWN])

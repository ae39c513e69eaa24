"""uint16, uint32 and uint64 in the calls of PyTorch's database: what it computes, Facula does too.

The three dtypes have few operations in PyTorch, and which ones is taken from what it does here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from .compare import Difference
from .engine import Case, check_case, is_elementwise, run
from .frameworks import COMPARED, UNSIGNED, facula
from .ops import Op, table
from .outcome import agree
from .samples import laid_out, samples

N_SHOWN = 8
# Degrees of up to 2^64 keep PyTorch busy for hours.
OPS = {name: op for name, op in table().items() if len(op.dtypes) > 1 and "polynomial" not in name}
ALL = tuple(UNSIGNED)
_ONE_ELEMENT = "PyTorch returns the only element without asking for its dtype."
_ROUNDED = "What is left of numbers of 2^64 in float32 depends on the order of adding."
_BEYOND = "Numbers that int64 does not hold are refused."
# The dtypes in which an operation differs, and why.
KNOWN: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(("mode", "topk", "masked.prod"), (ALL, _ONE_ELEMENT)),
    **dict.fromkeys(
        ("max.reduction_with_dim", "min.reduction_with_dim"),
        (ALL, _ONE_ELEMENT),
    ),
    **dict.fromkeys(("cov", "corrcoef"), (("uint64",), _ROUNDED)),
    **dict.fromkeys(
        ("linspace.tensor_overload", "logspace.tensor_overload"), (("uint64",), _BEYOND)
    ),
    "conj_physical": (ALL, "PyTorch refuses with out= what it does without."),
    "fft.ihfftn": (ALL, "PyTorch writes nothing to out=."),
    "nonzero_static": (ALL, "Asked for no places, PyTorch does not look for the dtype."),
}


def _cases(op: Op, dtype: str) -> Iterator[Case]:
    """Calls with elements: without any, PyTorch often does not ask for their dtype."""
    missing = op.missing_forms(facula)
    forms = [form for form in op.forms if form not in missing]
    for i, sample in enumerate(samples(op, dtype)):
        plain = sample.without_grad()
        variants = [plain, *(laid_out(plain, is_elementwise(op)) if i == 0 else ())]
        for variant in variants:
            if all(t.numel() for t in variant.tensors()):
                for form in forms if variant is plain and i < 2 else forms[:1]:
                    yield Case(variant, form, 0, "fitting" if form == "out" else "")


def _is_computed(op: Op, case: Case) -> bool:
    """Whether PyTorch computes the call, ``out=`` left away."""
    form = "function" if case.form == "out" else case.form
    return run(torch, op, case._replace(form=form), None).error is None


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize("name", OPS)
def test_what_pytorch_computes_is_computed(name: str, dtype: str) -> None:
    op = OPS[name]
    found: list[Difference] = []
    for case in _cases(op, dtype):
        if _is_computed(op, case):
            found += check_case(op, case)
    dtypes, reason = KNOWN.get(name, ((), ""))
    if dtype in dtypes:
        assert found, f"agrees, but is listed as known to differ: {reason}"
        return
    assert not found, "\n".join(f"{d.category}: {d.text}" for d in found[:N_SHOWN])


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize("name", [name for name, op in OPS.items() if is_elementwise(op)])
def test_what_pytorch_refuses_element_by_element_is_refused(name: str, dtype: str) -> None:
    op = OPS[name]
    cases = [c for c in _cases(op, dtype) if c.form != "out" and not _is_computed(op, c)]
    found = [d for case in cases for d in check_case(op, case)]
    assert not found, "\n".join(f"{d.category}: {d.text}" for d in found[:N_SHOWN])


_PAIRS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mul": lambda lib, x, y: x * y,
    "rmul": lambda lib, x, y: y * x,
    "mul_": lambda lib, x, y: x.mul_(y),
    "eq": lambda lib, x, y: x == y,
    "ne": lambda lib, x, y: y != x,
    "eq_": lambda lib, x, y: x.eq_(y),
    "and": lambda lib, x, y: x & y,
    "ror": lambda lib, x, y: y | x,
    "xor": lambda lib, x, y: x ^ y,
    "where": lambda lib, x, y: lib.where(x != 1, x, y),
}


@pytest.mark.parametrize("other", COMPARED)
@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize("name", _PAIRS)
def test_promotion(name: str, dtype: str, other: str) -> None:
    x = torch.tensor([0, 1, 5, torch.iinfo(UNSIGNED[dtype]).max], dtype=UNSIGNED[dtype])
    y = torch.tensor([1, 2, 5, 100], dtype=torch.uint8).to(COMPARED[other])
    for a, b in ((x, y), (x, y[2]), (x[3], y), (x[2], y[2])):
        agree(_PAIRS[name], a, b)


@pytest.mark.parametrize("number", [2, -1, -65535, 65536, True, 1.5, 2**63 + 5, 1j], ids=str)
@pytest.mark.parametrize("dtype", UNSIGNED)
def test_python_numbers(number: complex, dtype: str) -> None:
    x = torch.tensor([0, 1, 5, torch.iinfo(UNSIGNED[dtype]).max], dtype=UNSIGNED[dtype])
    for pair in _PAIRS.values():
        agree(lambda lib, a, pair=pair: pair(lib, a, number), x.clone())
    agree(lambda lib, a: lib.full_like(a, number), x)
    agree(lambda lib, a: a.fill_(number), x.clone())
    agree(lambda lib, a: lib.result_type(a, number) == a.dtype, x)


@pytest.mark.parametrize("bounds", [(0, 5), (3, 2**15), (0, 2**16), (0, 2**40), (-1, 5), (9, None)])
@pytest.mark.parametrize("dtype", UNSIGNED)
def test_random_integers(dtype: str, bounds: tuple[int, int | None]) -> None:
    if dtype == "uint64" and bounds[1] is None:
        pytest.skip("PyTorch takes the largest number of uint64 for -1 and refuses it")
    agree(lambda lib, x: x.random_(*bounds), torch.zeros(20, dtype=UNSIGNED[dtype]))

"""Operations on conjugate and negated views, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from .engine import Case, check_case
from .frameworks import convert, facula, outcome_of
from .ops import table
from .outcome import agree, flatten
from .samples import Sample, samples

OPS = {name: op for name, op in table().items() if "complex64" in op.dtypes}
N_SAMPLES = 3
N_SHOWN = 8
_FREE = ("strides",)  # those of a copy that PyTorch makes on the way are its own affair
# PyTorch does not write new statistics to a negated view; here they arrive.
_NOT_WRITTEN = ("nn.functional.batch_norm", "native_batch_norm")


def conjugated(t: torch.Tensor) -> torch.Tensor:
    """The same elements, complex ones as a conjugate view."""
    return t.conj_physical().conj() if t.is_complex() else t


def negated(t: torch.Tensor) -> torch.Tensor:
    """The same elements as a negated view. PyTorch reads negated indices as they lie in memory."""
    return t.neg()._neg_view() if t.is_complex() or t.is_floating_point() else t


def both(t: torch.Tensor) -> torch.Tensor:
    return negated(t.conj_physical()).conj() if t.is_complex() else t


def first_only(change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Of several tensors the first alone: the others are what they were."""
    n_seen = 0

    def once(t: torch.Tensor) -> torch.Tensor:
        nonlocal n_seen
        n_seen += 1
        return change(t) if n_seen == 1 else t

    return once


def _cases(op: Any, dtype: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[Any]:
    """Pairs of the case with views and the same without."""
    forms = [form for form in op.forms if form not in (*op.missing_forms(facula), "out")]
    for i, sample in enumerate(samples(op, dtype)[:N_SAMPLES]):
        variants: list[Sample] = [sample.map(change.__name__, change)]
        if len(sample.tensors()) > 1:
            variants.append(sample.map(f"{change.__name__} first", first_only(change)))
        for variant in variants:
            for form in forms if i == 0 else forms[:1]:
                yield Case(variant, form, 1), Case(sample, form, 1)


def _differences(op: Any, dtype: str, change: Any) -> Iterator[str]:
    """What differs for views and not for other tensors."""
    for case, plain in _cases(op, dtype, change):
        found = [d for d in check_case(op, case) if d.category not in _FREE]
        known = {d.category for d in check_case(op, plain)} if found else set()
        known |= {"memory"} if op.name in _NOT_WRITTEN else set()
        yield from (f"{d.category}: {d.text}" for d in found if d.category not in known)


@pytest.mark.parametrize(
    "name, dtype, change",
    [(name, "complex64", conjugated) for name in OPS]
    + [(name, "complex64", negated) for name in OPS]
    + [(name, "float32", negated) for name in OPS]
    + [(name, "complex64", both) for name in ("add", "mm", "sum", "imag", "real", "clone")],
)
def test_an_operation_sees_the_elements_of_views(name: str, dtype: str, change: Any) -> None:
    new = list(_differences(OPS[name], dtype, change))
    assert not new, f"{len(new)} differences\n" + "\n".join(new[:N_SHOWN])


# Those that PyTorch answers with a view: ours has the same bits.
VIEWS = [name for name in OPS if name.rpartition(".")[2] == name and hasattr(torch.Tensor, name)]


@pytest.mark.parametrize("name", VIEWS)
def test_results_that_share_memory_have_the_same_bits(name: str) -> None:
    op = OPS[name]
    for sample in samples(op, "complex64")[:N_SAMPLES]:
        sample = sample.without_grad().map("conjugated", conjugated)
        results = []
        for lib in (torch, facula):
            args, kwargs = convert(lib, (sample.args, sample.kwargs))
            form = next(form for form in op.forms if form != "out")
            result, error = outcome_of(lambda: op.callable(lib, form)(*args, **kwargs))  # noqa: B023
            pointers = {t.untyped_storage().data_ptr() for t in flatten(args)}
            results.append(
                [
                    (t.is_conj(), t.is_neg())
                    if t.untyped_storage().data_ptr() in pointers and t.numel()
                    else None
                    for t in flatten(result)
                ]
                if error is None
                else None
            )
        assert results[1] == results[0] or None in results, sample.describe()


def program_of_writes(lib: Any, x: Any) -> Any:
    base = x * 2
    view = base.conj()
    view.mul_(x.imag)
    base.imag.add_(1)
    view[0].copy_(view[1] * 1j)
    view.real.mul_(x.imag)
    return base, view, view.imag, (view @ view.mH).sum()


def test_a_program_that_writes_through_views() -> None:
    agree(program_of_writes, torch.randn(3, 3, dtype=torch.complex128, requires_grad=True), grad=2)

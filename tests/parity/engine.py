"""One operation, one dtype: every sample, layout and form on both frameworks, compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from .compare import SLACK, TOLERANCES, Difference
from .frameworks import COMPARED, dtype_name, facula, is_tensor, outcome_of, seed
from .harmless import are_ties, in_float32, is_rounded
from .ops import CRASHES_PYTORCH, Op
from .outcome import Outcome, compare_outcomes, execute, flatten, show
from .samples import N_LAID_OUT, Sample, laid_out, references, samples, transposed


class Case(NamedTuple):
    sample: Sample
    form: str
    grad: int  # how often to differentiate
    out: str = ""  # which kind of out= tensor, for the form "out"

    def describe(self) -> str:
        return f"{self.form}{' ' + self.out if self.out else ''} {self.sample.describe()}"


def check_op(op: Op, dtype: str) -> tuple[int, list[Difference]]:
    """The number of cases tried, and all differences found."""
    n_cases, found = 0, []
    for case in cases(op, dtype):
        n_cases += 1
        found += check_case(op, case)
    return n_cases, found


def check_bad_inputs(op: Op) -> tuple[int, list[Difference]]:
    """The calls that PyTorch's database lists as wrong."""
    n_cases, found = 0, []
    missing = op.missing_forms(facula)
    form = next(form for form in op.forms if form not in missing)
    seed(torch)
    for i, bad in enumerate(op.info.error_inputs("cpu", set_seed=False)):
        s = bad.sample_input
        kwargs, out = dict(s.kwargs), s.kwargs.get("out")
        kwargs.pop("out", None)
        sample = Sample(f"bad input {i}", (s.input, *s.args), kwargs)
        if form == "method" and not is_tensor(s.input):
            continue  # without its tensor, it is Python that refuses the method
        # PyTorch makes tensors of more dims and refuses them later, Facula at once.
        if any(t.dim() > 64 or t.device.type != "cpu" for t in sample.tensors()):
            continue
        n_cases += 1
        found += check_case(op, Case(sample, form, 0), out)
    return n_cases, found


def cases(op: Op, dtype: str) -> Iterator[Case]:
    order = 2 if dtype in ("float64", "complex128") else 1
    missing = op.missing_forms(facula)
    forms = [form for form in op.forms if form not in missing]
    first = forms[0]
    for i, sample in enumerate(samples(op, dtype)):
        if op.path in CRASHES_PYTORCH:
            if all(t.numel() for t in sample.tensors()):
                yield Case(sample, first, order)
            continue
        yield Case(sample, first, order)
        if i >= N_LAID_OUT:
            continue
        for form in forms[1:]:
            if form != "out":
                yield Case(sample, form, 1)
        plain = sample.without_grad()
        if "out" in forms:
            yield Case(sample, "out", 0, "fitting")  # refused if a gradient is wanted
            for kind in OUT_KINDS:
                yield Case(plain, "out", 0, kind)
        in_place = [form for form in forms if form == "inplace" and i == 0]
        for variant in laid_out(sample, is_elementwise(op)):
            yield Case(variant, first, 1)
            for form in in_place:
                yield Case(variant, form, 1)
        for form in in_place:
            yield Case(plain, form, 0)
    for sample in references(op, dtype):
        yield Case(sample, first, 1)


def is_elementwise(op: Op) -> bool:
    return type(op.info).__name__ in ("UnaryUfuncInfo", "BinaryUfuncInfo")


def check_case(op: Op, case: Case, out: Any = None) -> list[Difference]:
    kind = op.tolerance
    if case.form == "out":
        plain = _plain_result(op, case.sample)
        out = torch.empty(0) if plain is None else _out_tensors(plain, case.out)
        if out is None:
            return []
        if case.out == "wider dtype" and kind in SLACK:
            kind = _narrower(kind, plain)
    expected = run(torch, op, case, out)
    found, error = outcome_of(lambda: _compare(op, case, kind, expected, out))
    if error is not None:  # the arguments could not be made, or the results not read
        found = [Difference("unusable", show(error))]
    return [d._replace(text=f"{d.text} | {case.describe()}") for d in found]


def _compare(op: Op, case: Case, kind: str, expected: Outcome, out: Any) -> list[Difference]:
    """What differs. What is proved to be harmless gets a category that says so.

    "rounding": 16-bit floats are what PyTorch computes in float32 and rounds. "ties": other indices
    lead to equal elements.
    """
    actual = run(facula, op, case, out)
    found = compare_outcomes(kind, expected, actual)
    categories = {d.category for d in found}
    harmless: dict[str, str] = {}
    if {"value", "grad"} & categories and case.form == "function" and is_rounded(case.sample):
        wide = run(torch, op, case, out, [t.dtype for t in expected.tensors])
        left = {d.category for d in compare_outcomes(kind, wide, actual)}
        if wide.error is None:
            harmless = dict.fromkeys({"value", "grad"} - left, "rounding")
    if {"value", "memory"} & categories and are_ties(op.path, case.sample, expected, actual):
        harmless = {"value": "ties", "memory": "ties"}
    return [d._replace(category=harmless.get(d.category, d.category)) for d in found]


def run(
    lib: Any, op: Op, case: Case, out: Any, rounded_to: list[torch.dtype] | None = None
) -> Outcome:
    """The case on one framework; with ``rounded_to``, computed in float32 and then rounded."""

    def call(args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        function = op.callable(lib, case.form)
        if rounded_to is not None:
            function = in_float32(function, rounded_to)
        in_place = case.form in ("inplace", "inplace_operator")
        if in_place and any(t.requires_grad for t in flatten((args, kwargs))):
            args = (args[0].clone(), *args[1:])  # a leaf that requires grad refuses to be changed
        if op.path in ("resize_", "resize_as_"):
            args = (args[0].clone(), *args[1:])  # memory that NumPy owns cannot be resized
        if out is not None:
            kwargs = {**kwargs, "out": out}
        return function(*args, **kwargs)

    return execute(lib, call, (case.sample.args, case.sample.kwargs, out), case.grad)


OUT_KINDS = (
    "fitting",
    "empty",
    "transposed",
    "wider dtype",
    "integer dtype",
    "larger",
)


def _plain_result(op: Op, sample: Sample) -> Any:
    """What PyTorch returns without ``out=``; None where it refuses the call."""
    plain = sample.without_grad()
    function = op.callable(torch, "function")
    seed(torch)
    return outcome_of(lambda: function(*plain.args, **plain.kwargs))[0]


def _narrower(kind: str, result: Any) -> str:
    """The kind of values that were computed in the dtypes of ``result`` and then widened."""
    names = [name for t in flatten(result) if (name := dtype_name(t.dtype)) in TOLERANCES]
    if not names:
        return "exact"
    loosest = max(names, key=lambda name: TOLERANCES[name])
    if kind != "elementwise" and loosest in ("float16", "bfloat16"):
        kind = "rounded"
    return f"{kind} in {loosest}"


def _out_tensors(result: Any, kind: str) -> Any:
    """``out=`` of one kind: tensors made after the result without it."""
    if any(dtype_name(t.dtype) not in COMPARED for t in flatten(result)):
        return None
    if is_tensor(result):
        return _out_tensor(result, kind)
    if isinstance(result, (list, tuple)) and result and all(is_tensor(t) for t in result):
        return tuple(_out_tensor(t, kind) for t in result)
    return None


def _out_tensor(result: torch.Tensor, kind: str) -> torch.Tensor:
    shape, dtype = result.shape, result.dtype
    if kind == "fitting":
        return torch.full(shape, 1, dtype=dtype)
    if kind == "empty":
        return torch.empty(0, dtype=dtype)
    if kind == "transposed":
        return transposed(torch.full(shape, 1, dtype=dtype))
    if kind == "larger":
        sizes = (*shape[:-1], shape[-1] + 1) if shape else (2,)
        return torch.full(sizes, 1, dtype=dtype)
    if kind == "other device":
        return torch.empty(shape, dtype=dtype, device="meta")
    wider = torch.complex128 if dtype.is_complex else torch.float64
    return torch.full(shape, 1, dtype=wider if kind == "wider dtype" else torch.int32)

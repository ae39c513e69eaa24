"""Every operation on tensors of the device meta, beside the CPU's results and PyTorch's meta."""

from __future__ import annotations

import copy
import functools
import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from .frameworks import convert, dtype_name, facula, is_tensor, outcome_of, seed
from .modules import Case, cases, database
from .ops import Op, table
from .outcome import flatten, show
from .samples import N_LAID_OUT, Sample, samples, supports

pytestmark = pytest.mark.promise("T12")

DTYPES = "float32", "int64"
# Its statistics of evaluation are empty on the CPU, and with us on meta, too; PyTorch's are not.
_OTHER_FORM = {"native_batch_norm"}
OPS = [
    (name, d)
    for d in DTYPES
    for name, op in table().items()
    if supports(op, d) and name not in _OTHER_FORM
]
N_SHOWN = 6

Made = dict[int, Any]  # by the address of a storage, a tensor over its twin on meta


def _on_meta(lib: Any, value: Any, made: Made) -> Any:
    """The value with tensors of ``lib`` on meta, of the geometry of PyTorch's tensors in it."""
    if is_tensor(value):
        return _twin(lib, value, made)
    if isinstance(value, (list, tuple)):
        items = [_on_meta(lib, v, made) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        given = {key: _on_meta(lib, v, made) for key, v in value.items()}
        return {**given, "device": "meta"} if "device" in given else given
    return convert(lib, value)


def _twin(lib: Any, t: torch.Tensor, made: Made) -> Any:
    dtype = getattr(lib, dtype_name(t.dtype))
    storage = t.untyped_storage()
    key = storage.data_ptr() or id(t)
    if key not in made or made[key].dtype != dtype:
        n = storage.nbytes() // t.itemsize
        made[key] = lib.empty(n, dtype=dtype, device="meta")
    x = made[key].as_strided(tuple(t.shape), t.stride(), t.storage_offset())
    return x.requires_grad_(t.requires_grad)


def _form(x: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """All of a tensor but its elements: also which inputs it shares memory with."""
    storage = x.untyped_storage()._cdata
    shares = [i for i, t in enumerate(inputs) if t.untyped_storage()._cdata == storage]
    # Those of a dimension of one element say nothing, and conversions change them.
    strides = [s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1 and x.numel()]
    return (
        tuple(x.shape),
        tuple(strides),
        x.storage_offset() if shares else 0,
        dtype_name(x.dtype),
        x.requires_grad,
        tuple(shares),
    )


class _Run:
    """A call, its result and the gradients, as forms."""

    def __init__(self, lib: Any, call: Callable[..., Any], args: Any, kwargs: Any) -> None:
        inputs = flatten((args, kwargs))
        leaves = [t for t in inputs if t.requires_grad and t.is_leaf]
        seed(lib)
        result, self.error = outcome_of(lambda: call(*args, **kwargs))
        self.stage = "call"
        self.tensors = flatten(result)
        self.shapes = [tuple(t.shape) for t in self.tensors]
        self.forms = [_form(t, inputs) for t in self.tensors]
        outputs = [t for t in self.tensors if t.requires_grad]
        if self.error is not None or not outputs or not leaves:
            return
        self.stage = "gradient"
        grads, self.error = outcome_of(
            lambda: lib.autograd.grad(
                outputs, leaves, [lib.ones_like(t) for t in outputs], allow_unused=True
            )
        )
        self.tensors += [g for g in grads or () if g is not None]
        self.forms += [None if g is None else _form(g, [])[:2] for g in grads or ()]


def _calls(op: Op, sample: Sample, i: int) -> Iterator[tuple[str, Any, Any]]:
    missing = op.missing_forms(facula)
    forms = [form for form in op.forms if form not in missing]
    for form in forms if i < N_LAID_OUT else forms[:1]:
        kwargs = dict(sample.kwargs)
        if form == "out":
            call = op.callable(torch, form)
            args = sample.without_grad().args
            result, error = outcome_of(functools.partial(call, *args, **kwargs))
            if error is not None or not is_tensor(result):
                continue
            kwargs["out"] = torch.empty_like(result.detach())
        yield form, (sample.without_grad().args if form == "out" else sample.args), kwargs


def differences(op: Op, dtype: str) -> list[str]:
    """Where meta differs from the CPU, or refuses what PyTorch's meta does."""
    found = []
    for i, sample in enumerate(samples(op, dtype)):
        for form, args, kwargs in _calls(op, sample, i):
            text = _difference(op, form, args, kwargs)
            if text:
                found.append(f"{form} {sample.describe()}: {text}")
    return found


def _difference(op: Op, form: str, args: Any, kwargs: Any) -> str:
    call = op.callable(facula, form)
    cpu = _Run(facula, call, *convert(facula, (args, kwargs)))
    if cpu.error is not None:
        return ""
    meta = _Run(facula, call, *_on_meta(facula, (args, kwargs), {}))
    theirs = _Run(torch, op.callable(torch, form), *_on_meta(torch, (args, kwargs), {}))
    if meta.error is not None:
        is_usual = isinstance(meta.error, RuntimeError)
        is_refused_too = theirs.error is not None and theirs.stage == meta.stage
        return "" if is_usual and is_refused_too else f"{meta.stage}: {show(meta.error)}"
    if any(t.device.type != "meta" for t in meta.tensors):
        return f"results on {[t.device for t in meta.tensors]}"
    if meta.forms != cpu.forms:
        return f"expected {cpu.forms}, got {meta.forms}"
    if theirs.error is None and theirs.shapes != meta.shapes:
        return f"PyTorch has {theirs.shapes}, got {meta.shapes}"
    return ""


@pytest.mark.parametrize("name, dtype", OPS)
def test_results_on_meta_have_the_form_of_those_on_the_cpu(name: str, dtype: str) -> None:
    found = differences(table()[name], dtype)
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:N_SHOWN])


# Their samples bring tensors of the CPU along, or name it as their device.
_MADE_ELSEWHERE = {"nn.LinearCrossEntropyLoss", "nn.TransformerEncoder"}
# The lengths of its sequences, given as tensors, decide what fits.
_NEEDS_VALUES = {"nn.CTCLoss"}
MODULES = [name for name in database() if name not in _NEEDS_VALUES]


def _parameters(module: Any) -> dict[str, Any]:
    tensors = module.state_dict().items()
    return {name: (x.shape, x.dtype) for name, x in tensors if not facula.nn.parameter.is_lazy(x)}


def _module_difference(name: str, case: Case) -> str:
    module, error = outcome_of(lambda: case.make(facula).train(case.training))
    if error is not None:
        return ""
    twin = copy.deepcopy(module).to("meta")
    if name not in _MADE_ELSEWHERE:
        with facula.device("meta"):
            twin = case.make(facula).train(case.training)
        if not all(p.is_meta for p in twin.parameters()):
            return "parameters that are not on meta"
        twin = twin.to("meta")
    if _parameters(twin) != _parameters(module):
        return "other parameters"
    cpu = _Run(facula, module, *convert(facula, (case.args, case.kwargs)))
    if cpu.error is not None:
        return ""
    meta = _Run(facula, twin, *_on_meta(facula, (case.args, case.kwargs), {}))
    if meta.error is not None:
        return f"{meta.stage}: {show(meta.error)}"
    return "" if meta.forms == cpu.forms else f"expected {cpu.forms}, got {meta.forms}"


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_modules_on_meta_have_the_results_of_those_on_the_cpu(name: str, training: bool) -> None:
    found = [(c.name, _module_difference(name, c)) for c in cases(name, torch.float32, training)]
    assert not [text for text in found if text[1]]


@pytest.mark.parametrize("writer, reader", [(facula, torch), (torch, facula)])
def test_files_carry_tensors_of_meta_between_the_frameworks(writer: Any, reader: Any) -> None:
    file = io.BytesIO()
    x = writer.empty(4, 3, dtype=writer.bfloat16, device="meta").t()
    writer.save({"x": x, "p": writer.nn.Parameter(writer.empty(2, device="meta"))}, file)
    file.seek(0)
    loaded = reader.load(file)
    assert repr(loaded["x"]) == repr(x) and loaded["x"].stride() == x.stride()
    assert isinstance(loaded["p"], reader.nn.Parameter) and loaded["p"].is_meta

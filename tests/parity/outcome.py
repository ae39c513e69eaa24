"""A program run on one framework: its result or exception, gradients, and what it wrote."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from .compare import (
    Difference,
    grad_fn_name,
    result_differences,
    tensor_differences,
    value_differences,
)
from .frameworks import (
    COMPARED,
    COMPLEX,
    Buffers,
    convert,
    dtype_name,
    facula,
    is_tensor,
    outcome_of,
    same_exception_type,
    seed,
    to_numpy,
    widen_bfloat16,
)


@dataclass
class Outcome:
    """What one framework did with a case."""

    error: Exception | None = None
    stage: str = "call"
    result: Any = None
    tensors: list[Any] = field(default_factory=list)  # those of result, flattened
    inputs: list[Any] = field(default_factory=list)
    buffers: list[tuple[str, np.ndarray]] = field(default_factory=list)
    grads: list[list[Any]] = field(default_factory=list)  # first, second
    is_resize_warned: bool = False


def agree(
    program: Callable[..., Any],
    *inputs: Any,
    kind: str = "elementwise",
    grad: int = 0,
    ignore: tuple[str, ...] = (),
) -> None:
    """Asserts that ``program(lib, *inputs)`` does the same on both frameworks.

    Results, exceptions, memory sharing and the memory of the inputs are compared, and with ``grad``
    the gradients of the results with respect to the inputs; all but the categories in ``ignore``.
    """
    expected = execute(torch, functools.partial(program, torch), inputs, grad)
    actual = execute(facula, functools.partial(program, facula), inputs, grad)
    found = [d for d in compare_outcomes(kind, expected, actual) if d.category not in ignore]
    assert not found, "\n".join(f"{d.category}: {d.text}" for d in found)


def execute(lib: Any, call: Callable[..., Any], inputs: tuple[Any, ...], grad: int = 0) -> Outcome:
    """``call`` with ``inputs`` converted to ``lib``, and ``grad`` times differentiated."""
    o = Outcome()
    seed(lib)
    buffers: Buffers = {}
    # All are converted together, so that tensors sharing memory go on sharing it.
    args = convert(lib, inputs, buffers)
    o.inputs = flatten(args)
    leaves = [t for t in o.inputs if t.requires_grad]
    warned: list[warnings.WarningMessage] = []
    o.result, o.error = outcome_of(lambda: call(*args), warned)
    o.is_resize_warned = any("resized" in str(w.message) for w in warned)
    o.buffers = [(name, memory) for name, memory, _ in buffers.values()]
    if o.error is not None:
        return o
    o.tensors = flatten(o.result)
    if all(dtype_name(t.dtype) in COMPARED for t in o.tensors):
        _differentiate(lib, o, leaves, grad)
    return o


def flatten(value: Any) -> list[Any]:
    if is_tensor(value):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flatten(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in flatten(v)]
    return []


def _differentiate(lib: Any, o: Outcome, leaves: list[Any], order: int) -> None:
    """Gradients with random cotangents; the second ones also along the cotangents of the first."""
    outputs = [t for t in o.tensors if t.requires_grad]
    inputs = leaves
    for nth in range(order):
        if not outputs or not inputs:
            return
        cotangents = [_cotangent(lib, t, 10 * nth + i, order > 1) for i, t in enumerate(outputs)]
        grads, o.error = outcome_of(
            functools.partial(
                lib.autograd.grad,
                outputs,
                inputs,
                cotangents,
                allow_unused=True,
                create_graph=order > nth + 1,
            )
        )
        if o.error is not None:
            o.stage = ("first gradient", "second gradient")[nth]
            return
        o.grads.append(list(grads))
        outputs = [g for g in grads if g is not None and g.requires_grad]
        inputs = inputs + cotangents


def _cotangent(lib: Any, like: Any, seed: int, requires_grad: bool) -> Any:
    rng = np.random.default_rng(seed)
    shape = tuple(like.shape)
    name = dtype_name(like.dtype)
    values = np.asarray(rng.standard_normal(shape))
    if name in COMPLEX:
        values = np.asarray(values + 1j * rng.standard_normal(shape))
    made = torch.from_numpy(values.copy()).to(getattr(torch, name))
    return convert(lib, made.requires_grad_(requires_grad))


def compare_outcomes(kind: str, expected: Outcome, actual: Outcome) -> list[Difference]:
    if any(dtype_name(t.dtype) not in COMPARED for t in expected.tensors):
        return []  # complex32 and the like, which PyTorch makes of float16 here and there
    if expected.error is None and actual.error is None:
        return _compare_results(kind, expected, actual)
    if actual.error is None:
        text = f"{expected.stage}: expected {show(expected.error)}, got no exception"
        return [Difference("exception", text)]
    if expected.error is None:
        return [Difference("refused", f"{actual.stage}: got {show(actual.error)}")]
    if actual.stage != expected.stage:
        text = (
            f"expected {show(expected.error)} at the {expected.stage}, "
            f"got {show(actual.error)} at the {actual.stage}"
        )
        return [Difference("exception", text)]
    if not same_exception_type(expected.error, actual.error):
        text = f"expected {show(expected.error)}, got {show(actual.error)}"
        return [Difference("exception", text)]
    return _buffer_differences(kind, expected, actual)


def show(error: Exception | None) -> str:
    first_line = str(error).split("\n")[0]
    return f"{type(error).__name__}({first_line:.100})"


def _compare_results(kind: str, expected: Outcome, actual: Outcome) -> list[Difference]:
    found = result_differences(expected.result, actual.result, kind, "result")
    if expected.is_resize_warned != actual.is_resize_warned:
        text = f"expected {expected.is_resize_warned}, got {actual.is_resize_warned}"
        found.append(Difference("warning", f"of a resized out=: {text}"))
    if len(expected.tensors) != len(actual.tensors):
        return found
    for i, (e, a) in enumerate(zip(expected.tensors, actual.tensors, strict=True)):
        if grad_fn_name(e) != grad_fn_name(a):
            text = f"result[{i}]: expected {grad_fn_name(e)}, got {grad_fn_name(a)}"
            found.append(Difference("grad_fn", text))
        if _sharing(e, expected) != _sharing(a, actual):
            text = f"result[{i}]: expected {_sharing(e, expected)}, got {_sharing(a, actual)}"
            found.append(Difference("sharing", text))
    return (
        found
        + _buffer_differences(kind, expected, actual)
        + _grad_differences(kind, expected, actual)
    )


def _sharing(result: Any, outcome: Outcome) -> tuple[Any, ...]:
    """Which inputs the result is or shares memory with, and its offset there."""
    if result.numel() == 0:
        return ()
    start = result.untyped_storage().data_ptr()
    shares = [
        i
        for i, t in enumerate(outcome.inputs)
        if t.numel() and t.untyped_storage().data_ptr() == start
    ]
    same = [i for i, t in enumerate(outcome.inputs) if t is result]
    return ("shares", shares, "is", same, "offset", result.storage_offset() if shares else 0)


def _buffer_differences(kind: str, expected: Outcome, actual: Outcome) -> list[Difference]:
    """All memory of the inputs and of out=, written or not."""
    kind = kind if kind != "unspecified" else "exact"
    for (name, e), (_, a) in zip(expected.buffers, actual.buffers, strict=True):
        if name == "bfloat16":
            e, a = widen_bfloat16(e), widen_bfloat16(a)
        found = value_differences(e, a, name, kind, f"{expected.stage}: inputs or out=")
        if found:
            return [d._replace(category="memory") for d in found]
    return []


def _grad_differences(kind: str, expected: Outcome, actual: Outcome) -> list[Difference]:
    kind = {"exact": "elementwise", "repeated": "sum", "elementwise": "sum"}.get(kind, "special")
    found = []
    for nth, (es, as_) in enumerate(zip(expected.grads, actual.grads, strict=False)):
        where = ("first gradient", "second gradient")[nth]
        category = ("grad", "gradgrad")[nth]
        for i, (e, a) in enumerate(zip(es, as_, strict=False)):
            if e is None or a is None:
                if e is not a:
                    text = f"{where} {i}: expected {_kind_of_grad(e)}, got {_kind_of_grad(a)}"
                    found.append(Difference(category, text))
                continue
            found += [
                d._replace(category=category)
                for d in tensor_differences(e, a, kind, f"{where} {i}")
                if d.category in ("dtype", "shape", "value")
            ]
    return found


def _kind_of_grad(grad: Any) -> str:
    if grad is None:
        return "None"
    return "other numbers than zeros" if to_numpy(grad).any() else "zeros"

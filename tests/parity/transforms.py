"""Operations inside of transforms: vmap against a loop, forward mode against PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch

from .compare import Difference
from .frameworks import convert, facula, seed
from .ops import Op
from .samples import Sample, samples, supports

N_EXAMPLES = 3
FORMS = ("function", "method", "property", "inplace", "operator", "inplace_operator")


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, (torch.Tensor, facula.Tensor)):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in _tensors(v)]
    return []


def _replace(value: Any, tensors: Iterator[Any]) -> Any:
    """The value with its tensors taken from the iterator, one after the other."""
    if isinstance(value, (torch.Tensor, facula.Tensor)):
        return next(tensors)
    if isinstance(value, (torch.Size, facula.Size)):
        return value
    if isinstance(value, (list, tuple)):
        items = [_replace(v, tensors) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _replace(v, tensors) for key, v in value.items()}
    return value


def _examples(t: Any) -> Any:
    """The tensor, and others of its kind that are as valid where it is an index or a mask."""
    first = t.detach()
    last = first.flip(0) if first.dim() else first.clone()
    if first.is_floating_point():
        return facula.stack([first, last, first * 0.75])
    return facula.stack([first, last, first])


# ---- vmap against the loop


def vmap_differences(op: Op, dtype: str) -> tuple[int, list[Difference], set[str]]:
    """The number of calls compared, what differed, and the operations that had no rule."""
    found: list[Difference] = []
    looped: set[str] = set()
    n_compared = 0
    for form in FORMS:
        n, differences = _form_differences(op, form, dtype, looped)
        n_compared += n
        found += differences
    return n_compared, found, looped


def _form_differences(
    op: Op, form: str, dtype: str, looped: set[str]
) -> tuple[int, list[Difference]]:
    if form not in op.forms or form in op.missing_forms(facula):
        return 0, []
    if form == "method" and "function" in op.forms:
        return 0, []  # the same rule
    function, theirs = op.callable(facula, form), op.callable(torch, form)
    found: list[Difference] = []
    n_compared = 0
    for sample in samples(op, dtype, are_few=True) if supports(op, dtype) else ():
        call = convert(facula, (sample.args, sample.kwargs))
        tensors = _tensors(call)
        n = len(tensors)
        choices = {tuple(range(n)), *((i,) for i in range(min(n, 4)))} if n else set()
        for choice in sorted(choices):
            compared = _compare_with_loop(function, call, tensors, choice, looped)
            if compared is None:
                continue
            is_refused = any(text.startswith(_REFUSED) for text in compared)
            if is_refused and _pytorch_refuses(theirs, (sample.args, sample.kwargs), choice):
                continue
            n_compared += 1
            case = f"{form} {sample.describe()} batched {choice}"
            found += [Difference("vmap", f"{text} | {case}") for text in compared]
    return n_compared, found


_REFUSED = "RuntimeError: "


def _pytorch_refuses(function: Any, call: Any, choice: tuple[int, ...]) -> bool:
    batches = [
        torch.stack([t.detach()] * N_EXAMPLES) if i in choice else t.detach()
        for i, t in enumerate(_tensors(call))
    ]

    def run(*given: Any) -> Any:
        args, kwargs = _replace(call, iter(given))
        return tuple(_tensors(function(*args, **kwargs)))

    in_dims = tuple(0 if k in choice else None for k in range(len(batches)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.func.vmap(run, in_dims)(*batches)
    except Exception:
        return True
    return False


def _compare_with_loop(
    function: Any, call: Any, tensors: list[Any], choice: tuple[int, ...], looped: set[str]
) -> list[str] | None:
    batches = [_examples(t) if i in choice else t.detach() for i, t in enumerate(tensors)]
    is_differentiable = [
        i in choice and t.is_floating_point() and tensors[i].requires_grad
        for i, t in enumerate(batches)
    ]

    def run(*given: Any) -> Any:
        args, kwargs = _replace(call, iter(given))
        result = _tensors(function(*args, **kwargs))
        return tuple(result)

    def leaves() -> list[Any]:
        return [
            t.clone().requires_grad_() if d else t.clone()
            for t, d in zip(batches, is_differentiable, strict=True)
        ]

    ours = leaves()
    own = leaves()
    try:
        rows = [
            run(*(t[i].clone() if k in choice else t.clone() for k, t in enumerate(ours)))
            for i in range(N_EXAMPLES)
        ]
        expected = [facula.stack(column) for column in zip(*rows, strict=True)]
    except Exception:
        return None  # the operation refuses the sample, or its shapes depend on values
    if not expected:
        return None
    in_dims = tuple(0 if k in choice else None for k in range(len(tensors)))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            actual = facula.func.vmap(run, in_dims)(*(t.clone() for t in own))
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    for warning in caught:
        text = str(warning.message)
        if "batching rule for" in text:
            looped.add(text.partition("batching rule for ")[2].partition(":")[0])
    differences = _apart(expected, list(actual))
    if not differences:
        differences = _gradients_apart(expected, list(actual), ours, own, is_differentiable)
    return differences


def _apart(expected: list[Any], actual: list[Any], what: str = "result") -> list[str]:
    if len(expected) != len(actual):
        return [f"{len(actual)} {what}s, not {len(expected)}"]
    found = []
    for e, a in zip(expected, actual, strict=True):
        if e.shape != a.shape or e.dtype != a.dtype:
            found.append(f"{what} {a.dtype} {tuple(a.shape)}, not {e.dtype} {tuple(e.shape)}")
        elif not _are_close(a.detach(), e.detach()):
            found.append(f"{what} {a.detach().flatten()[:6]}, not {e.detach().flatten()[:6]}")
    return found


def _are_close(actual: Any, expected: Any) -> bool:
    if actual.dtype == facula.complex32:  # stored, not computed with
        actual, expected = actual.to(facula.complex64), expected.to(facula.complex64)
    if not (actual.is_floating_point() or actual.is_complex()):
        return bool(facula.equal(actual, expected))
    return facula.allclose(actual, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


def _gradients_apart(
    expected: list[Any], actual: list[Any], ours: list[Any], own: list[Any], wanted: list[bool]
) -> list[str]:
    def gradients(results: list[Any], leaves: list[Any]) -> list[Any]:
        inputs = [t for t, w in zip(leaves, wanted, strict=True) if w]
        roots = [r for r in results if r.requires_grad]
        if not roots or not inputs:
            return []
        seeds = [
            (facula.arange(r.numel(), dtype=r.dtype).reshape(r.shape) * 0.1).cos() for r in roots
        ]
        grads = facula.autograd.grad(roots, inputs, seeds, allow_unused=True)
        return [
            facula.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True)
        ]

    try:
        loop = gradients(expected, ours)
    except Exception:
        return []
    try:
        return _apart(loop, gradients(actual, own), "gradient")
    except Exception as error:
        return [f"in backward {type(error).__name__}: {error}"]


# ---- forward mode against PyTorch's


def jvp_differences(op: Op, dtype: str) -> tuple[int, list[Difference]]:
    """The number of calls compared, and what differed from ``torch.func.jvp``."""
    found: list[Difference] = []
    n_compared = 0
    has_function = bool({"function", "method", "property"} & set(op.forms))
    for form in FORMS if op.info.supports_forward_ad else ():
        if form not in op.forms or form in op.missing_forms(facula):
            continue
        if form == "operator" and has_function:
            continue  # the same rule
        functions = [_on_a_copy(op.callable(lib, form), form) for lib in (torch, facula)]
        for sample in samples(op, dtype, are_few=True):
            differences = _tangent_differences(functions, sample)
            if differences is not None:
                n_compared += 1
                case = f"{form} {sample.describe()}"
                found += [Difference("jvp", f"{text} | {case}") for text in differences]
    return n_compared, found


def _on_a_copy(function: Any, form: str) -> Any:
    if not form.startswith("inplace"):
        return function
    return lambda x, *args, **kwargs: function(x.clone(), *args, **kwargs)


def _tangent_differences(functions: list[Any], sample: Sample) -> list[str] | None:
    expected = _torch_jvp(functions[0], sample)
    if expected is None:
        return None
    call = convert(facula, (sample.args, sample.kwargs))
    seed(facula)
    try:
        actual = _jvp(facula, functions[1], call, expected[2])
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    found = []
    for i, what in enumerate(("value", "tangent")):
        theirs = [convert(facula, t.detach().clone()) for t in expected[i]]
        found += _apart(theirs, list(actual[i]), what)
    return found


def _jvp(lib: Any, function: Any, call: Any, wanted: list[int]) -> tuple[Any, Any]:
    tensors = [t.detach().clone() for t in _tensors(call)]

    def run(*given: Any) -> Any:
        current = list(tensors)
        for i, t in zip(wanted, given, strict=True):
            current[i] = t
        args, kwargs = _replace(call, iter(current))
        results = _tensors(function(*args, **kwargs))
        return tuple(r for r in results if r.is_floating_point() or r.is_complex())

    primals = tuple(tensors[i] for i in wanted)
    tangents = tuple(_direction(lib, x) for x in primals)
    return lib.func.jvp(run, primals, tangents)


def _direction(lib: Any, x: Any) -> Any:
    ramp = lib.arange(x.numel(), dtype=lib.float64).reshape(x.shape)
    t = (ramp * 0.7 + 0.3).cos()
    return lib.complex(t, (ramp * 0.4).sin()).to(x.dtype) if x.is_complex() else t.to(x.dtype)


def _torch_jvp(function: Any, sample: Sample) -> tuple[Any, Any, list[int]] | None:
    call = (sample.args, sample.kwargs)
    wanted = [i for i, t in enumerate(_tensors(call)) if t.requires_grad]
    if not wanted:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seed(torch)
            value, tangent = _jvp(torch, function, call, wanted)
    except Exception:
        return None
    return value, tangent, wanted

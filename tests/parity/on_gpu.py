"""``python -m tests.parity.on_gpu [--shard 0/8] [--only NAME] [--dtype float32] [--layouts]``

Runs the samples of PyTorch's database of operations on the CPU and on a GPU and compares results
and first gradients. What the CPU computes is compared with PyTorch by ``report.py``; so an
operation that passes in both places does on the GPU what PyTorch does.

Prints a line for each operation: ``PASS name`` or ``FAIL name: why``.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import Any

import numpy as np

from .compare import result_differences, value_differences
from .engine import Case
from .frameworks import convert, dtype_name, facula, outcome_of, seed
from .ops import Op, table
from .outcome import flatten, show
from .samples import laid_out, samples

# What draws random numbers draws others on a GPU.
RANDOM = ("bernoulli", "dropout", "normal", "multinomial", "rand", "cauchy", "exponential")
RANDOM += ("geometric", "log_normal", "uniform", "rrelu", "lowrank", "gumbel", "fractional_max")
RANDOM += ("multi_head_attention_forward",)  # with dropout
# They name a device, or look at memory around the tensor, which does not move along.
NOT_COMPARED = ("to", "as_strided.partial_views")


def moved(value: Any, device: str) -> Any:
    """Tensors on the device, each a leaf of its own; names of devices become this one."""
    if isinstance(value, facula.Tensor):
        x, wants_grad = value.detach(), value.requires_grad
        n = x.untyped_storage().nbytes() // x.element_size()
        if device != "cpu" and n != x.numel():
            # With its storage: to() would lay it out anew.
            whole = x.as_strided((n,), (1,), 0).to(device)
            x = whole.as_strided(x.shape, x.stride(), x.storage_offset())
        return x.to(device).requires_grad_(wants_grad)
    if isinstance(value, facula.device):
        return facula.device(device)
    if isinstance(value, (list, tuple)) and not isinstance(value, facula.Size):
        items = [moved(v, device) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {
            key: device if key == "device" and v is not None else moved(v, device)
            for key, v in value.items()
        }
    return value


def run(op: Op, case: Case, device: str) -> tuple[Any, list[Any], Exception | None]:
    """The result and the gradients, both back on the CPU, or what was raised."""
    args, kwargs = moved(convert(facula, (case.sample.args, case.sample.kwargs)), device)
    leaves = [t for t in flatten((args, kwargs)) if t.requires_grad]
    function = op.callable(facula, case.form)
    seed(facula)
    if case.form == "inplace" and leaves:
        args = (args[0].clone(), *args[1:])
    result, error = outcome_of(lambda: function(*args, **kwargs))
    if error is not None:
        return None, [], error
    outputs = [t for t in flatten(result) if t.requires_grad]
    grads: list[Any] = []
    if outputs and leaves:
        cotangents = [moved(_cotangent(t, i), device) for i, t in enumerate(outputs)]
        found, error = outcome_of(
            lambda: facula.autograd.grad(outputs, leaves, cotangents, allow_unused=True)
        )
        if error is not None:
            return None, [], error
        grads, error = outcome_of(lambda: [None if g is None else g.cpu() for g in found])
        if error is not None:
            return None, [], error
    # Here a GPU raises what kernels found wrong.
    there, error = outcome_of(lambda: moved(result, "cpu"))
    return there, grads, error


def _cotangent(like: Any, nth: int) -> Any:
    values = np.random.default_rng(nth).standard_normal(tuple(like.shape))
    return facula.tensor(values).to(like.dtype)


def differences(op: Op, case: Case, device: str) -> list[str]:
    expected, expected_grads, refused = run(op, case, "cpu")
    actual, grads, error = run(op, case, device)
    if error is not None or refused is not None:
        if error is not None and refused is not None:
            return []
        return [f"got {show(error)}" if error else f"got no exception, expected {show(refused)}"]
    if any(word in op.name for word in RANDOM) or case.sample.kwargs.get("dropout_p"):
        return []
    kind = op.tolerance
    wide = kind if kind in ("unspecified", "special") else "sum"
    found = result_differences(expected, actual, wide if kind != "exact" else kind, "result")
    texts = [d.text for d in found if d.category in ("value", "dtype", "shape", "type")]
    for i, (e, a) in enumerate(zip(expected_grads, grads, strict=True)):
        if e is None or a is None:
            if e is not a:
                texts.append(f"gradient {i} is missing on one device")
            continue
        pair = [t.detach().resolve_conj().resolve_neg().to_dense() for t in (e, a)]
        name = dtype_name(e.dtype)
        arrays = [(t.float() if name == "bfloat16" else t).numpy() for t in pair]
        found = value_differences(*arrays, name, "special", f"gradient {i}")
        texts += [d.text for d in found]
    return [f"{text} | {case.describe():.120}" for text in texts]


def check(op: Op, dtype: str, device: str, has_layouts: bool) -> str:
    """What is wrong first, or nothing."""
    missing = op.missing_forms(facula)
    forms = [form for form in op.forms if form not in missing and form != "out"]
    for i, sample in enumerate(samples(op, dtype)):
        cases = [Case(sample, form, 1) for form in (forms if i == 0 else forms[:1])]
        if i == 0 and has_layouts:
            is_elementwise = type(op.info).__name__ in ("UnaryUfuncInfo", "BinaryUfuncInfo")
            cases += [Case(other, forms[0], 1) for other in laid_out(sample, is_elementwise)]
        for case in cases:
            found = differences(op, case, device)
            if found:
                return found[0]
    return ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shard", default="0/1", help="the part of the operations to run")
    parser.add_argument("--only", default="", help="operations whose names have this in them")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--layouts", action="store_true", help="also other layouts of memory")
    parser.add_argument("--skip", type=int, default=0, help="operations at the beginning of it")
    args = parser.parse_args()
    shard, n_shards = map(int, args.shard.split("/"))
    facula.backends.cudnn.allow_tf32 = False
    names = [name for name, op in table().items() if args.dtype in op.dtypes and args.only in name]
    names = [name for name in names if name not in NOT_COMPARED]
    for name in names[shard::n_shards][args.skip :]:
        print(f"RUN {name}", flush=True)
        op = table()[name]
        if len(op.missing_forms(facula)) == len(op.forms):
            continue
        start = time.perf_counter()
        problem = "could not be compared"
        with contextlib.suppress(Exception):
            problem = check(op, args.dtype, args.device, args.layouts)
        seconds = time.perf_counter() - start
        slow = f" ({seconds:.1f} s)" if seconds > 3 else ""
        print(f"FAIL {name}: {problem}{slow}" if problem else f"PASS {name}{slow}", flush=True)


if __name__ == "__main__":
    main()

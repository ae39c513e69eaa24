"""Wrong calls of every public function and method, made from right ones, and what they raise.

``python -m tests.parity.wrong_calls [--whole] [--name PART] [--show N]`` prints where the exception
is of another type than PyTorch's. A right call is one of PyTorch's samples, or the first of a few
plain ones that PyTorch accepts; a wrong one has an argument too many, too few, or replaced by
something that does not belong there.
"""

from __future__ import annotations

import argparse
import collections
import functools
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from .frameworks import DTYPES, convert, facula, is_tensor, outcome_of, seed
from .ops import load_module, table
from .samples import Sample, supports
from .workers import Failure, run_in_workers

NAMESPACES = ("", "nn.functional", "linalg", "fft", "special", "Tensor")
# They change the state of the process, wait for others, or write files.
_NOT_CALLED = re.compile(
    r"set_|_?(save|load|seed|manual_seed|initial_seed|fork|wait|compile|use_\w+|from_file|init\w*)$"
    r"|share_memory_|register_|autocast|clear_autocast|import_|thread_safe|get_file_path|vitals"
    r"|read_vitals|record_stream|is_vulkan|is_deterministic|typename$|pin_memory|ipc_collect"
    r"|handle_torch_function|has_torch_function|boolean_dispatch|assert_int_or_pair|prepare_multip"
    r"|numpy$|untyped_storage$|storage$|get_device$|cudnn_|mkldnn_|miopen_|quantized|fbgemm|xpu"
    r"|ipu$|mtia|cuda$|hpu$|triplet_margin_with_distance_loss$"
)


class Target(NamedTuple):
    """A function or method and right calls of it."""

    path: str
    calls: tuple[Sample, ...]

    def function(self, lib: Any) -> Callable[..., Any]:
        return functools.reduce(getattr, self.path.split("."), lib)


class WrongCall(NamedTuple):
    """What is wrong about it, and the arguments."""

    label: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Verdict(NamedTuple):
    """What both frameworks did: "accepted", or the type of the exception and its message."""

    label: str
    expected: str
    actual: str

    def kind(self) -> str:
        """ "same", "other" type of exception, "refused" though PyTorch accepts, or "accident"."""
        theirs, ours = self.expected.split(":")[0], self.actual.split(":")[0]
        if theirs == ours or (_no_memory(self.expected) and _no_memory(self.actual)):
            return "same"
        if theirs == "accepted":
            return "refused"
        return "accident" if ours == "TypeError" and _ACCIDENT.search(self.expected) else "other"


# What PyTorch raises in the middle of its own Python code, at an argument whose type it did not
# look at, or when it finds itself broken. Here such arguments get a TypeError.
_ACCIDENT = re.compile(
    r"AttributeError: '[\w.]+' object has no attribute|Boolean value of Tensor with|INTERNAL ASSERT"
    r"|UnboundLocalError"
)


# ---- right calls


@functools.cache
def targets() -> tuple[Target, ...]:
    """Every public function and method that both frameworks have."""
    known: dict[str, list[Sample]] = {}
    for op in table().values():
        dtype = next(
            (d for d in ("float32", "int64", "bool", "complex64") if supports(op, d)), None
        )
        if dtype is None:
            continue
        seed(torch)
        made = op.info.sample_inputs("cpu", DTYPES[dtype], requires_grad=False, set_seed=False)
        sample = _typical(made)
        if sample is None:
            continue
        for form in op.forms:
            path = _path(op, form)
            if path is not None:
                known.setdefault(path, []).append(sample)
    found = []
    for namespace in NAMESPACES:
        for name in _names(namespace):
            path = f"{namespace}.{name}".lstrip(".")
            calls = tuple(known.get(path, [])[:1]) or _plain_calls(path)
            found.append(Target(path, calls))
    return tuple(found)


def _typical(made: Any) -> Sample | None:
    """The first sample with two arguments or more, else the first."""
    first = None
    for i, s in enumerate(made):
        sample = Sample("", (s.input, *s.args), s.kwargs)
        if first is None:
            first = sample
        if len(sample.args) + len(sample.kwargs) > 1 and all(t.numel() for t in sample.tensors()):
            return sample
        if i > 6:
            break
    return first


def _path(op: Any, form: str) -> str | None:
    leaf = op.path.rsplit(".", 1)[-1]
    if form == "function" and op.path not in ("einsum", "where", "polygamma"):
        return op.path
    if form == "method":
        return f"Tensor.{leaf}"
    if form == "inplace":
        return f"Tensor.{leaf if leaf.endswith('_') else leaf + '_'}"
    return None


def _names(namespace: str) -> list[str]:
    theirs, ours = (
        functools.reduce(getattr, namespace.split(".") if namespace else [], lib)
        for lib in (torch, facula)
    )
    return [
        name
        for name in dir(theirs)
        if not name.startswith("_")
        and name not in ("torch", "warnings", "math", "importlib")
        and not _NOT_CALLED.match(name)
        and callable(getattr(theirs, name))
        and not isinstance(getattr(theirs, name), type)
        and callable(getattr(ours, name, None))
    ]


def _plain_calls(path: str) -> tuple[Sample, ...]:
    """The first of a few calls that PyTorch accepts; a tensor alone where it accepts none."""
    x = torch.arange(6.0).reshape(2, 3)
    square, index = torch.eye(3), torch.tensor([0, 1])
    tries = [
        (x,),
        (x, x),
        (x, 1),
        (x, (1, 1)),
        (x, 0, index),
        (x, 0, 1),
        (x, x, x),
        (square, square),
        (square[None], square[None], square[None]),
        ([x, x],),
        (3,),
        ((2, 3),),
        (0, 1),
        ("ij->ji", x),
        (),
    ]
    target = Target(path, ())
    for args in tries:
        if path.startswith("Tensor.") and not (args and is_tensor(args[0])):
            continue
        copies = convert(torch, args)
        if outcome_of(lambda copies=copies: target.function(torch)(*copies))[1] is None:
            return (Sample("", args, {}),)
    return (Sample("", (x,), {}),)


# ---- wrong ones


class _Nothing:
    """An object of no use to any function."""

    def __repr__(self) -> str:
        return "<object>"


def _replacements() -> dict[str, Any]:
    return {
        "None": None,
        "'a'": "a",
        "an object": _Nothing(),
        "1.5": 1.5,
        "2j": 2j,
        "True": True,
        "1": 1,
        "-7": -7,
        "2**40": 2**40,
        "2**70": 2**70,
        "nan": float("nan"),
        "[]": [],
        "[1, 'a']": [1, "a"],
        "[-3, 2]": [-3, 2],
        "[2**33, 2**33]": [2**33, 2**33],
        "[1.5]": [1.5],
        "{}": {},
        "a dtype": torch.float64,
        "a device": torch.device("cpu"),
        "a bool tensor": torch.ones(2, 3, dtype=torch.bool),
        "an int32 tensor": torch.ones(2, 3, dtype=torch.int32),
        "a complex tensor": torch.ones(2, 3, dtype=torch.complex64),
        "a float64 tensor": torch.ones(2, 3, dtype=torch.float64),
        "a 0-d tensor": torch.tensor(1.0),
        "an empty tensor": torch.empty(0),
        "a tensor of 5 dims": torch.ones(1, 2, 1, 2, 3),
        "a vector of 7": torch.ones(7),
        "a list of tensors": [torch.ones(2), torch.ones(3)],
    }


def wrong_calls(target: Target) -> Iterator[WrongCall]:
    """Every change of the right call, in a fixed order. Some are not wrong: PyTorch decides."""
    for sample in target.calls:
        args, kwargs = sample.args, sample.kwargs
        yield WrongCall("no arguments", (), {})
        if args:
            yield WrongCall("without the last", args[:-1], kwargs)
            yield WrongCall("without the first", args[1:], kwargs)
            yield WrongCall("the first twice", args, {**kwargs, "input": args[0]})
        yield WrongCall("one more", (*args, torch.ones(2)), kwargs)
        yield WrongCall("many more", (*args, *[1] * 12), kwargs)
        yield WrongCall("unknown keyword", args, {**kwargs, "nonsense": 1})
        yield WrongCall("wrong out", args, {**kwargs, "out": "a"})
        yield WrongCall("number as out", args, {**kwargs, "out": 3})
        yield WrongCall("wrong dtype", args, {**kwargs, "dtype": "float32"})
        yield WrongCall("wrong dim", args, {**kwargs, "dim": 9})
        yield WrongCall("text as dim", args, {**kwargs, "dim": "a"})
        for label, value in _replacements().items():
            for i in range(min(len(args), 4)):
                changed = (*args[:i], value, *args[i + 1 :])
                yield WrongCall(f"argument {i} = {label}", changed, kwargs)
            for key in list(kwargs)[:4]:
                yield WrongCall(f"{key}={label}", args, {**kwargs, key: value})


def is_sampled(path: str, call: WrongCall, share: float) -> bool:
    """Whether the call belongs to a fixed part of all, of about this size."""
    return zlib.crc32(f"{path} {call.label}".encode()) % 10000 < 10000 * share


# ---- what they raise


def _outcome(lib: Any, target: Target, call: WrongCall) -> str:
    """The type of the exception with its message, or "accepted"."""
    args, kwargs = convert(lib, (call.args, call.kwargs))
    seed(lib)
    _, error = outcome_of(lambda: target.function(lib)(*args, **kwargs))
    return "accepted" if error is None else f"{type(error).__name__.lstrip('_')}: {error}"


def _no_memory(text: str) -> bool:
    return "allocate memory" in text or text.startswith(("MemoryError", "OutOfMemoryError"))


def judge(target: Target, call: WrongCall) -> Verdict:
    expected, actual = (_outcome(lib, target, call) for lib in (torch, facula))
    return Verdict(call.label, expected.split("\n")[0][:300], actual.split("\n")[0][:300])


def _work(share: float) -> Callable[[Target, int], Iterator[tuple[str, Verdict | None]]]:
    def work(target: Target, first: int) -> Iterator[tuple[str, Verdict | None]]:
        """Two steps for a call: PyTorch alone, which may crash, then both."""
        chosen = [c for c in wrong_calls(target) if is_sampled(target.path, c, share)]
        for step in range(first, 2 * len(chosen)):
            call = chosen[step // 2]
            if step % 2 == 0:
                _outcome(torch, target, call)
                yield call.label, None
            else:
                yield call.label, judge(target, call)

    return work


class Found(NamedTuple):
    """All that a run found."""

    n_wrong: int  # calls that PyTorch refuses
    n_right: int  # those that it accepts after all
    differences: list[tuple[str, Verdict]]  # all that are not the same
    failures: list[tuple[str, str, str]]  # path, call, why: crashes and hangs of ours


def run(
    chosen: list[Target], share: float = 1.0, n_workers: int = 2, seconds: float = 30.0
) -> Found:
    n_wrong = n_right = 0
    differences: list[tuple[str, Verdict]] = []
    failures: list[tuple[str, str, str]] = []
    steps: collections.Counter[str] = collections.Counter()
    crashed: set[tuple[str, int]] = set()
    for target, result in run_in_workers(chosen, _work(share), n_workers, seconds):
        step = steps[target.path]
        steps[target.path] += 1
        if isinstance(result, Failure):
            if step % 2 == 0:
                crashed.add((target.path, step))
            elif (target.path, step - 1) not in crashed:
                calls = [c for c in wrong_calls(target) if is_sampled(target.path, c, share)]
                failures.append((target.path, calls[step // 2].label, result.why))
            continue
        verdict = result[1]
        if verdict is None:
            continue
        n_right += verdict.expected == "accepted"
        n_wrong += verdict.expected != "accepted"
        if verdict.kind() != "same":
            differences.append((target.path, verdict))
    return Found(n_wrong, n_right, differences, failures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="all calls, not a twentieth")
    parser.add_argument("--name", default="", help="only names that contain this")
    parser.add_argument("--show", type=int, default=1000, help="how many differences to print")
    args = parser.parse_args()
    load_module("common_methods_invocations")
    chosen = [t for t in targets() if args.name in t.path]
    found = run(chosen, 1.0 if args.whole or args.name else 0.05)
    for path, verdict in sorted(found.differences)[: args.show]:
        print(
            f"{verdict.kind()} | {path} | {verdict.label} | {verdict.expected} | {verdict.actual}"
        )
    for path, label, why in found.failures:
        print(f"FAILED {path} | {label} | {why}")
    kinds = collections.Counter(verdict.kind() for _, verdict in found.differences)
    n_wrong, n_right = max(1, found.n_wrong), max(1, found.n_right)
    print(
        f"{len(chosen)} names\n{n_wrong} wrong calls: {kinds['other']} with another exception "
        f"({100 * kinds['other'] / n_wrong:.2f}%), {kinds['accident']} where PyTorch's is an "
        f"accident\n{n_right} right calls: {kinds['refused']} refused "
        f"({100 * kinds['refused'] / n_right:.2f}%)\n{len(found.failures)} crash or hang"
    )


if __name__ == "__main__":
    main()

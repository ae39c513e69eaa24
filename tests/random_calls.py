"""``python tests/random_calls.py [--device cuda] [--calls 100000] [--seeds 0 1 2] [--seconds 60]``

Calls what operates on tensors with arguments at random: mostly of the kinds that a signature
names, in odd shapes, dtypes and layouts, and now and then of any kind. Whatever a call raises is
right; a crash, a call that does not return, or a device that computes wrongly afterwards is not.

Each seed runs in a process of its own, which notes every call in a file before it makes it; so the
call at which a process ended is known.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import faulthandler
import inspect
import io
import mmap
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import facula
from facula.overrides import get_overridable_functions

N_NOTE = 1 << 14  # bytes of a note
N_BETWEEN_CHECKS = 200
SECONDS_PER_CHECK = 60

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16")
DTYPES += ("float32", "float64", "complex64", "complex128")
RARE_DTYPES = ("uint16", "uint32", "uint64", "complex32", "float8_e4m3fn", "float8_e5m2")
# Sizes are small, so that a call is short; the extremes fit nowhere and have to be refused.
SIZES = (0, 1, 1, 2, 3, 4, 5, 7, 8, 17, 33)
INTS = (*range(-3, 6), 7, 16, 64, -(2**63), 2**63 - 1, 2**64, -(2**31) - 1)
FLOATS = (0.0, 1.0, -1.0, 0.5, 2.5, 1e-8, 1e30, -1e30, float("inf"), float("-inf"), float("nan"))
WORDS = ("mean", "sum", "none", "constant", "reflect", "replicate", "circular", "nearest")
WORDS += ("bilinear", "bicubic", "zeros", "border", "amax", "prod", "ij", "xy", "floor", "trunc")
WORDS += ("left", "right", "tanh", "ortho", "same", "valid", "L", "fro", "nuc", "ij,jk->ik", "")
# They read or write files, change the process, or wait for others.
LEFT_OUT = re.compile(
    r"save|load|from_file|share_memory|_default_|set_num|deterministic|import_ir|hub|compile|"
    r"printoptions|fork|wait|export|backward|register|pin_memory|ipc|breakpoint|__reduce|module_|"
    r"lobpcg|_lowrank"  # they go on as often as they are asked to, or until what converges
)


class Parameter(NamedTuple):
    name: str
    type: str
    is_optional: bool
    is_named: bool  # only by its name


class Target(NamedTuple):
    """A function, with what it says that it takes."""

    name: str
    function: Callable[..., Any]
    parameters: list[Parameter]


def split(text: str) -> Iterator[str]:
    """At the commas that stand outside of brackets."""
    depth, part = 0, ""
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += c
    if part.strip():
        yield part.strip()


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    try:
        listed = inspect.signature(function).parameters.values()
        return [
            Parameter(p.name, str(p.annotation), p.default is not p.empty, p.kind is p.KEYWORD_ONLY)
            for p in listed
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        ]
    except (ValueError, TypeError):
        pass
    line = (function.__doc__ or "").split("\n", 1)[0]
    found = re.match(r"\w+\((.*)\)(?: -> .*)?$", line)
    parameters, is_named = [], False
    for text in split(found[1] if found else "input: Tensor, other: Tensor"):
        if text.startswith("*") or text == "/":
            is_named |= text.startswith("*")
            continue
        name, _, rest = text.partition(":")
        parameters.append(Parameter(name.split("=")[0].strip(), rest, "=" in text, is_named))
    return parameters


def targets() -> list[Target]:
    found: dict[int, Target] = {}
    for namespace, functions in get_overridable_functions().items():
        where = getattr(namespace, "__name__", str(namespace))
        for function in functions:
            name = getattr(function, "__name__", "")
            if name and callable(function) and not LEFT_OUT.search(name):
                found[id(function)] = Target(f"{where}.{name}", function, parameters_of(function))
    return sorted(found.values(), key=lambda target: target.name)


class Arguments:
    """Draws arguments, the same ones for the same seed."""

    def __init__(self, device: str, seed: int) -> None:
        self.device, self.random = device, random.Random(seed)

    def any_of(self, *choices: Callable[[], Any]) -> Any:
        return self.random.choice(choices)()

    def shape(self) -> tuple[int, ...]:
        n_dims = self.random.choices(range(7), (2, 5, 6, 4, 3, 1, 1))[0]
        if self.random.random() < 0.5:  # operands that fit each other
            return (self.random.choice((2, 3, 4)),) * n_dims
        return tuple(self.random.choice(SIZES) for _ in range(min(n_dims, 4)))

    def tensor(self) -> Any:
        draw, shape = self.random.random(), self.shape()
        rare = self.random.random() < 0.03
        dtype = getattr(facula, self.random.choice(RARE_DTYPES if rare else DTYPES))
        if draw < 0.35:
            dtype = facula.float32
        device = self.device if self.random.random() < 0.97 else "cpu"
        x = facula.randn(shape) if self.random.random() < 0.6 else facula.randint(-3, 6, shape)
        x = x.to(dtype).to(device)
        if x.dim() > 1 and self.random.random() < 0.2:
            x = x.transpose(0, -1)
        if x.dim() > 0 and self.random.random() < 0.1:
            x = x[::2]
        if x.dim() > 0 and self.random.random() < 0.05:
            x = x[:1].expand(x.shape)
        if self.random.random() < 0.02:
            x = x.to("meta")
        if (dtype.is_floating_point or dtype.is_complex) and self.random.random() < 0.3:
            x = x.detach().requires_grad_()
        return x

    def int(self) -> int:
        return self.random.choice(INTS if self.random.random() < 0.3 else (-2, -1, 0, 1, 2, 3))

    def float(self) -> float:
        return self.random.choice(FLOATS)

    def ints(self) -> tuple[int, ...]:
        return tuple(self.int() for _ in range(self.random.randrange(5)))

    def bool(self) -> bool:
        return self.random.random() < 0.5

    def word(self) -> str:
        return self.random.choice(WORDS)

    def dtype(self) -> Any:
        return getattr(facula, self.random.choice((*DTYPES, *RARE_DTYPES)))

    def tensors(self) -> list[Any]:
        return [self.tensor() for _ in range(self.random.randrange(4))]

    def anything(self) -> Any:
        choices = (self.tensor, self.int, self.float, self.ints, self.bool, self.word)
        more = (self.dtype, self.tensors, lambda: None, lambda: 1j, lambda: {}, lambda: object)
        return self.any_of(*choices, *more)

    def of(self, parameter: Parameter) -> Any:
        kind, name = parameter.type, parameter.name
        if self.random.random() < 0.03:
            return self.anything()
        if name in ("self", "input", "other", "out") or kind.strip().startswith("Tensor"):
            return self.tensor()
        kinds = {
            "Sequence[Tensor": self.tensors,
            "Tensor": self.tensor,
            "Sequence[int": self.ints,
            "int": self.int,
            "float": self.float,
            "bool": self.bool,
            "str": self.word,
            "dtype": self.dtype,
        }
        fitting = [draw for word, draw in kinds.items() if word in kind]
        if name in ("tensors", "indices"):
            fitting.append(self.tensors)
        return self.any_of(*fitting) if fitting else self.anything()

    def call(self, target: Target) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter in target.parameters:
            if parameter.is_optional and self.random.random() < 0.7:
                # What follows can only be given by its name.
                named = [p for p in target.parameters if p.is_optional]
                for p in named[len(args) - len(target.parameters) + len(named) :]:
                    if self.random.random() < 0.3:
                        kwargs[p.name] = self.of(p)
                break
            if parameter.is_named:
                kwargs[parameter.name] = self.of(parameter)
            else:
                args.append(self.of(parameter))
        return args, kwargs


def described(value: Any) -> str:
    if isinstance(value, facula.Tensor):
        grad = ", grad" if value.requires_grad else ""
        return f"<{value.dtype} {tuple(value.shape)} {value.stride()} {value.device}{grad}>"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k}={described(v)}' for k, v in value.items())}}}"
    return repr(value)


def use(result: Any) -> None:
    """Reads what came out, and goes back through it."""
    if isinstance(result, (list, tuple)):
        for item in result[:4]:
            use(item)
    if isinstance(result, facula.Tensor) and result.numel() < 1 << 20:
        if result.requires_grad:
            facula.autograd.backward(result, facula.ones_like(result))
        repr(result)


def run(device: str, seed: int, n_calls: int, until: float, note_file: str) -> int:
    """The number of calls that returned something; the rest raised."""
    with open(note_file, "r+b") as file:
        note = mmap.mmap(file.fileno(), N_NOTE)
    if device == "cpu":
        # 12 GB from here on: the sanitisers have mapped terabytes that they do not use.
        n_mapped = int(Path("/proc/self/statm").read_text().split()[0])
        limit = n_mapped * resource.getpagesize() + (12 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    warnings.simplefilter("ignore")
    arguments, n_returned = Arguments(device, seed), 0
    facula.manual_seed(seed)
    choices = targets()
    for nth in range(n_calls):
        if nth % N_BETWEEN_CHECKS == 0:
            faulthandler.dump_traceback_later(SECONDS_PER_CHECK, exit=True)
            # Faults of the calls before are raised where the device is waited for.
            with contextlib.suppress(Exception):
                facula.ones(3, device=device).sum().item()
            assert facula.arange(100, device=device).sum().item() == 4950
            if time.monotonic() > until:
                break
        target = arguments.random.choice(choices)
        try:
            args, kwargs = arguments.call(target)
        except Exception:  # a tensor that cannot be made, such as the half of a meta one
            continue
        text = f"{nth}: {target.name}{described(args)}{described(kwargs)}"
        note[:] = text.encode(errors="replace")[:N_NOTE].ljust(N_NOTE, b"\0")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                use(target.function(*args, **kwargs))
            n_returned += 1
        except (Exception, SystemExit):
            pass
    faulthandler.cancel_dump_traceback_later()
    return n_returned


def main() -> None:
    parser = argparse.ArgumentParser(description="Random calls; see the top of the file.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--calls", type=int, default=20_000, help="of each seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--note", help="for one process: the file in which it notes its calls")
    args = parser.parse_args()
    until = time.monotonic() + args.seconds
    if args.note:
        returned = run(args.device, args.seeds[0], args.calls, until, args.note)
        print("RETURNED", returned)
        return

    def one(seed: int) -> bool:
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"\0" * N_NOTE)
            file.flush()
            options = {"device": args.device, "calls": args.calls, "seeds": seed, "note": file.name}
            command = [sys.executable, __file__, f"--seconds={until - time.monotonic()}"]
            command += [f"--{name}={value}" for name, value in options.items()]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            note = Path(file.name).read_bytes().rstrip(b"\0").decode(errors="replace")
        if ended.returncode == 0:
            print(f"seed {seed}: {ended.stdout.strip()} of {note.split(':')[0]}", flush=True)
            return True
        print(f"seed {seed}: ended with {ended.returncode} at {note}\n{ended.stderr[-1500:]}")
        return False

    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        results = list(pool.map(one, args.seeds))
    sys.exit(not all(results))


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()

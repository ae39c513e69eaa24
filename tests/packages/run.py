"""Programs on well-known packages, run by ``facula run``, compared with what PyTorch prints.

    python tests/packages/run.py [NAME ...]        run, compare, print a table
    python tests/packages/run.py --write           run all, and write docs/programs.md
    python tests/packages/run.py --expect [NAME]   write expected/, with PyTorch

A program of ``programs/`` is what a user of the package writes; ``expected/`` has what it
prints with PyTorch, whose random numbers are ours: so are the weights that it starts from.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import runpy
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIMEOUT_S = 900
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
# How long something took is never the same.
TIMES = re.compile(r"'?\w+(?:runtime|per_second)'?: '?[\d.e+-]+'?")

# Which package a program is about; the others are named like it.
PACKAGES = {
    "geometric": ("torch_geometric",),
    "ignite": ("pytorch-ignite",),
    "ode": ("torchdiffeq", "torchsde"),
    "optimizers": ("pytorch_optimizer", "torch-optimizer", "lion-pytorch"),
    "pyro": ("pyro-ppl",),
    "sb3": ("stable_baselines3", "gymnasium"),
    "segmentation": ("segmentation_models_pytorch",),
    "small": ("einops", "safetensors", "torchinfo", "tensordict"),
}


def packages_of(name: str) -> tuple[str, ...]:
    """The packages that a program is about."""
    first = name.partition("_")[0]
    return PACKAGES.get(first, (first,))


def program_of(name: str) -> Path:
    """The file of a program."""
    return HERE / "programs" / f"{name}.py"


def purpose_of(name: str) -> str:
    """What a program does: the first line of its docstring."""
    return program_of(name).read_text().splitlines()[0].strip('"').rstrip(".")


def run(words: list[str]) -> tuple[str, str]:
    """What a program printed, and why it did not end well (nothing if it did)."""
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            [sys.executable, *words],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return "", f"still running after {TIMEOUT_S} s"
    if done.returncode == 0:
        return done.stdout, ""
    last = done.stderr.strip().splitlines()[-1:] or ["no message"]
    return done.stdout, f"exit status {done.returncode}: {last[0]}"


def are_equal(ours: str, theirs: str) -> bool:
    """Whether two lines say the same, numbers up to rounding."""
    ours, theirs = (TIMES.sub("", line) for line in (ours, theirs))
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(
        a == b or math.isclose(float(a), float(b), rel_tol=3e-3, abs_tol=2e-4) for a, b in pairs
    )


def compare(name: str) -> str:
    """What is wrong with our run of a program; nothing if nothing is."""
    printed, failure = run(["-m", "facula", "run", str(program_of(name))])
    ours, theirs = (
        printed.splitlines(),
        (HERE / "expected" / f"{name}.txt").read_text().splitlines(),
    )
    for a, b in zip(ours, theirs, strict=False):
        if not are_equal(a, b):
            return f"printed {a!r} where PyTorch prints {b!r}"
    if failure:
        return failure
    return "" if len(ours) == len(theirs) else f"{len(ours)} lines instead of {len(theirs)}"


def expect(names: list[str]) -> None:
    """Write what the programs print with PyTorch."""
    for name in names:
        printed, failure = run([str(HERE / "run.py"), "--torch", name])
        assert not failure, f"{name}: {failure}"
        (HERE / "expected" / f"{name}.txt").write_text(printed)
        print(f"wrote expected/{name}.txt")


def run_with_torch(name: str) -> None:
    """Run a program with PyTorch and torchvision in this process."""
    sys.path.insert(0, str(ROOT / "tests" / "parity"))
    import vision_oracle  # noqa: F401  its torchvision works on machines without CUDA

    path = program_of(name)
    sys.argv, sys.path[0] = [str(path)], str(path.parent)
    runpy.run_path(str(path), run_name="__main__")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    for option in ("--write", "--expect", "--torch"):
        parser.add_argument(option, action="store_true")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in (HERE / "programs").glob("*.py"))
    if options.torch:
        run_with_torch(names[0])
        return 0
    if options.expect:
        expect(names)
        return 0
    rows, n_failed = [], 0
    for name in names:
        start = time.perf_counter()
        wrong = compare(name)
        n_failed += bool(wrong)
        print(f"{name} ({time.perf_counter() - start:.0f} s): {wrong or 'as PyTorch'}", flush=True)
        versions = ", ".join(f"`{package} {version(package)}`" for package in packages_of(name))
        result = f"`{wrong}`" if wrong else "as PyTorch"
        rows.append(f"| {versions} | {purpose_of(name)} | {result} |")
    if options.write:
        table = ["| package | what is run | result |", "| --- | --- | --- |", *rows]
        text = "# Programs on packages\n\nMade by `make programs`: each program of "
        text += "`tests/packages/programs` runs under `facula run`, and its output is compared\n"
        text += "with what it prints under PyTorch 2.13.\n\n" + "\n".join(table) + "\n"
        (ROOT / "docs" / "programs.md").write_text(text)
    print(f"{len(names) - n_failed} passed, {n_failed} failed")
    return min(n_failed, 1)


if __name__ == "__main__":
    sys.exit(main())

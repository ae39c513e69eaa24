"""On a machine with an NVIDIA GPU and PyTorch: build, tests, parity, memcheck, random calls, times.

    python3 tools/cuda_check.py tests benchmark

Downloads nothing: it takes Python, CMake, nanobind, OpenBLAS and pytest as the machine has them.
Every part ends in its time; what did not fit in is said. Full logs go to the folder of ``--out``
(the variable OUT by default), and failures are printed in short form.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
N_CORES = len(os.sched_getaffinity(0))
PYTEST = ["-m", "pytest", "-p", "no:cacheprovider", "-m", "cuda"]
# They count the memory of the GPU, which others in the same process or on the same GPU change.
ALONE = ("tests/cuda/test_memory.py",)


class Limits(NamedTuple):
    """Seconds that each part may take."""

    build: int = 240
    tests: int = 200
    parity: int = 120
    memcheck: int = 90
    calls: int = 90
    profile: int = 90
    first: int = 90
    benchmark: int = 200


class Run:
    """The options, and what the parts share."""

    def __init__(
        self, out: Path, only: str, n_workers: int, limits: Limits, files: list[str]
    ) -> None:
        self.out, self.only, self.n_workers, self.limits = out, only, n_workers, limits
        self.files = files
        out.mkdir(parents=True, exist_ok=True)
        self.has_failed = False

    def fail(self, text: str) -> None:
        self.has_failed = True
        print(text)

    def log(self, name: str, text: str) -> None:
        with (self.out / name).open("a") as file:
            file.write(text + "\n")


class Ended(NamedTuple):
    """How a command ended: ``code`` is None where its time was up."""

    code: int | None
    text: str
    seconds: float


def environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        # Processes run side by side, one to a core.
        "OPENBLAS_NUM_THREADS": "1",
    }


def call(command: Iterable[str], seconds: float, env: dict[str, str] | None = None) -> Ended:
    start = time.monotonic()
    # To a file: what a command wrote until its time was up is not lost.
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            list(command),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env=env or environment(),
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(max(1, seconds))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started
            process.wait()
            code = None
        output.seek(0)
        return Ended(code, output.read(), time.monotonic() - start)


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def build(run: Run) -> None:
    """Compiles the core and puts it beside the Python sources, unless one is there already."""
    found = call(python("-c", "import facula; print(facula.__file__)"), 60)
    if found.code == 0:
        print("the core that is there is used")
        return
    folder = "build/cuda-check"
    options = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    steps = [
        ["cmake", "-S", ".", "-B", folder, "-G", "Ninja", *options],
        ["cmake", "--build", folder, "--parallel", str(N_CORES), "--target", "_core"],
        ["cmake", "--install", folder, "--prefix", str(ROOT)],
    ]
    for step in steps:
        ended = call(step, run.limits.build)
        run.log("build.log", ended.text)
        if ended.code != 0:
            errors = [line for line in ended.text.splitlines() if "error" in line.lower()]
            sys.exit("\n".join(["the build failed:", *errors[:20], ended.text[-2000:]]))


def info(run: Run) -> None:
    print(call(python("-m", "facula.cli", "info"), 60).text)


class TestRun(NamedTuple):
    """What a process of pytest said."""

    counts: dict[str, int]
    failures: list[str]
    seconds: float


OUTCOME = re.compile(r"^(\S+::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)


def collect(run: Run, paths: Iterable[str]) -> list[str]:
    # Where many are collected at once, they are collected by several processes.
    def one(path: str) -> Ended:
        return call(python(*PYTEST, "--collect-only", "-q", "-k", run.only, path), 60)

    tests: list[str] = []
    with concurrent.futures.ThreadPoolExecutor(run.n_workers) as pool:
        for path, ended in zip(paths, pool.map(one, paths), strict=True):
            found = [line for line in ended.text.splitlines() if line.startswith("tests/")]
            tests += [line for line in found if "::" in line]
            if "ModuleNotFoundError" in ended.text:
                missing = re.findall(r"No module named \S+", ended.text)
                print(f"{path}: left out: {missing[-1] if missing else None}")
            elif ended.code not in (0, 5):  # 5: there are none
                run.fail(f"{path} could not be collected: {ended.text[-500:]}")
    return tests


def cuda_files() -> list[str]:
    """Those that have tests for GPUs, the cheap ones of tests/cuda first."""
    word = re.compile(r"\b(cuda|device)\b")
    files = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if "parity" not in path.parts and word.search(path.read_text())
    ]
    files.sort(key=lambda path: (path.parent.name != "cuda", str(path)))
    return [str(path.relative_to(ROOT)) for path in files]


def run_tests(run: Run, tests: list[str], seconds: float) -> TestRun:
    options = ["-v", "--tb=short", "-rN", "--no-header", "--color=no"]
    ended = call(python(*PYTEST, *options, *tests), seconds)
    run.log("tests.log", ended.text)
    outcomes = OUTCOME.findall(ended.text)
    counts: dict[str, int] = {}
    for _, outcome in outcomes:
        counts[outcome] = counts.get(outcome, 0) + 1
    reports = _reports(ended.text)
    failures = [f"{name}\n{reports.get(name, '')}" for name, o in outcomes if o in _BAD]
    n_missing = len(tests) - len({name for name, _ in outcomes})
    if ended.code is None or ended.code < 0 or (n_missing and ended.code not in (0, 1, 5)):
        how = "took too long" if ended.code is None else f"ended with {ended.code}"
        started = [line for line in ended.text.splitlines() if line.startswith("tests/")]
        at = started[-1] if started else ended.text[-400:]
        failures.append(f"a process {how} with {n_missing} tests to go, at: {at}")
        counts["NOT RUN"] = n_missing
    return TestRun(counts, failures, ended.seconds)


_BAD = ("FAILED", "ERROR", "XPASS")


def _reports(text: str) -> dict[str, str]:
    """Of each failed test, the line of the test and what was wrong."""
    reports: dict[str, str] = {}
    parts = re.split(r"^_{3,} (?:ERROR at \w+ of )?(.+?) _{3,}$", text, flags=re.MULTILINE)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        lines = [line for line in body.splitlines() if line.startswith(("E  ", "tests/"))]
        places = [line for line in lines if line.startswith("tests/")][-1:]
        wrong = [line for line in lines if line.startswith("E")][:6]
        reports[name] = "\n".join(f"    {line:.160}" for line in places + wrong)
    by_node: dict[str, str] = {}
    for node, _ in OUTCOME.findall(text):
        # pytest's title of a report is the test's name without its file, with dots for classes.
        by_node[node] = reports.get(node.split("::", 1)[1].replace("::", "."), "")
    return by_node


def tests(run: Run) -> None:
    """All tests marked cuda, in processes of their own; a crash takes only its own part with it."""
    until = time.monotonic() + run.limits.tests
    found = collect(run, run.files or cuda_files())
    alone = [test for test in found if test.startswith(ALONE)]
    chunks = _chunks([test for test in found if test not in set(alone)], 32)
    results, n_left = [], 0
    with concurrent.futures.ThreadPoolExecutor(run.n_workers) as pool:

        def one(chunk: list[str]) -> TestRun | None:
            left = until - time.monotonic()
            return run_tests(run, chunk, min(100, left)) if left > 5 else None

        for chunk, result in zip(chunks, pool.map(one, chunks), strict=True):
            if result is None:
                n_left += len(chunk)
            else:
                results.append(result)
    if alone:
        results.append(run_tests(run, alone, max(20, until - time.monotonic())))
    _print_tests(run, results, n_left)


def _chunks(items: list[str], size: int) -> list[list[str]]:
    """Of one file each: what is compiled for one test serves its neighbours."""
    chunks: list[list[str]] = []
    for item in items:
        file = item.split("::")[0]
        if not chunks or len(chunks[-1]) == size or chunks[-1][0].split("::")[0] != file:
            chunks.append([])
        chunks[-1].append(item)
    return chunks


def _print_tests(run: Run, results: list[TestRun], n_left: int) -> None:
    counts: dict[str, int] = {"NOT RUN": n_left} if n_left else {}
    failures: list[str] = []
    for result in results:
        failures += result.failures
        for outcome, n in result.counts.items():
            counts[outcome] = counts.get(outcome, 0) + n
    (run.out / "failures.txt").write_text("\n".join(failures) + "\n")
    for failure in failures[:30]:
        print(failure)
    if len(failures) > 30:
        print(f"... and {len(failures) - 30} more, in failures.txt:")
        for failure in failures[30:80]:
            print(f"{failure.splitlines()[0]:.120}")
    if failures or n_left:
        run.has_failed = True
    print("tests:", ", ".join(f"{n} {outcome.lower()}" for outcome, n in sorted(counts.items())))


def parity(run: Run) -> None:
    """PyTorch's own samples of each operation: the GPU against the CPU."""
    shards = run.n_workers

    until = time.monotonic() + run.limits.parity

    def one(shard: int) -> Ended:
        command = ["-m", "tests.parity.on_gpu", f"--shard={shard}/{shards}", f"--only={run.only}"]
        text = ""
        while True:
            begun = re.findall("^RUN (.*)$", text, re.MULTILINE)
            left = until - time.monotonic()
            ended = call(python(*command, f"--skip={len(begun)}"), left)
            text += ended.text
            if ended.code in (0, None) or "RUN " not in ended.text:
                return ended._replace(text=text)
            # A crash: the others are run without the one that caused it.
            last = re.findall("^RUN (.*)$", ended.text, re.MULTILINE)[-1]
            text += f"\nFAIL {last}: the process ended with {ended.code}\n"

    with concurrent.futures.ThreadPoolExecutor(shards) as pool:
        endings = list(pool.map(one, range(shards)))
    passed, failed = [], []
    for i, ended in enumerate(endings):
        run.log("parity.log", ended.text)
        for line in ended.text.splitlines():
            if line.startswith("PASS "):
                passed.append(line)
            elif line.startswith("FAIL "):
                failed.append(line)
        if ended.code != 0:
            last = ended.text.splitlines()[-3:]
            run.fail(f"parity: process {i} ended with {ended.code}: {' / '.join(last)}")
    for line in failed[:60]:
        print(f"{line:.200}")
    n = len(passed) + len(failed)
    print(f"parity: {len(passed)} of {n} operations agree ({100 * len(passed) / max(n, 1):.1f}%)")


def memcheck(run: Run) -> None:
    """compute-sanitizer over some tests of each file."""
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(tool).exists():
        return run.fail("memcheck: compute-sanitizer is not here")
    found = collect(run, [path for path in cuda_files() if path.startswith("tests/cuda")])
    by_file: dict[str, list[str]] = {}
    for test in found:
        by_file.setdefault(test.split("::")[0], []).append(test)

    def one(chosen: list[str]) -> Ended:
        # Calls that fail are no errors here: tests ask for more memory than there is.
        options = ["--tool=memcheck", "--print-limit=3", "--report-api-errors=no"]
        command = [tool, *options, *python(*PYTEST, "-q", "--tb=line", "--no-header", *chosen)]
        return call(command, run.limits.memcheck)

    spread = [names[:: max(1, len(names) // 8)][:8] for names in by_file.values()]
    with concurrent.futures.ThreadPoolExecutor(run.n_workers) as pool:
        for chosen, ended in zip(spread, pool.map(one, spread), strict=True):
            run.log("memcheck.log", ended.text)
            lines = [
                x for x in ended.text.splitlines() if re.search(r"=+ +(Inv|ERROR S|.* at )", x)
            ]
            file = chosen[0].split("::")[0]
            if ended.code is None:
                print(f"memcheck: {file}: not done in time")
            elif "ERROR SUMMARY: 0 errors" not in ended.text:
                run.fail("\n".join([f"memcheck: {file}: ended with {ended.code}", *lines[:8]]))
            else:
                print(f"memcheck: {file}: clean, {ended.seconds:.0f} s")


def calls(run: Run) -> None:
    """Random calls: whatever they raise, the process and the GPU go on."""
    until = f"--seconds={run.limits.calls}"
    seeds = ["--seeds", *map(str, range(run.n_workers)), f"--workers={run.n_workers}"]
    command = python("tests/random_calls.py", "--device=cuda", "--calls=10000000", until, *seeds)
    ended = call(command, run.limits.calls + 90)
    run.log("calls.log", ended.text)
    n = sum(int(of) for of in re.findall(r"RETURNED \d+ of (\d+)", ended.text))
    print(f"calls: {n}")
    if ended.code != 0:
        run.fail(ended.text[-6000:])


def profile(run: Run) -> None:
    """Where the time of the models goes, by kernel, beside PyTorch."""
    models = ["--models", *run.only.split()] if run.only else []
    ended = call(python("benchmarks/cuda_profile.py", *models), run.limits.profile)
    run.log("profile.log", ended.text)
    print(ended.text if ended.code == 0 else ended.text[-6000:])


def first(run: Run) -> None:
    """How long the first step of a training takes, with nothing cached and after."""
    ended = call(python("benchmarks/cuda_first.py"), run.limits.first)
    run.log("first.log", ended.text)
    print(ended.text[-3000:])
    if ended.code != 0:
        run.fail(f"first: ended with {ended.code}")


def benchmark(run: Run) -> None:
    """The table beside PyTorch."""
    env = {key: value for key, value in environment().items() if key != "OPENBLAS_NUM_THREADS"}
    options = ["--threads=8", "--rounds=5", f"--only={run.only}"]
    ended = call(python("benchmarks/cuda.py", *options), run.limits.benchmark, env)
    run.log("benchmark.log", ended.text)
    print(ended.text[-6000:])
    if ended.code != 0:
        run.fail(f"benchmark: ended with {ended.code}")


PARTS: dict[str, Callable[[Run], None]] = {
    part.__name__: part
    for part in (build, info, tests, parity, memcheck, calls, profile, first, benchmark)
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Checks of a GPU; see the top of the file.")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--out", type=Path, default=os.environ.get("OUT", "build/cuda-check-logs"))
    parser.add_argument("--only", default="", help="names of tests, as pytest's -k, or of rows")
    parser.add_argument("--files", nargs="*", default=[], help="files of tests; all by default")
    parser.add_argument("--workers", type=int, default=max(1, N_CORES - 2))
    parser.add_argument("--seconds", type=json.loads, default={}, help='{"tests": 100, ...}')
    args = parser.parse_args()
    unknown = [part for part in args.parts if part not in PARTS]
    if unknown:
        parser.error(f"there are no parts {', '.join(unknown)}; there are {', '.join(PARTS)}")
    print_now = functools.partial(print, flush=True)
    run = Run(Path(args.out), args.only, args.workers, Limits(**args.seconds), args.files)
    for name in dict.fromkeys(["build", "info", *(args.parts or PARTS)]):
        start = time.monotonic()
        PARTS[name](run)
        print_now(f"== {name}: {time.monotonic() - start:.0f} s\n")
    sys.exit(run.has_failed)


if __name__ == "__main__":
    main()

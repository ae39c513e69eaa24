"""Times the same statements with Facula and with PyTorch, in turns, on the same number of threads.

Each framework lives in a process of its own, so that neither's threads and memory disturb the
other. A script of this folder lists its ``CASES``; run by itself it prints their table.
"""

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

N_ROUNDS = 7
ROUND_S = 0.05
REST_S = 0.1  # until the threads of the framework that ran before have stopped spinning

# Holds Facula, PyTorch and the libraries that multiply for them to the instructions of AVX2. They
# read it as they are loaded.
AVX2 = {
    "FACULA_CPU_CAPABILITY": "avx2",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}


@dataclass(frozen=True)
class Case:
    """A statement to time, with the names that ``setup(torch)`` makes for it.

    ``budget`` is how many times faster than PyTorch the design asks it to be, and ``limit`` the
    ratio at which the arithmetic alone fills the time: 90% of the limit is as good as the budget.
    ``floor`` is a statement that moves the same memory with hardly any arithmetic; its time, taken
    in the same rounds, gives the limit instead. ``has_memory_row`` asks for a second row: the peak
    of the memory that setup and three runs take. ``has_avx2_row`` puts the case into the table in
    which both frameworks are held to AVX2. ``clock`` is what is measured: the time that passes, or
    that of the CPU in the process itself. ``rival`` is the module to compare with, which the table
    shows in PyTorch's column.
    """

    name: str
    stmt: str
    setup: Callable[[ModuleType], dict[str, Any]]
    budget: float
    limit: float = float("inf")
    floor: str | None = None
    has_memory_row: bool = False
    has_avx2_row: bool = False
    clock: Callable[[], float] = time.perf_counter
    work: tuple[float, str] | None = None
    gpu_memory: bool = False
    rival: str = "torch"


@dataclass(frozen=True)
class Row:
    """One line of the table, as text, and whether its budget is met."""

    name: str
    facula: str
    torch: str
    ratio: str
    budget: str
    limit: str
    is_met: bool


class Worker:
    """A process that holds one framework and times cases of one script on request."""

    def __init__(self, framework: str, script: str, n_threads: int, is_avx2: bool = False) -> None:
        command = [sys.executable, __file__, framework, script, str(n_threads)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | (AVX2 if is_avx2 else {}),
        )

    def time(self, index: int, kind: str = "stmt") -> float | None:
        """Seconds per statement in one round, or None if the framework cannot run the case."""
        assert self._process.stdin and self._process.stdout
        print(index, kind, file=self._process.stdin, flush=True)
        reply = self._process.stdout.readline()
        return json.loads(reply) if reply else None

    def close(self) -> None:
        self._process.communicate()


def peak_memory(framework: str, script: str, index: int, n_threads: int) -> int | None:
    """Bytes that the case adds at its peak, in a process of its own."""
    command = [sys.executable, __file__, framework, script, str(n_threads), str(index)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(result.stdout) if result.returncode == 0 else None


def print_peak_memory(framework: str, script: str, n_threads: int, index: int) -> None:
    """What the process of ``peak_memory`` does. The kernel counts the peak."""
    torch = importlib.import_module(framework)
    torch.set_num_threads(n_threads)
    case = importlib.import_module(script).CASES[index]
    before = _status_bytes("VmRSS")
    timeit.Timer(case.stmt, globals={"torch": torch, **case.setup(torch)}).timeit(3)
    print(json.dumps(_status_bytes("VmHWM") - before))


def _status_bytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


def serve(framework: str, script: str, n_threads: int) -> None:
    """The worker's loop: reads the number of a case, writes its time."""
    torch = importlib.import_module(framework)
    if os.environ.items() >= AVX2.items() and torch.backends.cpu.get_cpu_capability() != "AVX2":
        sys.exit(f"{framework} is not held to AVX2: {torch.backends.cpu.get_cpu_capability()}")
    torch.set_num_threads(n_threads)
    cases = importlib.import_module(script).CASES
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a framework prints must not be taken for a reply
    current, timers = -1, {}
    for line in sys.stdin:
        index, kind = line.split()
        case = cases[int(index)]
        try:
            if int(index) != current:
                current, timers = int(index), {}
                names = {"torch": torch, **case.setup(torch)}
            if kind == "gpu_memory":
                gc.collect()  # what earlier cases left
                torch.cuda.reset_peak_memory_stats()
                timeit.Timer(case.stmt, globals=names).timeit(1)
                print(torch.cuda.max_memory_allocated(), file=replies, flush=True)
                continue
            if kind not in timers:
                timer = timeit.Timer(getattr(case, kind), globals=names, timer=case.clock)
                first = max(timer.timeit(3) / 3, 1e-9)
                timers[kind] = timer, max(1, int(ROUND_S / min(first, timer.timeit(1))))
            timer, number = timers[kind]
            time.sleep(REST_S)
            timer.timeit(max(1, number // 8))  # wakes the own threads
            seconds = timer.timeit(number) / number
        except Exception as error:
            print(f"{framework}: {case.name}: {error!r}", file=sys.stderr)
            current, seconds = -1, None
        print(json.dumps(seconds), file=replies, flush=True)


def each_row(
    script: str,
    n_threads: int,
    is_avx2: bool = False,
    n_rounds: int = N_ROUNDS,
    only: str = "",
) -> Iterator[Row]:
    """Times every case of the script, round by round in turns, and keeps the best of each.

    With ``is_avx2``, those for the table of AVX2, and their time alone; with ``only``, those whose
    names have it in them.
    """
    cases = importlib.import_module(script).CASES
    names = dict.fromkeys(["facula", *(case.rival for case in cases)])
    workers = {name: Worker(name, script, n_threads, is_avx2) for name in names}
    facula = workers["facula"]
    for index, case in enumerate(cases):
        if (is_avx2 and not case.has_avx2_row) or only not in case.name:
            continue
        rival = workers[case.rival]
        turns = [partial(facula.time, index), partial(rival.time, index)]
        if case.floor is not None:
            turns.append(partial(facula.time, index, "floor"))
        rounds = [[turn() for turn in turns] for _ in range(n_rounds)]
        best = [None if None in times else min(times) for times in zip(*rounds, strict=True)]
        yield _row(case, *best)
        if case.has_memory_row and not is_avx2:
            peaks = [peak_memory(name, script, index, n_threads) for name in ("facula", case.rival)]
            yield _memory_row(case, *peaks)
        if case.gpu_memory:
            bytes_used = [worker.time(index, "gpu_memory") for worker in (facula, rival)]
            yield _memory_row(case, *bytes_used)
    for worker in workers.values():
        worker.close()


def compare(script: str, n_threads: int, is_avx2: bool = False) -> list[Row]:
    """All rows of the script."""
    return list(each_row(script, n_threads, is_avx2))


def _row(
    case: Case, facula_s: float | None, torch_s: float | None, floor_s: float | None = None
) -> Row:
    ratio = torch_s / facula_s if facula_s and torch_s else 0.0
    limit = torch_s / floor_s if torch_s and floor_s else case.limit
    return Row(
        case.name,
        format_seconds(facula_s) + _rate(case, facula_s),
        format_seconds(torch_s) + _rate(case, torch_s),
        f"{ratio:.2f}x" if ratio else "-",
        f"{case.budget:g}x",
        f"{limit:.3g}x" if limit < float("inf") else "",
        ratio >= min(case.budget, 0.9 * limit),
    )


def _rate(case: Case, seconds: float | None) -> str:
    if case.work is None or not seconds:
        return ""
    amount, unit = case.work
    return f" ({amount / seconds / 1e12:.3g} {unit})"


def _memory_row(case: Case, facula: float | None, torch: float | None) -> Row:
    texts = ["failed" if peak is None else f"{peak / 1e6:.1f} MB" for peak in (facula, torch)]
    ratio = torch / facula if facula and torch else 0.0
    name = f"{case.name.split(',')[0]}, peak memory"
    return Row(name, *texts, f"{ratio:.2f}x" if ratio else "-", "1x", "", ratio >= 1)


def format_seconds(seconds: float | None) -> str:
    if seconds is None:
        return "failed"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def render(rows: list[Row]) -> str:
    """The rows as a Markdown table with aligned columns."""
    cells = [["", "`facula`", "`torch`", "ratio", "budget", "limit", "met"]]
    cells += [
        [r.name, r.facula, r.torch, r.ratio, r.budget, r.limit, "yes" if r.is_met else "no"]
        for r in rows
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    cells.insert(1, ["-" * width for width in widths])
    lines = [" | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) for r in cells]
    return "\n".join(f"| {line} |" for line in lines)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser


def main(file: str) -> None:
    """What a script of this folder does when it is run by itself."""
    options = parser()
    options.add_argument("--avx2", action="store_true", help="the rows of the table of AVX2")
    options.add_argument("--rounds", type=int, default=N_ROUNDS)
    options.add_argument("--only", default="", help="rows whose names have this in them")
    args = options.parse_args()
    rows = []
    for row in each_row(Path(file).stem, args.threads, args.avx2, args.rounds, args.only):
        rows.append(row)
        print(f"{row.name}: {row.facula}, {row.torch}: {row.ratio}", file=sys.stderr, flush=True)
    print(render(rows))


if __name__ == "__main__":
    if len(sys.argv) == 5:
        print_peak_memory(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))

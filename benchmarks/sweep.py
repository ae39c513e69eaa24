"""``make sweep``: every public function against PyTorch, over sizes, layouts, dtypes and threads.

Each framework has a process of its own, and the two take turns at the rows of one call. A process
that crashes or hangs costs its row alone: another takes its place.

All rows are written to docs/sweep.csv, and those where PyTorch is faster to docs/sweep.md. Rows
that have become slower than in the last table are listed at the end.
"""

import argparse
import csv
import json
import math
import os
import platform
import queue
import subprocess
import sys
import threading
import time
import timeit
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import harness
import reasons
import sweep_calls
import sweep_inputs

ROOT = Path(__file__).resolve().parent.parent
TABLE, PAGE = ROOT / "docs" / "sweep.csv", ROOT / "docs" / "sweep.md"
COLUMNS = ("call", "size", "layout", "dtype", "threads", "facula_ns", "torch_ns")
N_ROUNDS = 3
TIMEOUT_S = 60
LONG_S = 0.3  # a call is not repeated
REST_S = 0.012  # until the threads of PyTorch have stopped spinning
FALLEN = 0.75  # of the ratio in the last table
Key = tuple[str, str, str, str, int]  # call, size, layout, dtype, threads


@dataclass(frozen=True)
class Row:
    """One line of the table, with the seconds of each framework."""

    key: Key
    facula: float
    torch: float

    @property
    def ratio(self) -> float:
        return self.torch / self.facula


class Rows:
    """What a worker holds: the calls that it was asked to time, ready to be repeated."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.timers = torch, {}

    def time(self, key: Key, seconds: float) -> float:
        """Seconds of the call: its first time here, else measured for about ``seconds``."""
        n_threads = key[4]
        if self.torch.get_num_threads() != n_threads:
            self.torch.set_num_threads(n_threads)
        if key not in self.timers:
            self.timers = {k: v for k, v in self.timers.items() if k[0] == key[0]}
            self.timers[key] = self._new(*key)
        timer, estimate = self.timers[key]
        if not seconds:
            return estimate
        if n_threads > 1:
            return shortest(timer, 2 * seconds)
        number = max(1, int(seconds / estimate))
        if number > 1:
            timer.timeit(max(1, number // 8))  # fills the caches
        return timer.timeit(number) / number

    def _new(self, text: str, size: str, layout: str, dtype: str, n_threads: int) -> Any:
        setup, _, timed = text.rpartition("; ")
        names = compile(text, text, "exec").co_names
        known = sweep_inputs.fill(self.torch, names, size, layout, dtype)
        exec(setup, known)
        # The time of the process leaves out what else runs on the machine; with threads it does not
        # say how long a call took.
        clock = time.process_time if n_threads == 1 else time.perf_counter
        timer = timeit.Timer(timed, globals=known, timer=clock)
        first = timer.timeit(1)
        if first < LONG_S:
            first = timer.timeit(1)
        return timer, timer.timeit(20) / 20 if first < 1e-4 else first


def shortest(timer: timeit.Timer, seconds: float) -> float:
    """The shortest of the calls, for threads have to wait for each other on a busy machine."""
    end = time.perf_counter() + seconds
    best = timer.timeit(1)
    while time.perf_counter() < end:
        best = min(best, timer.timeit(1))
    return best


def serve(framework: str) -> None:
    """The worker's loop: reads keys, writes a time or an error for each."""
    rows = Rows(import_module(framework))
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a framework prints must not be taken for a reply
    for line in sys.stdin:
        keys, seconds = json.loads(line)
        for key in keys:
            try:
                reply = rows.time(tuple(key), seconds)
            except Exception as error:
                reply = f"{type(error).__name__}: {error}".splitlines()[0]
            print(json.dumps(reply), file=replies, flush=True)


class Worker:
    """A process that holds one framework. It is started again when it has crashed or hung."""

    def __init__(self, framework: str) -> None:
        self.framework = framework
        self._start()

    def _start(self) -> None:
        command = [sys.executable, "-W", "ignore", __file__, "--serve", self.framework]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, text=True, **pipes)
        self._replies: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout:
            self._replies.put(line)
        self._replies.put(None)

    def times(self, keys: list[Key], seconds: float) -> list[float | str]:
        """Seconds of each call, or what was wrong with it."""
        found: list[float | str] = []
        while len(found) < len(keys):
            print(json.dumps((keys[len(found) :], seconds)), file=self._process.stdin, flush=True)
            while len(found) < len(keys):
                try:
                    reply = self._replies.get(timeout=TIMEOUT_S)
                except queue.Empty:
                    reply = f"no reply after {TIMEOUT_S} s"
                    break
                if reply is None:
                    reply = f"crashed with {self._process.wait()}"
                    break
                found.append(json.loads(reply))
            else:
                break
            found.append(reply)
            self.close()
            self._start()
        return found

    def close(self) -> None:
        self._process.kill()
        self._reader.join()
        self._process.communicate()


class Sweep:
    """Times rows with both frameworks in turns, and keeps what could not be timed."""

    def __init__(self, seconds: float, last: dict[Key, Row]) -> None:
        self.workers = {name: Worker(name) for name in ("facula", "torch")}
        self.seconds, self.last = seconds, last
        self.refused: dict[Key, str] = {}
        self.best: dict[Key, list[float]] = {}  # seconds of each framework

    def rows(self, keys: list[Key]) -> Iterator[Row]:
        """The rows of one call on one number of threads. What PyTorch refuses has none."""
        first = {name: worker.times(keys, 0) for name, worker in self.workers.items()}
        timed = []
        for key, *replies in zip(keys, first["facula"], first["torch"], strict=True):
            # What PyTorch says comes first: it need not take every dtype.
            for name, reply in zip(("torch", "facula"), reversed(replies), strict=True):
                if isinstance(reply, str):
                    self.refused.setdefault(key, f"{name}: {reply}")
            if key not in self.refused:
                self.best[key] = replies
                timed.append(key)
        for _ in range(N_ROUNDS):
            self._round(timed, self.seconds)
        for _ in range(N_ROUNDS):
            self._round(list(filter(self._is_doubtful, timed)), 2 * self.seconds)
        for key in timed:
            if key not in self.refused:
                yield Row(key, *self.best[key])

    def _round(self, keys: list[Key], seconds: float) -> None:
        keys = [k for k in keys if k not in self.refused and max(self.best[k]) < LONG_S]
        for place, (name, worker) in enumerate(self.workers.items()):
            if keys and keys[0][4] > 1:
                time.sleep(REST_S)
            for key, reply in zip(keys, worker.times(keys, seconds), strict=True):
                if isinstance(reply, str):
                    self.refused[key] = f"{name}: {reply}"
                else:
                    self.best[key][place] = min(self.best[key][place], reply)

    def _is_doubtful(self, key: Key) -> bool:
        """Whether it needs a second look: it would be pointed out, or more threads take longer."""
        best = self.best[key]
        row, before = Row(key, *best), self.last.get(key)
        alone = self.best.get((*key[:4], 1), best)
        is_slower = any(time > 1.1 * of_one for time, of_one in zip(best, alone, strict=True))
        is_fallen = before is not None and has_fallen(row, before)
        return row.ratio < 1 or is_fallen or is_slower

    def close(self) -> None:
        for worker in self.workers.values():
            worker.close()


def has_fallen(row: Row, before: Row) -> bool:
    return row.ratio < FALLEN * before.ratio


def fallen(rows: Iterable[Row], last: dict[Key, Row]) -> list[tuple[Row, Row]]:
    """The rows that were better in the last table, each with what it was; the worst first."""
    pairs = [(row, last[row.key]) for row in rows if row.key in last]
    worse = [(row, before) for row, before in pairs if has_fallen(row, before)]
    return sorted(worse, key=lambda pair: pair[0].ratio / pair[1].ratio)


def read(file: Path) -> dict[Key, Row]:
    if not file.exists():
        return {}
    with file.open(newline="") as lines:
        found = {}
        for *names, n_threads, facula_ns, torch_ns in list(csv.reader(lines))[1:]:
            key = (*names, int(n_threads))
            found[key] = Row(key, float(facula_ns) * 1e-9, float(torch_ns) * 1e-9)
        return found


def write(file: Path, rows: Iterable[Row]) -> None:
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            nanoseconds = (f"{float(f'{s * 1e9:.3g}'):.0f}" for s in (row.facula, row.torch))
            writer.writerow((*row.key, *nanoseconds))


def summary(rows: list[Row], families: dict[str, str]) -> str:
    """A line for each family, and one for all; ``families`` is the family of each call."""
    lines = ["| family | calls | rows | geometric mean | below 1.0x | below 0.9x |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for family in [*dict.fromkeys(families.values()), "all"]:
        part = [row for row in rows if family in ("all", families[row.key[0]])]
        if part:
            mean = math.exp(sum(math.log(row.ratio) for row in part) / len(part))
            below = [sum(r.ratio < limit for r in part) / len(part) for limit in (1.0, 0.9)]
            n_calls = len({row.key[0] for row in part})
            shares = " | ".join(f"{share:.1%}" for share in below)
            lines.append(f"| {family} | {n_calls} | {len(part)} | {mean:.2f}x | {shares} |")
    return "\n".join(lines)


def table(rows: Iterable[Row]) -> str:
    """The rows as a table, the slowest first."""
    lines = ["| ratio | call | size | layout | `dtype` | threads | `facula` | `torch` |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in sorted(rows, key=lambda row: row.ratio):
        call, size, layout, dtype, n_threads = row.key
        times = map(harness.format_seconds, (row.facula, row.torch))
        names = (f"`{call}`", size, f"`{layout}`", f"`{dtype}`", f"{n_threads}")
        cells = [f"{row.ratio:.2f}x", *names, *times]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page(rows: list[Row], calls: list[Any], refused: dict[Key, str], load: float) -> str:
    """docs/sweep.md. Code is in code: docs/chinese.po has the Chinese of the rest."""
    import torch
    from run import commit

    import facula
    from facula.cli import cpu_model

    versions = ", ".join(f"`{module.__name__} {module.__version__}`" for module in (facula, torch))
    measured = {row.key[0] for row in rows}
    families = {call.text: call.family for call in calls}
    why_not = {key[0]: why for key, why in refused.items()}
    without = [text for text in families if text not in measured]
    here = {(key[0], key[3]): why for key, why in refused.items() if why.startswith("facula: ")}
    left = sweep_calls.uncovered(facula, [call for call in calls if call.text in measured])
    n_covered = len(sweep_calls.public(facula)) - len(left)
    return f"""# Sweep

Generated by `make sweep`: every public function, Facula and PyTorch in turns in one run, of each
the best round. The ratio is how many times faster Facula is. All rows are in
[sweep.csv](sweep.csv); here are those below 1.0x.

The arguments of a call are made by [sweep_inputs.py](../benchmarks/sweep_inputs.py): `x` and `y`
are matrices with as many elements as the size says. A transposed matrix lies in memory by columns,
a transposed image with its channels last; a strided tensor is every other element of one twice as
long. One thread is measured by the time of the process, which leaves out what else ran on the
machine; for two threads the machine has to be idle.

| | |
| --- | --- |
| commit | `{commit()}` |
| machine | `{cpu_model()}`, `{platform.system()} {platform.machine()}` |
| load average at the start | {load:.1f} |
| versions | `Python {platform.python_version()}`, {versions} |
| functions, methods and layers | {n_covered} |

{summary(rows, families)}

## Below 1.0x

{table(row for row in rows if row.ratio < 1)}

## What limits those below 0.9x

{reasons.explained(row.key[0] for row in rows if row.ratio < 0.9)}

## What Facula refuses and PyTorch takes

{listed(f"`{call}`, `{dtype}`: {code(why)}" for (call, dtype), why in here.items())}

## Calls without a row

{listed(f"`{text}`: {code(why_not[text])}" for text in without)}

## Functions without a call

{", ".join(f"`{name}`" for name in left)}
"""


def code(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"


def listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def planned(calls: Iterable[Any], is_quick: bool) -> Iterator[list[Key]]:
    """The rows of each call, on one thread, then on two."""
    for call in calls:
        plan = sweep_calls.PLANS[call.plan]
        if is_quick:
            plan = [c for c in plan if c[1] == "contiguous" and c[2:] == (plan[0][2], 1)]
        for n_threads in (1, 2):
            keys = [(call.text, *c) for c in plan if c[3] == n_threads]
            if keys:
                yield keys


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--only", default="", help="calls that have this in them")
    options.add_argument("--quick", action="store_true", help="one dtype, layout and thread each")
    options.add_argument("--seconds", type=float, default=900, help="about how long it may take")
    options.add_argument("--serve", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.serve:
        return serve(args.serve)
    sys.path.append(str(ROOT))
    load, last, start = os.getloadavg()[0], read(TABLE), time.monotonic()
    calls = sweep_calls.all_calls(import_module("facula"))
    chosen = [call for call in calls if args.only in call.text]
    blocks = list(planned(chosen, args.quick))
    n_rows = sum(map(len, blocks))
    # A quarter of the time, in rounds of both frameworks: the rest goes into making inputs, second
    # looks, and calls that take longer than their share.
    sweep = Sweep(min(0.02, args.seconds / max(n_rows, 1) / (8 * N_ROUNDS)), last)
    rows: list[Row] = []
    for nth, keys in enumerate(blocks, 1):
        rows += sweep.rows(keys)
        if nth % 20 == 0 or nth == len(blocks):
            done = f"{time.monotonic() - start:.0f} s, {nth} of {len(blocks)}: {keys[0][0]}"
            print(done, file=sys.stderr, flush=True)
    sweep.close()
    if args.only or args.quick:
        print(table(rows))
    else:
        write(TABLE, rows)
        rows = list(read(TABLE).values())
        PAGE.write_text(page(rows, calls, sweep.refused, load))
    print(summary(rows, {call.text: call.family for call in calls}))
    for row, before in fallen(rows, last):
        print(f"slower than before: {row.ratio:.2f}x, was {before.ratio:.2f}x: {row.key}")


if __name__ == "__main__":
    main()

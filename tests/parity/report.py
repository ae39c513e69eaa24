"""``python -m tests.parity.report [--op NAME]... [--dtype NAME] [--show N]``

Runs the table of operations and prints, per operation, how many dtypes agree with PyTorch, the
categories of difference, and what is missing. Each operation runs in a worker process, so that one
that crashes is reported and the rest still run.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import multiprocessing.connection
import os
import re
import time
from collections.abc import Iterator
from typing import Any

from .engine import check_op
from .frameworks import DTYPES, facula
from .known_differences import unexcused
from .ops import table


def check_all_dtypes(name: str, dtypes: tuple[str, ...]) -> dict[str, Any]:
    """The line of one operation, as plain data that a worker can send back."""
    op = table()[name]
    dtypes = tuple(dtype for dtype in dtypes if dtype in op.dtypes)
    missing = op.missing_forms(facula)
    line: dict[str, Any] = {"name": name, "missing": missing, "bad": {}, "n_cases": 0}
    line["n_dtypes"] = len(dtypes)
    if len(missing) == len(op.forms):
        line["absent"] = True
        return line
    start = time.perf_counter()
    for dtype in dtypes:
        n_cases, differences = check_op(op, dtype)
        line["n_cases"] += n_cases
        new = unexcused(name, dtype, differences)
        if new:
            line["bad"][dtype] = [(d.category, d.text) for d in new]
    line["seconds"] = time.perf_counter() - start
    return line


def _worker(jobs: Any, results: Any, dtypes: tuple[str, ...]) -> None:
    for name in iter(jobs.get, None):
        results.send(("begin", os.getpid(), name))
        results.send(("end", os.getpid(), check_all_dtypes(name, dtypes)))
    results.send(("done", os.getpid(), None))


def run_in_workers(
    names: list[str], dtypes: tuple[str, ...], n_workers: int
) -> Iterator[dict[str, Any]]:
    """One line per name; a worker that dies is replaced, its operation marked as crashed."""
    context = multiprocessing.get_context("fork")
    table()
    jobs = context.SimpleQueue()
    for name in names:
        jobs.put(name)
    for _ in range(n_workers):
        jobs.put(None)
    workers: dict[Any, Any] = {}

    def start() -> None:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_worker, args=(jobs, theirs, dtypes), daemon=True)
        process.start()
        theirs.close()
        workers[ours] = (process, None)

    for _ in range(n_workers):
        start()
    while workers:
        for pipe in multiprocessing.connection.wait(list(workers)):
            process, current = workers[pipe]
            try:
                kind, _, value = pipe.recv()
            except EOFError:
                process.join()
                del workers[pipe]
                yield {"name": current, "crash": process.exitcode, "missing": [], "bad": {}}
                start()
                continue
            if kind == "begin":
                workers[pipe] = (process, value)
            elif kind == "end":
                yield value
            else:
                del workers[pipe]


def print_line(line: dict[str, Any], n_shown: int) -> None:
    if "crash" in line:
        print(f"{line['name']:32} CRASH, exit code {line['crash']}", flush=True)
        return
    if line.get("absent"):
        print(f"{line['name']:32} MISSING")
        return
    n_dtypes = line["n_dtypes"]
    n_good = n_dtypes - len(line["bad"])
    categories = collections.Counter(
        category for found in line["bad"].values() for category, _ in found
    )
    shown = " ".join(f"{c}:{n}" for c, n in categories.most_common())
    gone = f" without {', '.join(line['missing'])}" if line["missing"] else ""
    counts = f"{n_good:2}/{n_dtypes} {line['n_cases']:5} cases {line['seconds']:5.1f} s"
    print(f"{line['name']:32} {counts} {shown}{gone}", flush=True)
    for text, dtypes in _distinct(line["bad"])[:n_shown]:
        print(f"    {text}\n        in {' '.join(dtypes)}")


def _distinct(bad: dict[str, list[tuple[str, str]]]) -> list[tuple[str, list[str]]]:
    """Differences that are not the same but for their numbers, with the dtypes they occur in."""
    kinds: dict[str, tuple[str, list[str]]] = {}
    for dtype, found in bad.items():
        for category, text in found:
            key = category + re.sub(r"[\d.+e-]+", "#", text.split(" | ")[0].replace(dtype, ""))
            first = kinds.setdefault(key, (f"{category}: {text}", []))
            if dtype not in first[1]:
                first[1].append(dtype)
    return list(kinds.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--op", action="append", help="only this operation (may be repeated)")
    parser.add_argument("--dtype", action="append", choices=list(DTYPES))
    parser.add_argument(
        "--show", type=int, default=0, help="kinds of difference shown per operation"
    )
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    names = args.op or list(table())
    dtypes = tuple(args.dtype or DTYPES)
    lines = []
    for line in run_in_workers(names, dtypes, min(args.workers, len(names))):
        print_line(line, args.show)
        lines.append(line)
    good = [n for n in lines if not n["bad"] and not n["missing"] and "crash" not in n]
    absent = sum(bool(n.get("absent")) for n in lines)
    crashed = sum("crash" in n for n in lines)
    n_bad = len(lines) - len(good) - absent - crashed
    print(f"\n{len(good)} agree, {n_bad} differ, {absent} missing, {crashed} crash")


if __name__ == "__main__":
    main()

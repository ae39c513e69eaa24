"""``python -m tests.parity.report [--op NAME]... [--dtype NAME]... [--show N]``

Compares every operation of the table with PyTorch and prints, per operation, how many of its
entries agree, the categories of difference, and what is missing. An entry is one aspect of an
operation in one dtype: its calls (values, layouts, forms, gradients), calls that PyTorch's database
lists as wrong, ``vmap`` against a loop, forward mode. Each runs in a worker process, so that one
that crashes or hangs is reported and the rest still run. With ``FACULA_PARITY_WHOLE=1`` all inputs
of the database are tried, which takes half an hour for eight dtypes, else a fixed part of them.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import known_transforms
from .compare import Difference
from .engine import check_bad_inputs, check_op
from .frameworks import DTYPES, facula
from .known_differences import unexcused
from .ops import Op, table
from .samples import supports
from .transforms import jvp_differences, vmap_differences
from .workers import Failure, run_in_workers

SECONDS = 900.0  # for one entry, of which the largest have thousands of cases
TRANSFORMED = ("float64", "float32", "complex64", "int64", "bool")


class Entry(NamedTuple):
    """One aspect of one operation in one dtype, and what was found."""

    op: str
    aspect: str
    dtype: str
    n_cases: int
    n_excused: int  # cases that differ for reasons that the lists of known differences give
    new: list[tuple[str, str]]  # category and text of every other difference
    seconds: float


def _calls(op: Op, dtype: str) -> tuple[int, list[Difference]]:
    return check_op(op, dtype)


def _wrong_calls(op: Op, dtype: str) -> tuple[int, list[Difference]]:
    if op.info.error_inputs_func is None or dtype != "float32":
        return 0, []
    return check_bad_inputs(op)


def _vmap(op: Op, dtype: str) -> tuple[int, list[Difference]]:
    if not supports(op, dtype):
        return 0, []
    n_cases, found, _ = vmap_differences(op, dtype)
    return n_cases, found


def _forward_mode(op: Op, dtype: str) -> tuple[int, list[Difference]]:
    if not supports(op, dtype) or dtype in ("int64", "bool"):
        return 0, []
    return jvp_differences(op, dtype)


ASPECTS: dict[str, Callable[[Op, str], tuple[int, list[Difference]]]] = {
    "calls": _calls,
    "wrong calls": _wrong_calls,
    "vmap": _vmap,
    "forward mode": _forward_mode,
}


class Job(NamedTuple):
    name: str
    steps: tuple[tuple[str, str], ...]  # aspect and dtype


def _job(name: str, dtypes: tuple[str, ...], aspects: tuple[str, ...]) -> Job:
    op = table()[name]
    return Job(
        name,
        tuple(
            (aspect, dtype)
            for aspect in aspects
            for dtype in dtypes
            if dtype in op.dtypes and (aspect in ("calls", "wrong calls") or dtype in TRANSFORMED)
        ),
    )


def _unexcused(aspect: str, op: str, dtype: str, found: list[Difference]) -> list[Difference]:
    if aspect == "calls":
        return unexcused(op, dtype, found)
    if aspect == "wrong calls":
        return found
    category = "vmap" if aspect == "vmap" else "jvp"
    return known_transforms.unexcused(category, op, dtype, found)


def _work(job: Job, first: int) -> Iterator[Entry]:
    op = table()[job.name]
    for aspect, dtype in job.steps[first:]:
        start = time.perf_counter()
        n_cases, found = ASPECTS[aspect](op, dtype)
        new = _unexcused(aspect, job.name, dtype, found)
        # The names of nodes are compared too, but no result depends on them.
        differing = {d.text.partition(" | ")[2] for d in found if d.category != "grad_fn"}
        unexplained = {d.text.partition(" | ")[2] for d in new}
        yield Entry(
            job.name,
            aspect,
            dtype,
            n_cases,
            len(differing - unexplained),
            [(d.category, d.text) for d in new],
            time.perf_counter() - start,
        )


def entries(
    names: list[str], dtypes: tuple[str, ...], aspects: tuple[str, ...], n_workers: int
) -> Iterator[tuple[str, list[Entry], list[str]]]:
    """Of each operation: its name, entries, and those that crashed or hung."""
    jobs = [
        _job(name, dtypes, aspects)
        for name in names
        if len(table()[name].missing_forms(facula)) < len(table()[name].forms)
    ]
    done: dict[str, list[Any]] = {job.name: [] for job in jobs}
    for job, result in run_in_workers(jobs, _work, n_workers, SECONDS):
        done[job.name].append(result)
        if len(done[job.name]) == len(job.steps):
            results = done.pop(job.name)
            failed = [
                f"{' '.join(step)}: {result.why}"
                for step, result in zip(job.steps, results, strict=True)
                if isinstance(result, Failure)
            ]
            yield job.name, [r for r in results if not isinstance(r, Failure) and r.n_cases], failed


def print_operation(name: str, found: list[Entry], failed: list[str], n_shown: int) -> None:
    categories = collections.Counter(category for e in found for category, _ in e.new)
    shown = " ".join(f"{c}:{n}" for c, n in categories.most_common())
    missing = table()[name].missing_forms(facula)
    gone = f" without {', '.join(missing)}" if missing else ""
    n_good = sum(not e.new for e in found)
    n_cases, seconds = sum(e.n_cases for e in found), sum(e.seconds for e in found)
    counts = f"{n_good:2}/{len(found) + len(failed)} {n_cases:5} cases {seconds:5.1f} s"
    print(f"{name:32} {counts} {shown}{gone}", flush=True)
    for why in failed:
        print(f"    CRASH OR HANG in {why}", flush=True)
    for text, dtypes in _distinct(found)[:n_shown]:
        print(f"    {text}\n        in {' '.join(dtypes)}", flush=True)


def _distinct(found: list[Entry]) -> list[tuple[str, list[str]]]:
    """Differences that are not the same but for their numbers, with the dtypes they occur in."""
    kinds: dict[str, tuple[str, list[str]]] = {}
    for entry in found:
        for category, text in entry.new:
            message = text.split(" | ")[0].replace(entry.dtype, "")
            key = category + re.sub(r"[\d.+e-]+", "#", message)
            first = kinds.setdefault(key, (f"{category}: {text}", []))
            if entry.dtype not in first[1]:
                first[1].append(entry.dtype)
    return list(kinds.values())


def summary(found: list[Entry], n_failed: int) -> str:
    """A line for each aspect: entries that agree, differ as known, differ otherwise; and cases."""
    lines = []
    for aspect in ASPECTS:
        mine = [e for e in found if e.aspect == aspect]
        alike = sum(not e.new and not e.n_excused for e in mine)
        excused = sum(not e.new and bool(e.n_excused) for e in mine)
        n_cases, n_excused = sum(e.n_cases for e in mine), sum(e.n_excused for e in mine)
        n_new = sum(len({text.partition(" | ")[2] for _, text in e.new}) for e in mine)
        lines.append(
            f"{aspect:14} {len(mine):6} entries: {alike} agree, {excused} differ as known, "
            f"{len(mine) - alike - excused} otherwise; {n_cases} cases: "
            f"{n_cases - n_excused - n_new} agree, {n_excused} as known, {n_new} otherwise"
        )
    return "\n".join([*lines, f"{n_failed} entries crash or hang"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--op", action="append", help="only this operation (may be repeated)")
    parser.add_argument("--dtype", action="append", choices=list(DTYPES))
    parser.add_argument("--aspect", action="append", choices=list(ASPECTS))
    parser.add_argument("--show", type=int, default=0, help="differences shown per operation")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", help="a file for all that was found, an entry to a line")
    args = parser.parse_args()
    names = args.op or list(table())
    dtypes, aspects = tuple(args.dtype or DTYPES), tuple(args.aspect or ASPECTS)
    everything: list[Entry] = []
    n_failed = 0
    with open(args.json or os.devnull, "w") as file:
        for name, found, failed in entries(names, dtypes, aspects, args.workers):
            print_operation(name, found, failed, args.show)
            everything += found
            n_failed += len(failed)
            file.writelines(json.dumps(e._asdict()) + "\n" for e in found)
            file.flush()
    print(summary(everything, n_failed))


if __name__ == "__main__":
    main()

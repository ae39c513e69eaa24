"""What crashes or hangs costs one step of its job."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

from .workers import Failure, run_in_workers


def _steps(job: list[str], first: int) -> Iterator[str]:
    for step in job[first:]:
        if step == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if step == "hang":
            time.sleep(60)
        if step == "raise":
            raise SystemExit(3)
        yield step


def test_the_steps_after_a_crash_or_a_hang_are_still_done() -> None:
    jobs = [["a", "crash", "b"], ["hang", "c"], ["d"], ["e", "raise"]]
    found: dict[int, list[object]] = {id(job): [] for job in jobs}
    for job, result in run_in_workers(jobs, _steps, n_workers=2, seconds=3):
        found[id(job)].append(result)
    assert [found[id(job)] for job in jobs] == [
        ["a", Failure("exit code -9"), "b"],
        [Failure("no answer after 3 s"), "c"],
        ["d"],
        ["e", Failure("exit code 3")],
    ]

"""Work in processes of its own: what crashes or hangs costs one step of it, never the run."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

SPARE_BYTES = 6 << 30  # what a worker may allocate beyond what it begins with


class Failure(NamedTuple):
    """What is told of a step that did not end."""

    why: str


class _Worker(NamedTuple):
    process: Any
    pipe: Any


def run_in_workers(
    jobs: list[Any],
    work: Callable[[Any, int], Iterator[Any]],
    n_workers: int = 2,
    seconds: float = 60.0,
) -> Iterator[tuple[Any, Any]]:
    """Pairs of a job and the result of one of its steps, as they come.

    Args:
        jobs: what there is to do. Workers are forked and find a job by its place in the list.
        work: a generator function; ``work(job, first)`` yields the results of the steps of the job
            from number ``first`` on. A step that ends its process or takes too long has a
            :class:`Failure` as its result, and the job goes on with the next step.
        n_workers: how many processes there are at a time.
        seconds: how long one step may take.
    """
    context = multiprocessing.get_context("fork")
    waiting = [(place, 0) for place in reversed(range(len(jobs)))]
    # Of each busy worker: which job it does, the step it is at, and when it began that.
    busy: dict[_Worker, tuple[int, int, float]] = {}
    idle: list[_Worker] = []

    def start() -> _Worker:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(jobs, work, theirs), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    while waiting or busy:
        while waiting and len(busy) < n_workers:
            worker = idle.pop() if idle else start()
            place, step = waiting.pop()
            worker.pipe.send((place, step))
            busy[worker] = (place, step, time.monotonic())
        ready = multiprocessing.connection.wait([w.pipe for w in busy], timeout=1.0)
        for worker, (place, step, began) in list(busy.items()):
            why = None
            if worker.pipe in ready:
                try:
                    is_end, result = worker.pipe.recv()
                except EOFError:
                    worker.process.join()
                    why = f"exit code {worker.process.exitcode}"
                else:
                    if is_end:
                        del busy[worker]
                        idle.append(worker)
                    else:
                        busy[worker] = (place, step + 1, time.monotonic())
                        yield jobs[place], result
            elif time.monotonic() - began > seconds:
                worker.process.kill()
                worker.process.join()
                why = f"no answer after {seconds:g} s"
            if why is not None:
                del busy[worker]
                worker.pipe.close()
                waiting.append((place, step + 1))
                yield jobs[place], Failure(why)
    for worker in idle:
        worker.pipe.send(None)  # not close(): workers that were forked later hold the pipe too
        worker.process.join()


def _serve(jobs: list[Any], work: Callable[[Any, int], Iterator[Any]], pipe: Any) -> None:
    with open("/proc/self/statm") as file:
        begun_with = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (begun_with + SPARE_BYTES, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for place, first in iter(pipe.recv, None):
        for result in work(jobs[place], first):
            pipe.send((False, result))
        pipe.send((True, None))

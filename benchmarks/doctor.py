"""What a watch of the doctor costs: training steps with and without it, in turns.

Short steps are measured once the watch has seen the first 200, long ones from the beginning.
"""

import time

import harness
import mlp
import networks
from harness import N_ROUNDS, Row, format_seconds, render

import facula
from facula import doctor

BUDGET = 1.2
ROUND_S = 0.1
STEPS = [
    ("MLP step, 64x1000-100-10", lambda: mlp.training_step([1000, 100, 10], facula)),
    (
        "MLP step, 64x1000-100-100-100-10",
        lambda: mlp.training_step([1000] + [100] * 3 + [10], facula),
    ),
    ("CNN step, 64x28x28", lambda: networks.cnn(facula)),
    ("LSTM language model step", lambda: networks.lstm(facula)),
]


def seconds(step, n_steps):
    """Time of the thread that trains: what else the machine does is no part of the ratio."""
    start = time.thread_time()
    for _ in range(n_steps):
        step()
    return (time.thread_time() - start) / n_steps


def best_times(step):
    """The best time of a step without and with a watch, in turns."""
    watch = doctor.Watch()
    first_s = seconds(step, 3)
    is_short = first_s < 0.01
    n_steps = max(20, int(ROUND_S / first_s) // 20 * 20)  # the watch looks at 2 steps of 20
    with watch:
        seconds(step, 220 if is_short else 20)
    best = [float("inf")] * 2
    for _ in range(N_ROUNDS if is_short else 3):
        best[0] = min(best[0], seconds(step, n_steps))
        with watch:
            best[1] = min(best[1], seconds(step, n_steps))
    assert not watch.findings
    return best


def rows(n_threads):
    facula.set_num_threads(n_threads)
    for name, setup in STEPS:
        plain_s, watched_s = best_times(setup()["step"])
        ratio = watched_s / plain_s
        yield Row(
            f"doctor, {name}",
            format_seconds(watched_s),
            "",
            f"{ratio:.2f}x",
            f"under {BUDGET:g}x the time without",
            "",
            ratio < BUDGET,
        )


if __name__ == "__main__":
    print(render(list(rows(harness.parser().parse_args().threads))))

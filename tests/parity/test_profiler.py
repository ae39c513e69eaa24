"""Schedules, counted operations and measured tables beside PyTorch's."""

from __future__ import annotations

import itertools
import re
import warnings
from importlib import import_module
from typing import Any

import pytest
import torch

from .frameworks import facula


def module(lib: Any, name: str) -> Any:
    return import_module(f"{lib.__name__}.{name}")


def test_schedules_choose_pytorchs_actions() -> None:
    grid = itertools.product((0, 2), (0, 1), (1, 3), (0, 2), (0, 3), (0, 1))
    names = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
    for values in grid:
        options = dict(zip(names, values, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = module(facula, "profiler").schedule(**options)
            theirs = module(torch, "profiler").schedule(**options)
        for step in range(25):
            assert ours(step).name == theirs(step).name, (options, step)


# PyTorch warns of what we do, and crashes where a warning is an error.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "n_steps, options",
    [
        (11, {"wait": 1, "warmup": 1, "active": 2}),
        (9, {"wait": 0, "warmup": 1, "active": 1, "repeat": 2}),
        (13, {"wait": 2, "warmup": 1, "active": 3, "skip_first": 1}),
    ],
)
def test_traces_are_ready_in_pytorchs_steps(n_steps: int, options: dict[str, int]) -> None:
    def run(lib: Any) -> list[tuple[int, int]]:
        ready: list[tuple[int, int]] = []

        def on_trace_ready(profiler: Any) -> None:
            n_ones = sum(event.name == "aten::ones" for event in profiler.events())
            ready.append((profiler.step_num, n_ones))

        tools = module(lib, "profiler")
        with tools.profile(
            activities=[tools.ProfilerActivity.CPU],
            schedule=tools.schedule(**options),
            on_trace_ready=on_trace_ready,
        ) as profiler:
            for _ in range(n_steps):
                lib.ones(2)
                profiler.step()
        return ready

    assert run(facula) == run(torch)


NETWORKS = {
    "linear": (lambda lib: lib.nn.Linear(3, 4), (2, 3)),
    "deep": (
        lambda lib: lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.ReLU(), lib.nn.Linear(4, 5)),
        (6, 3),
    ),
    "conv2d": (lambda lib: lib.nn.Conv2d(3, 4, 3, stride=2, padding=1), (2, 3, 7, 7)),
    "conv_transpose1d": (lambda lib: lib.nn.ConvTranspose1d(3, 4, 3, stride=2), (2, 3, 7)),
    "batched": (lambda lib: lib.nn.Linear(3, 4), (2, 5, 3)),
    "einsum": (
        lambda lib: lambda x: lib.einsum("bij,bkj->bik", x, x),
        (2, 5, 3),
    ),
    "baddbmm": (lambda lib: lambda x: lib.baddbmm(x, x, x), (2, 3, 3)),
    "matrix and vector": (lambda lib: lambda x: x[0] @ x, (3, 3)),
}


@pytest.mark.parametrize("wants_input", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_as_many_operations_are_counted(name: str, wants_input: bool) -> None:
    make, shape = NETWORKS[name]

    def run(lib: Any) -> int:
        network = make(lib)
        x = lib.ones(shape, requires_grad=wants_input)
        with module(lib, "utils.flop_counter").FlopCounterMode(display=False) as counter:
            y = network(x)
            if y.requires_grad:
                y.sum().backward()
        return int(counter.get_total_flops())

    assert run(facula) == run(torch)


def test_modules_are_counted_apart_as_pytorch_does() -> None:
    def run(lib: Any) -> dict[str, int]:
        network = NETWORKS["deep"][0](lib)
        with module(lib, "utils.flop_counter").FlopCounterMode(display=False) as counter:
            network(lib.ones(6, 3)).sum().backward()
        return {name: sum(c.values()) for name, c in counter.get_flop_counts().items()}

    assert run(facula) == run(torch)


def plain(text: str) -> str:
    """Without addresses and the places of classes."""
    return re.sub(r"<[a-z.]*\.\S*?(\w+) object at 0x\w+>", r"<\1>", text)


def test_measurements_and_tables_are_printed_as_by_pytorch() -> None:
    def run(lib: Any) -> list[str]:
        tools = module(lib, "utils.benchmark")

        def measured(
            times: list[float], description: str, sub_label: str = "small", n: int = 1
        ) -> Any:
            task = tools.TaskSpec(
                "x + y",
                "pass",
                label="add",
                sub_label=sub_label,
                description=description,
                num_threads=n,
            )
            return tools.Measurement(10, times, task)

        first = measured([0.001, 0.0011, 0.0012, 0.00105, 0.0013], "a")
        second = measured([0.1, 0.11], "b", "large", 2)
        third = measured([0.1, 0.2, 0.42, 0.33] * 3, "b")
        longer = tools.Measurement(10, [0.1], tools.TaskSpec("x + y\ny", "pass\nx"))
        texts = [plain(repr(m)) for m in (first, second, third, longer)]
        texts += [plain(repr(m)) for m in tools.Measurement.merge([first, third, first])]
        for change in (
            lambda c: None,
            lambda c: c.trim_significant_figures(),
            lambda c: c.colorize(),
            lambda c: c.colorize(rowwise=True),
        ):
            compared = tools.Compare([first, second, third])
            change(compared)
            texts.append(str(compared))
        compared = tools.Compare([first, third])
        compared.highlight_warnings()
        texts.append(str(compared))
        texts += [str(m.significant_figures) for m in (first, second, third)]
        return texts

    assert run(facula) == run(torch)

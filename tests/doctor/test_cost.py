"""A watch changes no results, keeps nothing alive, and rests in most steps of a long training."""

import gc
import random
import runpy
import subprocess
import sys
import tracemalloc
import weakref
from pathlib import Path

import pytest

import facula
from facula import doctor, nn, optim

PROGRAMS = sorted((Path(__file__).parent / "correct").glob("*.py"))
ERA = Path(__file__).parent.parent / "programs" / "era"


def silent(finding):
    pass


def bits(value):
    """Numbers of a program as bytes; None for what has none."""
    if isinstance(value, nn.Module):
        return {name: bits(x) for name, x in value.state_dict().items()}
    if isinstance(value, facula.Tensor):
        x = value.detach()
        if x.is_meta:
            return None
        x = x.to_dense() if x.is_sparse else x
        return bytes(x.contiguous().flatten().view(facula.uint8).tolist()) if x.numel() else b""
    return value if isinstance(value, float) else None


def results_of(program):
    """All tensors, models and numbers that a program leaves, and the states of the generators."""
    names = runpy.run_path(str(program), run_name="__main__")
    numbers = {name: bits(value) for name, value in names.items()}
    return numbers, bits(facula.get_rng_state()), random.getstate()


@pytest.mark.promise("U4")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_a_program_has_the_same_results_under_a_watch(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random.seed(0)
    without = results_of(program)
    random.seed(0)
    with doctor.watch(tell=silent):
        assert results_of(program) == without


def small_training():
    """A step that does what checks look at, and weak references to what it made."""
    facula.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = facula.randn(16, 4), facula.randint(0, 3, (16,))

    def step():
        optimizer.zero_grad()
        output = model(x)
        loss = nn.functional.cross_entropy(output, y) + (output.softmax(1) ** 2).mean().sqrt()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model[0].weight.data.clamp_(-1, 1)
        model.eval()
        with facula.no_grad():
            scores = model(x).softmax(1)
            right = (scores.argmax(1) == y).sum()
        model.train()
        return [weakref.ref(t) for t in (output, loss, scores, right)]

    return step


def test_two_thousand_steps_take_no_more_memory():
    step = small_training()
    with doctor.watch(tell=silent):
        for _ in range(500):
            step()
        gc.collect()
        n_objects = len(gc.get_objects())
        tracemalloc.start()
        try:
            for _ in range(20):  # what has its final size after a few steps of counting
                step()
            before = tracemalloc.get_traced_memory()[0]
            made = [step() for _ in range(2000)][-1000:]
            n_alive = sum(ref() is not None for refs in made for ref in refs)
            del made
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert n_alive == 0
        assert len(gc.get_objects()) - n_objects < 50
        assert grown < 20_000


def test_a_watch_rests_once_the_first_steps_are_over():
    facula.manual_seed(0)
    model = nn.Linear(2, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    x, y = facula.randn(8, 2), facula.randint(0, 2, (8,))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    with doctor.watch(tell=silent) as watch:
        facts = watch._program.model_facts(model)
        for _ in range(200):
            step()
        assert facts.n_calls == 200
        for _ in range(200):
            step()
        assert facts.n_calls == 200 + 20
        with facula.no_grad():
            model(x)
        assert facts.n_calls == 200 + 20 + 1  # for an evaluation it wakes


def test_the_operation_that_made_nan_is_found_while_the_watch_rests():
    weight = nn.Parameter(facula.ones(3))
    optimizer = optim.SGD([weight], lr=0.0)
    with doctor.watch(tell=silent) as watch:
        for i in range(290):
            optimizer.zero_grad()
            (weight - (i == 287) * 2).log().sum().backward()
            optimizer.step()
    [finding] = watch.findings
    assert finding.message == "the loss is NaN: log made the first such number."


def test_a_program_of_an_old_era_prints_the_same_under_a_watch(tmp_path):
    def printed(command):
        words = [sys.executable, "-m", "facula", command, ERA / "super_resolution.py"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    assert printed("doctor") == printed("run")

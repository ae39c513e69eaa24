"""Any bytes at all give an object or one clear error: no code runs, nothing grows without bound."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import hostile_files
import pytest
from hypothesis import given
from hypothesis import strategies as st

import facula
from facula.serialization import CheckpointError

pytestmark = pytest.mark.promise("P3")

# Loads the corpus with a hook on everything that a program can do, and reports on each file.
LOADER = """
import gc, io, json, sys, time
import numpy, hostile_files, facula, facula.nn, facula.sparse
from facula.serialization import CheckpointError

def memory(kind):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))

def reset_peak():
    gc.collect()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

corpus = hostile_files.corpus()
hostile_files.import_modules()
facula.load(io.BytesIO(hostile_files.archive(b"N.")))
events, watching = [], False
HARMLESS = ("builtins.id", "object.__getattr__", "object.__setattr__", "gc.", "sys._getframe")

def hook(event, args):
    if watching and not event.startswith(HARMLESS):
        events.append(f"{event} {str(args)[:100]}")

sys.addaudithook(hook)
report = {}
for name, data in corpus.items():
    reset_peak()
    before, start = memory("VmRSS"), time.perf_counter()
    file = io.BytesIO(data)
    watching = True
    try:
        facula.load(file)
        outcome = "loaded"
    except CheckpointError as error:
        outcome = "refused" if str(error).startswith("load: ") else f"badly told: {error}"
    except BaseException as error:
        outcome = repr(error)[:200]
    watching = False
    seconds, peak = time.perf_counter() - start, memory("VmHWM") - before
    report[name] = [outcome, seconds, peak, len(data), events[:]]
    events.clear()
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    canary = tmp_path_factory.mktemp("canary") / "made"
    tests = Path(hostile_files.__file__).parent
    path = os.pathsep.join([str(tests), str(tests.parent)])
    env = {**os.environ, "CANARY": str(canary), "PYTHONPATH": path}
    output = subprocess.check_output([sys.executable, "-c", LOADER], env=env, text=True)
    return json.loads(output), canary


def test_every_hostile_file_is_refused_by_the_one_exception(report):
    outcomes = {name: row[0] for name, row in report[0].items() if row[0] != "refused"}
    assert not outcomes


def test_no_code_of_a_file_runs(report):
    assert not report[1].exists()
    assert not {name: row[4] for name, row in report[0].items() if row[4]}


def test_memory_stays_under_twice_the_file_and_50_mb(report):
    over = {n: row[2] for n, row in report[0].items() if row[2] > 2 * row[3] + 50_000_000}
    assert not over


def test_time_stays_bounded(report):
    assert not {name: row[1] for name, row in report[0].items() if row[1] > 60}


def small_file():
    file = io.BytesIO()
    facula.save({"w": facula.arange(3.0), "e": facula.zeros(0), "k": [1, 2.5, "x"]}, file)
    return file.getvalue()


@pytest.mark.promise("P4")
def test_truncation_at_every_byte_is_found():
    data = small_file()
    for n in range(len(data)):
        with pytest.raises(CheckpointError):
            facula.load(io.BytesIO(data[:n]))


@pytest.mark.promise("P4")
def test_every_single_bit_flip_is_found():
    data = small_file()
    missed = []
    for i in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[i // 8] ^= 1 << (i % 8)
        try:
            facula.load(io.BytesIO(flipped))
            missed.append(i)
        except CheckpointError:
            pass
    assert not missed


def test_every_truncation_of_a_stacked_file_is_found():
    file = io.BytesIO()
    facula.save([facula.arange(3.0)], file, _use_new_zipfile_serialization=False)
    data = file.getvalue()
    for n in range(len(data)):
        with pytest.raises(CheckpointError):
            facula.load(io.BytesIO(data[:n]))


@given(st.binary(max_size=200))
def test_any_pickle_gives_an_object_or_the_one_exception(data):
    with contextlib.suppress(CheckpointError):
        facula.load(io.BytesIO(hostile_files.archive(data, hostile_files.FLOATS)))


@given(st.data())
def test_a_changed_pickle_gives_an_object_or_the_one_exception(data):
    good = hostile_files.tensor() + b"q\0}X\1\0\0\0ah\0s\x86."
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CheckpointError):
        facula.load(io.BytesIO(hostile_files.archive(bytes(changed), hostile_files.FLOATS)))


def test_a_refused_type_is_named_with_what_allows_it():
    file = io.BytesIO(hostile_files.archive(hostile_files.name("os", "system") + b"."))
    with pytest.raises(CheckpointError, match=r"byte 0 \(instruction GLOBAL\): the file names "):
        facula.load(file)
    file.seek(0)
    with pytest.raises(CheckpointError, match=r"add_safe_globals\(\[system\]\)"):
        facula.load(file)


def test_the_error_has_the_offset_and_what_was_found():
    file = io.BytesIO(hostile_files.archive(b"NNN\x82\1."))
    with pytest.raises(CheckpointError) as caught:
        facula.load(file)
    assert (caught.value.offset, caught.value.found) == (3, b"\x82")


def test_a_flipped_bit_in_a_tensor_names_its_record():
    data = small_file()
    at = data.index(facula.arange(3.0).numpy().tobytes())
    damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    with pytest.raises(CheckpointError, match="the record 'data/0' is damaged: its checksum is"):
        facula.load(io.BytesIO(damaged))


def test_more_objects_than_a_file_may_have_need_a_limit_of_their_own():
    data = hostile_files.archive(b"(" + b"\x8f" * 200_000 + b"t.")
    with pytest.raises(CheckpointError, match="Pass memory_limit=<bytes> to load"):
        facula.load(io.BytesIO(data))
    assert len(facula.load(io.BytesIO(data), memory_limit=1 << 30)) == 200_000


@pytest.mark.parametrize("start", [b"<html><body>404", b"hello", b"version https://git-lfs"])
def test_a_bad_download_is_shown(start):
    with pytest.raises(CheckpointError) as info:
        facula.load(io.BytesIO(start))
    assert f"no checkpoint: it begins with {start!r}" in str(info.value)
    assert (info.value.offset, info.value.found) == (0, start)

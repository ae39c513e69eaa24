"""GPUs as the emulator plays them: why there is none, memory that ends, and some of the tests."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import emulate

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def libraries():
    folder = ROOT / "build" / "emulator"
    emulate.build(folder)
    return folder


def run(libraries, *command, **variables):
    environment = emulate.environment(libraries) | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(
        [sys.executable, *command], text=True, capture_output=True, env=environment, check=False
    )


def output_of(libraries, script, **variables):
    ended = run(libraries, "-c", script, **variables)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


REASON = "import facula; print(facula.cuda.is_available(), facula.cuda.unavailable_reason())"


@pytest.mark.promise("G1")
@pytest.mark.parametrize(
    "fault, reason",
    [
        ("no device", "the NVIDIA driver sees no GPU"),
        ("hidden", "the NVIDIA driver sees no GPU"),
        (
            "does not start",
            "the NVIDIA driver did not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (system has "
            "unsupported display driver / cuda driver combination)",
        ),
    ],
)
def test_each_reason_has_its_words(libraries, fault, reason):
    assert output_of(libraries, REASON, FACULA_EMULATOR_FAULT=fault) == f"False {reason}"


def test_an_event_that_lives_to_the_end_of_a_program_goes_in_silence(libraries, tmp_path):
    # The traceback holds it until all else is gone.
    script = tmp_path / "script.py"
    script.write_text("import torch\nevent = torch.cuda.Event()\nevent.record()\n1 / 0\n")
    ended = run(libraries, "-m", "facula.cli", "run", str(script))
    assert ended.returncode == 1 and "ZeroDivisionError" in ended.stderr
    assert "ignored" not in ended.stderr


def test_hidden_gpus_are_told_from_none(libraries):
    variables = {"FACULA_EMULATOR_FAULT": "hidden", "CUDA_VISIBLE_DEVICES": "7"}
    assert "CUDA_VISIBLE_DEVICES=7 hides all GPUs" in output_of(libraries, REASON, **variables)


def test_a_driver_that_is_too_old_is_told_with_both_versions(libraries):
    variables = {"FACULA_EMULATOR_FAULT": "too old", "FACULA_EMULATOR_NVRTC": "13"}
    text = output_of(libraries, REASON, **variables)
    assert text.startswith("False the NVIDIA driver is too old: it runs programs of CUDA 11.8")
    assert "pip install 'nvidia-cuda-nvrtc<12'" in text


def test_a_driver_without_a_function_is_too_old(libraries, tmp_path):
    empty = tmp_path / "empty.c"
    empty.write_text("int cuInit(unsigned flags) { return 0; }")
    command = ["g++", "-shared", "-fPIC", "-o", str(tmp_path / "libcuda.so.1"), str(empty)]
    subprocess.run(command, check=True)
    text = output_of(libraries, REASON, FACULA_LIBRARY_PATH=str(tmp_path))
    assert "has no function" in text and "too old" in text


def test_a_missing_library_is_told_with_what_installs_it(libraries, tmp_path):
    for name in ("libcuda.so.1", "libnvrtc.so.13"):
        (tmp_path / name).symlink_to(libraries / name)
    script = (
        "import facula\n"
        "x = facula.ones(2, 2, device='cuda')\n"
        "for f in (lambda: x @ x, lambda: facula.fft.fft(x)):\n"
        "    try:\n"
        "        f()\n"
        "    except RuntimeError as error:\n"
        "        print(str(error).rpartition('with: ')[2])"
    )
    text = output_of(libraries, script, FACULA_LIBRARY_PATH=str(tmp_path))
    assert text.splitlines() == ["pip install nvidia-cublas", "pip install nvidia-cufft"]


OUT_OF_MEMORY = """
import facula
MB = 1 << 20
held = [facula.zeros(10 * MB, dtype=facula.uint8, device="cuda") for _ in range(3)]
cached = facula.zeros(20 * MB, dtype=facula.uint8, device="cuda")
del cached
x = facula.zeros(40 * MB, dtype=facula.uint8, device="cuda")  # needs what is kept for reuse
print(facula.cuda.memory_stats()["num_alloc_retries"], facula.cuda.memory_stats()["num_ooms"])
try:
    facula.empty(100 * MB, dtype=facula.uint8, device="cuda")
except facula.cuda.OutOfMemoryError as error:
    print(error)
print(int(x.sum()) + sum(int(h.sum()) for h in held), facula.OutOfMemoryError.__mro__[1])
"""


@pytest.mark.promise("G1")
def test_memory_that_ends_is_told_and_everything_stays_usable(libraries):
    lines = output_of(libraries, OUT_OF_MEMORY, FACULA_EMULATOR_MEMORY=str(85 << 20)).splitlines()
    assert lines[0] == "1 0"
    assert lines[1].startswith("cuda: out of memory: tried to allocate 100 MiB on cuda:0, of whose")
    assert "Tensors of this process hold 70 MiB (1 of 40 MiB, 3 of 10 MiB)" in lines[1]
    assert lines[2] == "0 <class 'RuntimeError'>"


@pytest.mark.parametrize(
    "file", ["test_memory.py", "test_pinned.py", "test_streams.py", "test_graphs.py"]
)
def test_tests_for_gpus_pass(libraries, file):
    path = str(ROOT / "tests" / "cuda" / file)
    options = ["-q", "-m", "cuda", "--tb=short", "-p", "no:cacheprovider"]
    ended = run(libraries, "-m", "pytest", *options, path)
    assert ended.returncode == 0, ended.stdout[-3000:]

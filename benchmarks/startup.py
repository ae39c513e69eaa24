"""Time of ``import`` and of ``facula run``, and size of the installed package."""

import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import N_ROUNDS, Row, format_seconds, render

IMPORT_BUDGET_S = 0.1
LAUNCH_BUDGET_S = 0.03
SIZE_BUDGET_MB = 60


# Installed packages have their bytecode; so that sources in development get it too, it is written.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def run_seconds(*words):
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, cwd="/", env=ENVIRONMENT)
    return time.perf_counter() - start


def import_seconds():
    """Best time of each import, in turns, less that of an interpreter that imports nothing."""
    codes = ["pass", "import facula", "import torch"]
    rounds = [[run_seconds("-c", code) for code in codes] for _ in range(N_ROUNDS)]
    bare, facula, torch = map(min, zip(*rounds, strict=True))
    return facula - bare, torch - bare


def launch_seconds():
    """What ``facula run`` adds to the start of a script that imports the package."""
    run = ["-m", "facula", "run"]
    with tempfile.TemporaryDirectory() as folder:
        plain, program = (Path(folder, name) for name in ("plain.py", "program.py"))
        plain.write_text("import facula")
        program.write_text("import torch")
        rounds = [
            [run_seconds(str(plain)), run_seconds(*run, str(program))] for _ in range(N_ROUNDS)
        ]
    plain_s, program_s = map(min, zip(*rounds, strict=True))
    return max(program_s - plain_s, 0.0)  # below what a shared machine lets one see


def installed_mb(name, compiled):
    """The package's files; in a development install the compiled module lies apart from them."""
    modules = [importlib.import_module(module) for module in (name, compiled)]
    folders = {Path(module.__file__).parent for module in modules}
    files = {f for folder in folders for f in folder.rglob("*") if f.is_file()}
    return sum(f.stat().st_size for f in files if f.suffix != ".pyc") / 1e6


def rows():
    facula_s, torch_s = import_seconds()
    launch_s = launch_seconds()
    facula_mb, torch_mb = installed_mb("facula", "facula._core"), installed_mb("torch", "torch._C")
    return [
        Row(
            "import",
            format_seconds(facula_s),
            format_seconds(torch_s),
            f"{torch_s / facula_s:.2f}x",
            "under 100 ms",
            "",
            facula_s < IMPORT_BUDGET_S,
        ),
        Row(
            "facula run, more than python",
            format_seconds(launch_s),
            "",
            "",
            "under 30 ms",
            "",
            launch_s < LAUNCH_BUDGET_S,
        ),
        Row(
            "installed size",
            f"{facula_mb:.1f} MB",
            f"{torch_mb:.1f} MB",
            f"{torch_mb / facula_mb:.2f}x",
            "under 60 MB",
            "",
            facula_mb < SIZE_BUDGET_MB,
        ),
    ]


if __name__ == "__main__":
    print(render(rows()))

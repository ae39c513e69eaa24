"""Runs Python with a GPU that is played by the CPU: ``python tools/emulate.py -m pytest -m cuda``.

The libraries of tests/cuda/emulator stand in for the driver, NVRTC and cuBLASLt, and kernels are
compiled by g++; they run slowly, but they run, and every test of tests/cuda can be tried without
a GPU. What takes cuDNN or cuSOLVER is skipped or refused as where these are not installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "cuda" / "emulator"
LIBRARIES = {
    "driver.cpp": "libcuda.so.1",
    "nvrtc.cpp": "libnvrtc.so.13",
    "cublaslt.cpp": "libcublasLt.so.13",
    "cufft.cpp": "libcufft.so.12",
}


def build(folder: Path) -> None:
    """Compiles the libraries whose sources are newer."""
    folder.mkdir(parents=True, exist_ok=True)
    for source, library in LIBRARIES.items():
        made, written = folder / library, SOURCES / source
        newest = max(path.stat().st_mtime for path in (written, SOURCES / "queue.h"))
        if made.exists() and made.stat().st_mtime > newest:
            continue
        unfinished = folder / f"{library}.{os.getpid()}"
        options = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-march=native"]
        command = ["g++", *options, str(written), "-o", str(unfinished), "-ldl"]
        subprocess.run(command, check=True)
        unfinished.rename(made)


def environment(folder: Path) -> dict[str, str]:
    """The variables with which a process finds the libraries."""
    return {
        **os.environ,
        "FACULA_LIBRARY_PATH": str(folder),
        "FACULA_EMULATOR": str(SOURCES),
        "FACULA_CACHE_DIR": str(folder / "programs"),
    }


def main() -> None:
    folder = ROOT / "build" / "emulator"
    build(folder)
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], environment(folder))


if __name__ == "__main__":
    main()

"""The command ``facula``: ``facula info`` says what the library found on this machine."""

import argparse
import platform
from collections.abc import Sequence
from pathlib import Path

import facula

__all__ = ["cpu_model", "info", "main"]


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(": ")[2]
    return platform.processor() or platform.machine()


def info() -> str:
    """What matters for results and speed, one fact per line."""
    facts = {
        "facula": facula.__version__,
        "python": platform.python_version(),
        "cpu": cpu_model(),
        "instruction set": facula.backends.cpu.get_cpu_capability(),
        "threads": facula.get_num_threads(),
        "blas": facula._core._blas_config(),
        "cuda": _cuda_state(),
    }
    return "\n".join(f"{name + ':':<17}{fact}" for name, fact in facts.items())


def _cuda_state() -> str:
    if not facula.cuda.is_available():
        return f"not available: {facula.cuda.unavailable_reason()}"
    version = facula.backends.cudnn.version()
    if version is None:
        return (
            "available, but convolutions, attention and recurrent layers are slow: "
            f"{facula._core._cudnn_problem()}"
        )
    return f"available, cuDNN {version // 10000}.{version // 100 % 100}.{version % 100}"


def main(argv: Sequence[str] | None = None) -> None:
    """The entry point; ``argv`` is the process's by default."""
    parser = argparse.ArgumentParser(prog="facula", description="PyTorch's API in a small package.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="version, processor, threads, BLAS and CUDA of this machine")
    parser.parse_args(argv)
    print(info())


if __name__ == "__main__":
    main()

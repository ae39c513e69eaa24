"""The command ``facula``: ``info``, ``run``, ``doctor`` and ``view``."""

import sys
from collections.abc import Sequence

import facula

__all__ = ["cpu_model", "info", "main"]


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    import platform  # here and below: facula run starts a program without them
    from pathlib import Path

    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(": ")[2]
    return platform.processor() or platform.machine()


def info() -> str:
    """What matters for results and speed, one fact per line."""
    import platform

    facts = {
        "facula": facula.__version__,
        "python": platform.python_version(),
        "cpu": cpu_model(),
        "instruction set": facula.backends.cpu.get_cpu_capability(),
        "threads": facula.get_num_threads(),
        "blas": facula._core._blas_config(),
        "cuda": _cuda_state(),
        "memory": _memory(),
        "extras": _extras(),
        "weights in": facula.hub.get_dir(),
    }
    return "\n".join(f"{name + ':':<17}{fact}" for name, fact in facts.items())


def _memory() -> str:
    import os

    total, free = (os.sysconf(name) for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
    gib = os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{total * gib:.1f} GiB, of which {free * gib:.1f} are free"


def _extras() -> str:
    """Which extras are installed, and how to get the others."""
    import re
    from importlib.metadata import PackageNotFoundError, distribution, requires

    needs: dict[str, list[str]] = {"vision": [], "tensorboard": [], "onnx": [], "cuda": []}
    try:
        lines = requires("facula") or []
    except PackageNotFoundError:
        return "not known: the package is used from its folder, without an installation"
    for line in lines:
        named = re.match(r"""([\w.-]+).*extra == ['"](\w+)['"]""", line)
        if named is not None and named[2] in needs:
            needs[named[2]].append(named[1])
    missing = []
    for extra, packages in needs.items():
        try:
            for package in packages:
                distribution(package)
        except PackageNotFoundError:
            missing.append(extra)
    here = ", ".join(extra for extra in needs if extra not in missing) or "none"
    return here + (f"; for the others: pip install facula[{','.join(missing)}]" if missing else "")


def _cuda_state() -> str:
    if not facula.cuda.is_available():
        return f"not available: {facula.cuda.unavailable_reason()}"
    version = facula.backends.cudnn.version()
    if version is None:
        return (
            "available, but convolutions, attention and recurrent layers are slow, by our own "
            f"kernels: {facula._core._cudnn_problem()}"
        )
    return f"available, cuDNN {version // 10000}.{version // 100 % 100}.{version % 100}"


def main(argv: Sequence[str] | None = None) -> None:
    """The entry point; ``argv`` is the process's by default."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["run"]:
        from facula.compat import _launch

        _launch.main(words[1:])
        return
    if words[:1] == ["doctor"]:
        from facula.doctor import _command as doctor

        doctor.main(words[1:])
        return
    if words[:1] == ["view"]:
        from facula.viz import _command as view

        view.main(words[1:])
        return
    import argparse

    parser = argparse.ArgumentParser(prog="facula", description="PyTorch's API in a small package.")
    commands = parser.add_subparsers(dest="command", required=True)
    about = commands.add_parser(
        "info", help="version, processor, threads, BLAS and CUDA of this machine"
    )
    about.add_argument(
        "--warm", action="store_true", help="compile ahead what most trainings run on a GPU"
    )
    commands.add_parser("run", help="run a PyTorch program, unchanged: facula run script.py ...")
    commands.add_parser("doctor", help="run a program and tell of its silent mistakes")
    commands.add_parser(
        "view", help="a page about a program's loss, a model, a checkpoint or a log"
    )
    arguments = parser.parse_args(words)
    print(info())
    if arguments.command == "info" and arguments.warm:
        _warm()


def _warm() -> None:
    if not facula.cuda.is_available():
        print("warm:            there is nothing to compile for without a GPU")
        return
    from facula.cuda._warm import warm

    for words in warm():
        print(words, end="", flush=True)


if __name__ == "__main__":
    main()

"""Where the time of the models of cuda.py goes, kernel by kernel, beside PyTorch.

PyTorch's profiler traces every kernel of the process, whoever launched it; so each framework's
step runs under it, in a process of its own. Prints, for each model, the largest shares of both.
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path

import cuda

N_STEPS = 3
N_SHOWN = 40
MODELS = {
    "ResNet-50": partial(cuda.resnet, cuda.R50, True, 128),
    "ResNet-18": partial(cuda.resnet, cuda.R18, False, 256),
    "GPT-2": cuda.gpt,
    "LSTM": cuda.lstm,
    "CNN": cuda.cnn,
}


def kernel_times(framework: str, model: str) -> dict[str, tuple[float, int]]:
    """Milliseconds of the GPU and launches in one step, by kernel."""
    import torch

    lib = importlib.import_module(framework)
    step = MODELS[model](lib)["step"]
    for _ in range(4):
        step()
    lib.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(N_STEPS):
            step()
        lib.cuda.synchronize()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(file))
        events = json.loads(file.read_text())["traceEvents"]
    times: dict[str, list[float]] = defaultdict(list)
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            times[event["name"]].append(event["dur"] / 1000)
    return {name: (sum(t) / N_STEPS, len(t) // N_STEPS) for name, t in times.items()}


def report(framework: str, model: str) -> str:
    times = kernel_times(framework, model)
    total, n = sum(t for t, _ in times.values()), sum(n for _, n in times.values())
    lines = [f"{model}, {framework}: {total:.2f} ms in {n} kernels a step"]
    largest = sorted(times.items(), key=lambda item: -item[1][0])[:N_SHOWN]
    lines += [f"  {t:7.3f} ms {n:5d}  {name:.90}" for name, (t, n) in largest]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--one", nargs=2, metavar=("FRAMEWORK", "MODEL"))
    args = parser.parse_args()
    if args.one:
        print(report(*args.one))
        return
    for model in args.models:
        for framework in ("facula", "torch"):
            command = [sys.executable, __file__, "--one", framework, model]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            print(
                ended.stdout or f"{model}, {framework}: failed: {ended.stderr[-600:]}", flush=True
            )


if __name__ == "__main__":
    main()

"""The first step of a training on a GPU: on a new machine, and once its kernels are cached.

Each step runs in a process of its own; the time is that of the step alone, after the import and
the making of the model, and the wait for the GPU is part of it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial

import cuda

MODELS = {
    "MLP": cuda.training_step,
    "CNN": cuda.cnn,
    "LSTM": cuda.lstm,
    "ResNet-18": partial(cuda.resnet, cuda.R18, False, 256),
    "GPT-2": cuda.gpt,
}


def first_step(model: str) -> float:
    import facula

    facula.zeros(1, device="cuda").item()  # the driver and the context, which any program needs
    step = MODELS[model](facula)["step"]
    facula.cuda.synchronize()
    start = time.perf_counter()
    step()
    facula.cuda.synchronize()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", choices=list(MODELS))
    args = parser.parse_args()
    if args.one:
        print(first_step(args.one))
        return
    for model in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            env = os.environ | {"FACULA_CACHE_DIR": folder}
            command = [sys.executable, __file__, "--one", model]
            times = [float(subprocess.check_output(command, env=env)) for _ in range(2)]
        print(f"{model}: {times[0]:.2f} s with nothing cached, {times[1]:.2f} s after", flush=True)


if __name__ == "__main__":
    main()

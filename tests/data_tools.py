"""What the tests of the loader share: datasets that draw, batches as lists, scripts with an end."""

import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

import facula
from facula.utils.data import Dataset, IterableDataset, get_worker_info

ROOT = Path(__file__).resolve().parents[1]


class Drawing(Dataset):
    """Samples with numbers from all three random streams."""

    def __init__(self, n, uses_global_streams=True):
        self.n = n
        self.uses_global_streams = uses_global_streams

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        sample = {"i": i, "x": facula.rand(2), "name": f"sample {i}"}
        if self.uses_global_streams:
            sample["python"] = random.random(), random.gauss(0, 1)
            sample["numpy"] = np.random.randn(3)
        return sample


class Shares(IterableDataset):
    """The numbers up to n, of which each worker has its share, each with a random one."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(first, self.n, step):
            yield i, facula.rand(1)


def plain(batch):
    """A batch, or a list of them, without tensors."""
    if isinstance(batch, facula.Tensor):
        return batch.tolist()
    if isinstance(batch, dict):
        return {key: plain(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [plain(part) for part in batch]
    return batch


def run_script(text, tmp_path, timeout_s=60, **kwargs):
    """Run a script in a process of its own, which is killed, with its workers, after the time."""
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(text))
    folders = [str(ROOT), str(Path(__file__).parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    process = subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        **kwargs,
    )
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        raise AssertionError(f"the script hangs:\n{out}\n{err}") from None
    return process.returncode, out, err

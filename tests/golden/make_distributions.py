"""Writes distributions.json, samples and log probabilities of PyTorch's; needs torch."""

import json
import sys
import warnings
from pathlib import Path

import torch
import torch.distributions

sys.path.insert(0, str(Path(__file__).parents[1]))
from distribution_cases import MATRIX_NAMES, NAMES, make

warnings.simplefilter("ignore")


def digits(tensor):
    """Seven digits of each number; more would only tell how its last one is rounded."""
    return [float(f"{x:.7g}") for x in tensor.double().flatten().tolist()]


golden = {}
for name, i in [*NAMES, *MATRIX_NAMES]:
    distribution, _ = make(torch, name, i)
    torch.manual_seed(5)
    sample = distribution.sample((3,))
    golden[f"{name} {i}"] = {
        "sample": digits(sample),
        "log_prob": digits(distribution.log_prob(sample).detach()),
    }
lines = (f' "{name}": {json.dumps(entry)}' for name, entry in golden.items())
text = "{\n" + ",\n".join(lines) + "\n}\n"
Path(__file__).with_name("distributions.json").write_text(text)

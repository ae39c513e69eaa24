"""Writes random.json, digests of the numbers that PyTorch draws; needs torch."""

import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from random_cases import CASES, fingerprint

digests = {
    name: {dtype: fingerprint(torch, name, dtype) for dtype in dtypes}
    for name, (dtypes, _) in CASES.items()
}
Path(__file__).with_name("random.json").write_text(json.dumps(digests, indent=1) + "\n")

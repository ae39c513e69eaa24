"""Writes checkpoints/*.pt, files by PyTorch; needs torch."""

import warnings
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from torch import nn

FOLDER = Path(__file__).with_name("checkpoints")
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def training() -> dict:
    """Two steps of a small model."""
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.125)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.arange(6.0).reshape(2, 3)).square().sum().backward()
        optimizer.step()
    return {"epoch": 2, "model": model.state_dict(), "optimizer": optimizer.state_dict()}


def main() -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    FOLDER.mkdir(exist_ok=True)
    base = torch.arange(6.0)
    objects = {
        "dtypes": {name: torch.tensor([0, 1, 2]).to(getattr(torch, name)) for name in DTYPES},
        "views": {
            "base": base,
            "t": base.reshape(2, 3).t(),
            "step": base[1::2],
            "expanded": base[2].expand(4),
            "empty": base[6:],
            "conj": torch.tensor([1 + 2j]).conj(),
            "neg": torch.tensor([1 + 2j]).conj().imag,
        },
        "objects": {
            "parameter": nn.Parameter(torch.ones(2)),
            "buffer": nn.Buffer(torch.ones(1)),
            "size": torch.Size([1, 2]),
            "device": torch.device("cuda", 1),
            "layout": torch.strided,
            "ordered": OrderedDict(b=1, a=2),
            "set": {1, 2},
            "complex": 1 + 2j,
            "bytes": b"\0\xff",
            "scalar": np.float64(1.5),
            "array": np.arange(6, dtype="i4").reshape(2, 3),
            "long": 1 << 70,
        },
        "sparse": {
            "coo": torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)),
            "coalesced": torch.eye(2, dtype=torch.float64).to_sparse(),
            "hybrid": torch.arange(4.0).reshape(2, 2).to_sparse(1),
            "empty": torch.sparse_coo_tensor(size=(2, 3)),
            "csr": torch.arange(4.0).reshape(2, 2).to_sparse_csr(),
            "csc": torch.arange(4.0).reshape(2, 2).to_sparse_csc(),
            "parameter": nn.Parameter(torch.eye(2).to_sparse()),
        },
        "training": training(),
        "module": nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2, 1)),
    }
    for name, obj in objects.items():
        torch.save(obj, FOLDER / f"{name}.pt")
    del objects["views"]["conj"], objects["views"]["neg"]
    for name in ("dtypes", "views", "training"):
        path = FOLDER / f"{name}_stacked.pt"
        torch.save(objects[name], path, _use_new_zipfile_serialization=False)
    state = {n: t.tolist() for n, t in objects["training"]["model"].items()}
    (FOLDER / "training.txt").write_text(repr(state) + "\n")


main()

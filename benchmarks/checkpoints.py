"""Saving and loading a state dict of 500 MB, as it is and mapped."""

import atexit
import os
import shutil
import tempfile
from importlib import import_module

from harness import Case, main


def state_dict(torch):
    """24 layers of 5 matrices and 8 vectors, in a folder of their own."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    state = {}
    for i in range(24):
        state |= {f"layers.{i}.matrix{j}": torch.ones(1024, 1024) for j in range(5)}
        state |= {f"layers.{i}.vector{j}": torch.ones(1024) for j in range(8)}
    path = os.path.join(folder, "state.pt")
    torch.save(state, path)
    return {"torch": torch, "state": state, "path": path}


def safetensors(torch):
    """The same with the functions of safetensors, which for PyTorch map files always."""
    is_ours = torch.__name__ == "facula"
    library = import_module("facula.serialization.safetensors" if is_ours else "safetensors.torch")
    names = state_dict(torch)
    library.save_file(names["state"], names["path"])
    options = {"mmap": True} if is_ours else {}
    return {**names, "safetensors": library, "options": options}


CASES = [
    Case("save 500 MB", "torch.save(state, path)", state_dict, 1),
    Case("load 500 MB", "torch.load(path)", state_dict, 1),
    Case("load 500 MB mapped", "torch.load(path, mmap=True)", state_dict, 1),
    Case("save 500 MB as safetensors", "safetensors.save_file(state, path)", safetensors, 1),
    Case(
        "load 500 MB of safetensors mapped",
        "safetensors.load_file(path, **options)",
        safetensors,
        1,
    ),
]

if __name__ == "__main__":
    main(__file__)

"""torchvision, with its compiled operations, on a machine that has no CUDA.

Its wheel links PyTorch's CUDA libraries. The operations of the CPU never call them, so two empty
libraries that carry the one variable which the loader asks for stand in their place.
"""

import ctypes
import os
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import torch

_ALLOCATOR = "void* _ZN3c104cuda20CUDACachingAllocator9allocatorE[64];"


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations, f"{package} is not installed"
    return Path(spec.submodule_search_locations[0])


def _load_operations() -> None:
    for runtime in _folder("nvidia").glob("*/lib/libcudart.so.*") if find_spec("nvidia") else ():
        ctypes.CDLL(str(runtime), mode=ctypes.RTLD_GLOBAL)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "allocator.c"
        source.write_text(_ALLOCATOR)
        for name in ("libc10_cuda.so", "libtorch_cuda.so"):
            library = Path(folder) / name
            command = ["gcc", "-shared", f"-Wl,-soname,{name}", "-o", library, source]
            subprocess.run(command, check=True)
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    for name in ("_C.so", "image.so"):
        ctypes.CDLL(str(_folder("torchvision") / name), mode=os.RTLD_LAZY)


_load_operations()

import torchvision  # noqa: E402

__all__ = ["torch", "torchvision"]

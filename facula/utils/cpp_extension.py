"""Extensions in C++ for PyTorch's own core, which cannot be built against this one.

The names are there for the scripts that import them; a call says what to do instead.
"""

from __future__ import annotations

import os
from typing import Any

from facula._refusing import refusing, refusing_class

__all__ = [
    "CUDA_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "verify_ninja_availability",
]

_SENTENCE = (
    "extensions are compiled against PyTorch's C++ headers, which are not here. Write the "
    "operation in Python (torch.library.custom_op, torch.autograd.Function), or bind C++ code to "
    "NumPy arrays or DLPack, which tensors share memory with."
)

CUDA_HOME: str | None = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
ROCM_HOME: str | None = None

BuildExtension: Any = refusing_class("torch.utils.cpp_extension.BuildExtension", _SENTENCE)
BuildExtension.with_options = classmethod(
    refusing("torch.utils.cpp_extension.BuildExtension.with_options", _SENTENCE)
)
CppExtension = refusing("torch.utils.cpp_extension.CppExtension", _SENTENCE)
CUDAExtension = refusing("torch.utils.cpp_extension.CUDAExtension", _SENTENCE)
SyclExtension = refusing("torch.utils.cpp_extension.SyclExtension", _SENTENCE)
include_paths = refusing("torch.utils.cpp_extension.include_paths", _SENTENCE)
library_paths = refusing("torch.utils.cpp_extension.library_paths", _SENTENCE)
load = refusing("torch.utils.cpp_extension.load", _SENTENCE)
load_inline = refusing("torch.utils.cpp_extension.load_inline", _SENTENCE)


def is_ninja_available() -> bool:
    """Whether the program ``ninja`` can be called.

    Example:
        >>> facula.utils.cpp_extension.is_ninja_available() in (True, False)
        True
    """
    import shutil

    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raise unless the program ``ninja`` can be called."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja).")

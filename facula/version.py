"""The version of the package."""

from __future__ import annotations

__all__ = ["__version__", "cuda", "debug", "hip"]

__version__ = "0.1.0"
debug = False
# The package is built without CUDA: it opens the libraries that it finds on the machine.
cuda: str | None = None
hip: str | None = None

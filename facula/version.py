"""The version of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["__version__", "cuda", "debug", "git_version", "hip"]

_FACULA = "0.1.0"  # which stays, where __version__ is that of the PyTorch we stand for
__version__ = _FACULA
debug = False
hip: str | None = None
# Where PyTorch has the commit that it was built from.
git_version = "Unknown"

if TYPE_CHECKING:
    cuda: str | None


def __getattr__(name: str) -> str | None:
    if name != "cuda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _cuda()


def _cuda() -> str | None:
    """The version of CUDA's compiler that is used, such as ``"13.0"``; None without a GPU."""
    # The package is built without CUDA: it opens the libraries that it finds on the machine.
    from facula.cuda import is_available

    if not is_available():
        return None
    from importlib.metadata import PackageNotFoundError, version

    for package in ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu13", "nvidia-cuda-nvrtc-cu12"):
        try:
            return ".".join(version(package).split(".")[:2])
        except PackageNotFoundError:
            continue
    return None

"""The version of the package, where torchvision has it."""

from facula.version import __version__, cuda, git_version

__all__ = ["__version__", "cuda", "git_version"]

"""Facula: PyTorch's programming model in a package small enough to read."""

from facula._core import *  # noqa: F403

"""Tools for modules and their parameters."""

from facula.nn.utils import rnn

__all__ = ["rnn"]

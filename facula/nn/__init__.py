"""Building blocks of networks."""

from facula.nn import functional

__all__ = ["functional"]

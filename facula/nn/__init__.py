"""Building blocks of networks."""

from facula.nn import functional, modules, utils

__all__ = ["functional", "modules", "utils"]

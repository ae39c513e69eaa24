"""Pipes of data: datasets that are made of others, step by step."""

from facula.utils.data.datapipes import iter, map

__all__ = ["iter", "map"]

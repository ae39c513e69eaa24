"""``vmap`` by rules: how an operation on one example is done for all of them at once."""

import functools
from importlib import import_module

_TABLES = (
    "_pointwise",
    "_reduce",
    "_shape",
    "_products",
    "_linalg",
    "_fft",
    "_index",
    "_nn",
    "_random",
    "_state",
)


@functools.cache
def load() -> None:
    """Import the tables of rules, which is done when the first operation is batched."""
    for name in _TABLES:
        import_module(f"facula.func._batching.{name}")

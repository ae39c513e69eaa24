"""A mode in which tensors may be indexed by what ``vmap`` maps over: here they always may."""

from __future__ import annotations

from facula.overrides import BaseTorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(BaseTorchFunctionMode):
    """A context that PyTorch needs around ``x[i]`` where ``i`` is an example of a ``vmap``.

    Indexing has a rule of its own here, so that the mode does what would be done without it.
    """

"""How a tensor lies on the devices of a grid."""

from __future__ import annotations

from typing import Any

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies along one dimension of a grid of devices."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each device has a piece.

        Args:
            dim: the dimension of the tensor that is cut, or None for any.
        """
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each device has the whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each device has one part of a sum.

        Args:
            reduce_op: how the parts are joined, or None for any way.
        """
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({inside})"


class Shard(Placement):
    """Each device has a piece of the tensor.

    Args:
        dim: the dimension that is cut.

    Example:
        >>> from facula.distributed.tensor import Shard
        >>> Shard(0) == Shard(0), Shard(1).is_shard(0)
        (True, False)
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim


class Replicate(Placement):
    """Each device has the whole tensor."""


class Partial(Placement):
    """Each device has one part of what has to be joined.

    Args:
        reduce_op: how the parts are joined.
    """

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op

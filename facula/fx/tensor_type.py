"""Types of tensors with known sizes, for annotations."""

from __future__ import annotations

from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class _DynType:
    """A size, or a type, of which nothing is known."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    def __hash__(self) -> int:
        return hash(_DynType)

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


class TensorType:
    """A tensor of given sizes.

    Args:
        dim: the sizes, of which some may be :data:`Dyn`.

    Example:
        >>> from facula.fx.tensor_type import Dyn, TensorType
        >>> TensorType((2, Dyn))
        TensorType[(2, Dyn)]
    """

    def __init__(self, dim: Any) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    def __hash__(self) -> int:
        return hash(tuple(self.__args__))

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    @staticmethod
    def __class_getitem__(*args: Any) -> TensorType:
        return TensorType(args[0] if isinstance(args[0], tuple) else args)


def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether two types may be those of the same tensor.

    Args:
        t1: a type.
        t2: a type.

    Example:
        >>> from facula.fx.tensor_type import Dyn, TensorType, is_consistent
        >>> is_consistent(TensorType((2, Dyn)), TensorType((2, 3)))
        True
    """
    if t1 in (t2, Dyn) or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(
            is_consistent(a, b) for a, b in zip(t1.__args__, t2.__args__, strict=True)
        )
    return False


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether a type says all that another says, or more.

    Args:
        t1: the type that says more.
        t2: the other.

    Example:
        >>> from facula.fx.tensor_type import Dyn, TensorType, is_more_precise
        >>> is_more_precise(TensorType((2, 3)), TensorType((2, Dyn)))
        True
    """
    if t1 == t2 or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(
            is_more_precise(a, b) for a, b in zip(t1.__args__, t2.__args__, strict=True)
        )
    return False

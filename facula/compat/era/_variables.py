"""Which tensors are Variables in a program of PyTorch before 0.4.

There, tensors were plain memory, and Variables, made of them, had gradients. Today both are one
type, and which of them a tensor would have been is seen by its gradient or its flag ``volatile``,
or noted in its attributes where it has neither. It decides what a single element is: of a tensor a
Python number, of a Variable a Variable of one element, which has a dimension.
"""

from __future__ import annotations

from typing import Any

from facula._core import Tensor
from facula.nn.parameter import Parameter

_MARK = "_is_variable"
_ELEMENT = "_is_element"  # one that has no dimension today


def is_variable(x: Tensor) -> bool:
    """Whether the tensor would have been a Variable."""
    return x.requires_grad or x.volatile or _MARK in x.__dict__ or isinstance(x, Parameter)


def mark_variable(x: Tensor) -> Tensor:
    """Note that the tensor is a Variable."""
    if not (x.requires_grad or x.volatile):
        x.__dict__[_MARK] = True
    return x


def with_dimension(x: Tensor) -> Tensor:
    """A tensor without dimensions as one of a single element, as such tensors were."""
    y = x.view(1)
    y.__dict__[_ELEMENT] = True
    return y


def is_element(x: Tensor) -> bool:
    """Whether today the tensor would have no dimension."""
    return x.dim() == 0 or _ELEMENT in x.__dict__


def mark_element(x: Tensor) -> None:
    """Note that today the tensor would have no dimension."""
    x.__dict__[_ELEMENT] = True


def unmarked(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a tensor without those of this file, for a file on disk."""
    return {key: value for key, value in attributes.items() if key not in (_MARK, _ELEMENT)}

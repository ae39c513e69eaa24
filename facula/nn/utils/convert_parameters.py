"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

import facula
from facula._core import Tensor
from facula._legacy import typename

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _on_one_device(name: str, parameters: Iterable[Tensor]) -> list[Tensor]:
    listed = list(parameters)
    if any(param.device != listed[0].device for param in listed):
        raise TypeError(
            f"{name}: expected all parameters on one device, got "
            f"{sorted({str(param.device) for param in listed})}. Move the module to one of them "
            "first."
        )
    return listed


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters, one parameter after the other.

    Args:
        parameters: the tensors to lay one after another.

    Shape:
        The result is ``(n,)``.

    Example:
        >>> m = facula.nn.Linear(2, 1)
        >>> facula.nn.utils.parameters_to_vector(m.parameters()).shape
        torch.Size([3])
    """
    return facula.cat(
        [param.reshape(-1) for param in _on_one_device("parameters_to_vector", parameters)]
    )


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make slices of ``vec`` the data of the parameters, in their order.

    Args:
        vec: a vector with as many elements as all parameters have.
        parameters: the tensors that get their data from it.

    Example:
        >>> m = facula.nn.Linear(2, 1)
        >>> facula.nn.utils.vector_to_parameters(facula.arange(3.0), m.parameters())
        >>> m.bias.data
        tensor([2.])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: expected a tensor as vec, got {typename(vec)}.")
    listed = _on_one_device("vector_to_parameters", parameters)
    needed = sum(param.numel() for param in listed)
    if vec.numel() < needed:
        raise RuntimeError(
            f"vector_to_parameters: expected a vector of {needed} elements, the number that the "
            f"parameters have, got {tuple(vec.shape)}."
        )
    begin = 0
    for param in listed:
        end = begin + param.numel()
        param.data = vec[begin:end].view_as(param).data
        begin = end

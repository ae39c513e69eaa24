"""What packages ask of the transforms of ``torch.func``: whether a tensor belongs to one.

Levels are not entered by hand here. ``vmap`` gives and takes tensors, see ``facula.func``.
"""

from __future__ import annotations

from typing import Any, NoReturn

from facula._core import Tensor
from facula.func._batching._batch import Batch, BatchedTensor


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for the examples of a ``vmap``.

    Args:
        tensor: any tensor.
    """
    return type(tensor) is BatchedTensor


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """False: gradients are followed by the graph, without a tensor around the tensor.

    Args:
        tensor: any tensor.
    """
    return False


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor of all examples, of one that stands for them in a ``vmap``.

    Args:
        tensor: a tensor inside of ``vmap``.
    """
    if not isinstance(tensor, BatchedTensor):
        raise RuntimeError("get_unwrapped: expected a tensor of a vmap, got an ordinary one.")
    return tensor.physical


def maybe_get_bdim(tensor: Tensor) -> int:
    """The dimension of the examples in :func:`get_unwrapped`; -1 for an ordinary tensor.

    Args:
        tensor: any tensor.
    """
    return 0 if is_batchedtensor(tensor) else -1


def _add_batch_dim(tensor: Tensor, in_dim: int, level: Any) -> Tensor:
    """One example of a tensor, in the ``vmap`` that hands out the level."""
    return _known(level).wrap(tensor.movedim(in_dim, 0))


def _remove_batch_dim(tensor: Tensor, level: Any, batch_size: int, out_dim: int) -> Tensor:
    """All examples of what is one in the ``vmap`` of the level."""
    physical: Tensor = _known(level).all_of(tensor).movedim(0, out_dim)
    return physical


def _known(level: Any) -> Batch:
    """The level of a ``vmap`` that runs; there are no others."""
    return level if isinstance(level, Batch) else _refuse()


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError(
        "torch._C._functorch: levels of vmap are not entered by hand in Facula. Use torch.vmap, "
        "with a function of the tensors."
    )


_vmap_increment_nesting = _vmap_decrement_nesting = _refuse

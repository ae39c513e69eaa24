"""Running results of a function of two elements, as ``cumsum`` has them of sums."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import facula
from facula._core import Tensor
from facula.utils import _pytree

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """Combine the elements along a dimension one after the other, and keep each result.

    Args:
        combine_fn: takes two elements, which have the structure of ``xs`` without the dimension,
            and returns one; it is associative.
        xs: a tensor, or nested containers of tensors of one shape.
        dim: the dimension along which the elements lie.
        reverse: whether to begin with the last element.
        combine_mode: ``"generic"``, or ``"pointwise"`` for tensors on a GPU.

    Shape:
        results have the shapes of ``xs``.

    Example:
        >>> from facula._higher_order_ops import associative_scan
        >>> x = facula.tensor([1.0, 2.0, 3.0])
        >>> associative_scan(lambda a, b: a * b, x, dim=0, combine_mode="generic")
        tensor([1., 2., 6.])
    """
    leaves, spec = _pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError("associative_scan: expected a tensor, or containers with tensors, as xs.")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"associative_scan: combine_mode is 'pointwise' or 'generic', got {combine_mode!r}."
        )
    if combine_mode == "pointwise" and not all(leaf.is_cuda for leaf in leaves):
        raise ValueError(
            "associative_scan: for combine_mode='pointwise' all tensors need to be on CUDA. Use "
            "combine_mode='generic'."
        )
    shapes = {tuple(leaf.shape) for leaf in leaves}
    if len(shapes) > 1:
        raise ValueError(f"associative_scan: expected xs of one shape, got {sorted(shapes)}.")
    if leaves[0].size(dim) == 0:
        raise ValueError(f"associative_scan: expected at least one element along dim {dim}.")

    def combine(left: Any, right: Any) -> list[Tensor]:
        result = combine_fn(spec.unflatten(left), spec.unflatten(right))
        return _pytree.tree_leaves(result)

    elements = list(zip(*(leaf.unbind(dim) for leaf in leaves), strict=True))
    results = list(accumulate(reversed(elements) if reverse else elements, combine))
    if reverse:
        results.reverse()
    return spec.unflatten([facula.stack(parts, dim) for parts in zip(*results, strict=True)])

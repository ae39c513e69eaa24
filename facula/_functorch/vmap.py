"""``vmap`` and what it is made with, by the names that packages import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._C._functorch import _add_batch_dim as _add_batch_dim
from facula._C._functorch import _remove_batch_dim as _remove_batch_dim
from facula._core import Tensor
from facula._refusing import refusing
from facula.func import vmap
from facula.utils._pytree import broadcast_prefix, tree_flatten, tree_map, tree_unflatten

__all__ = ["Tensor", "tree_flatten", "tree_map", "tree_unflatten", "vmap"]

_LEVELS = (
    "the levels of vmap are not entered and left one by one: examples are a dimension of ordinary "
    "tensors. Use torch.vmap."
)

_create_batched_inputs = refusing("torch._functorch.vmap._create_batched_inputs", _LEVELS)
_unwrap_batched = refusing("torch._functorch.vmap._unwrap_batched", _LEVELS)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: Any, batch_size: int, out_dim: int | None
) -> Any:
    """All examples of a result; the result itself where it is the same for all."""
    if out_dim is None:
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap: {name} must return tensors, got {type(batched_output).__name__}. Give results "
            "that are not batched out_dim None."
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _get_name(func: Callable[..., Any]) -> str:
    """The name of a function, or what it looks like where it has none."""
    return getattr(func, "__name__", None) or repr(func)


def _broadcast_to_and_flatten(tree: Any, treespec: Any) -> list[Any] | None:
    """The leaves of a tree that is a prefix of another, once for each leaf of that one."""
    return broadcast_prefix(tree, treespec)

"""``vmap``: a function of one example becomes a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.func._batching._batch import Batch, BatchedTensor
from facula.utils._pytree import TreeSpec, broadcast_prefix, tree_flatten, tree_unflatten

__all__ = ["debug_unwrap", "vmap"]


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Make a function that applies ``func`` to every example of a batch.

    ``func`` is called once. The examples are one more dimension of its tensors, of which it knows
    nothing: each operation has a rule that does it for all of them at once.

    Args:
        func: a function of single examples.
        in_dims: the batch dimension of the arguments: one int for all, or a container nested as
            the arguments (it may stop early), with None for what is not batched.
        out_dims: the batch dimension of the results, given in the same way as ``in_dims``.
        randomness: what random operations inside do: ``"error"`` refuses them, ``"different"``
            gives every example its own numbers, ``"same"`` gives all the same.
        chunk_size: how many examples are computed at a time; by default all.

    Example:
        >>> dot = facula.func.vmap(facula.dot)
        >>> dot(facula.ones(2, 3), facula.ones(2, 3))
        tensor([3., 3.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"vmap: expected randomness 'error', 'different' or 'same', got {randomness!r}."
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: expected a positive chunk_size, got {chunk_size}.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args, _batches_itself)
        dims = _checked_in_dims(leaves, spec, in_dims)
        n_examples = _batch_size(leaves, dims)
        physical = [
            leaf if not dim or _batches_itself(leaf) else leaf.movedim(dim, 0)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]

        def run(start: int, end: int) -> tuple[list[Any], TreeSpec, list[Any]]:
            batch = Batch(end - start, randomness)
            is_whole = end - start == n_examples
            part = None if is_whole else slice(start, end)
            examples = [
                leaf if dim is None else _example(batch, leaf, dim, part)
                for leaf, dim in zip(physical, dims, strict=True)
            ]
            given = tree_unflatten(examples, spec)
            del examples
            with batch:
                result = func(*given, **kwargs)
            outputs = _outputs(batch, result, out_dims)
            del given, result
            batch.close()
            return outputs

        if chunk_size is None or chunk_size >= n_examples:
            outputs, out_spec, _ = run(0, n_examples)
            return tree_unflatten(outputs, out_spec)
        state = _core.get_rng_state()
        chunks = []
        for i in range(0, n_examples, chunk_size):
            if randomness == "same":
                _core.set_rng_state(state)
            chunks.append(run(i, min(i + chunk_size, n_examples)))
        return _joined(chunks)

    return wrapper


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """All examples of what is one example inside of :func:`vmap`, to look at.

    Args:
        tensor: a tensor inside of a function that is transformed, or any other.
        recurse: whether all levels of ``vmap`` are undone, rather than the innermost.

    Example:
        >>> from facula.func import debug_unwrap, vmap
        >>> seen = []
        >>> x = vmap(lambda x: seen.append(debug_unwrap(x)) or x)(facula.ones(2, 3))
        >>> seen[0].shape
        torch.Size([2, 3])
    """
    while isinstance(tensor, BatchedTensor):
        tensor = tensor.physical
        if not recurse:
            break
    return tensor


def _batches_itself(x: Any) -> bool:
    """Whether an object knows how to become one example, and all again, as tensordict's do."""
    return hasattr(type(x), "_add_batch_dim")


def _example(batch: Batch, x: Any, dim: int, part: slice | None) -> Any:
    """What stands for one example of an argument, or of a part of the examples."""
    if not _batches_itself(x):
        return batch.wrap(x if part is None else x[part])
    x = x if part is None else x[(slice(None),) * dim + (part,)]
    return x._add_batch_dim(in_dim=dim, vmap_level=batch)


def _outputs(batch: Batch, result: Any, out_dims: Any) -> tuple[list[Any], TreeSpec, list[Any]]:
    outputs, spec, dims = _checked_outputs(result, out_dims)
    return [_output(batch, y, dim) for y, dim in zip(outputs, dims, strict=True)], spec, dims


def _output(batch: Batch, y: Any, dim: int | None) -> Any:
    if _batches_itself(y):
        return y._maybe_remove_batch_dim("vmap", batch, batch.size, dim)
    if dim is None:
        if batch.has(y):
            raise ValueError(
                "vmap: the function can not return a BatchedTensor when out_dim is None: its "
                "result differs between examples. Give it an out_dim."
            )
        return y
    physical = batch.all_of(y)
    return physical.movedim(0, dim) if dim else physical


def _joined(chunks: list[tuple[list[Any], TreeSpec, list[Any]]]) -> Any:
    first, spec, dims = chunks[0]
    joined = [
        first[i] if dim is None else _core.cat([outputs[i] for outputs, _, _ in chunks], dim)
        for i, dim in enumerate(dims)
    ]
    return tree_unflatten(joined, spec)


def _checked_in_dims(leaves: list[Any], spec: TreeSpec, in_dims: Any) -> list[int | None]:
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            "vmap: expected in_dims to be an int or a container nested as the arguments, got "
            f"{type(in_dims).__name__}."
        )
    if not leaves:
        raise ValueError("vmap: the function was called without arguments to batch over.")
    prefix = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims = broadcast_prefix(prefix, spec)
    if dims is None:
        raise ValueError(f"vmap: in_dims={in_dims} does not fit the structure of the arguments.")
    return [_checked_in_dim(leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]


def _checked_in_dim(leaf: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"vmap: expected in_dims of ints and None, got {type(dim).__name__}.")
    if not isinstance(leaf, Tensor) and not _batches_itself(leaf):
        raise ValueError(
            f"vmap: an argument with in_dim={dim} is no tensor but {type(leaf).__name__}. "
            "Give it in_dim None."
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"vmap: in_dim={dim} is out of range for an argument of shape {tuple(leaf.shape)}."
        )
    return dim % int(leaf.dim())


def _batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    sizes = [int(leaf.size(dim)) for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: in_dims is None for every argument; at least one must be batched.")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: the batched dimensions differ in size: {sizes}.")
    return sizes[0]


def _checked_outputs(result: Any, out_dims: Any) -> tuple[list[Tensor], TreeSpec, list[Any]]:
    outputs, spec = tree_flatten(result, _batches_itself)
    dims = broadcast_prefix(out_dims, spec)
    # As in PyTorch, out_dims may be a tuple of one for a function that returns a single tensor.
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.is_leaf():
        dims = [out_dims[0]]
    if dims is None:
        raise ValueError(f"vmap: out_dims={out_dims} does not fit the structure of the results.")
    for output, dim in zip(outputs, dims, strict=True):
        if dim is not None and not isinstance(dim, int):
            raise ValueError(f"vmap: expected out_dims of ints and None, got {type(dim).__name__}.")
        if not isinstance(output, Tensor) and not _batches_itself(output) and dim is not None:
            raise ValueError(
                f"vmap: the function must return tensors, got {type(output).__name__}. Give "
                "results that are not batched out_dim None."
            )
    return outputs, spec, dims

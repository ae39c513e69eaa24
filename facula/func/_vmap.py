"""``vmap``: a function of one example becomes a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.utils._pytree import TreeSpec, broadcast_prefix, tree_flatten, tree_unflatten

__all__ = ["vmap"]


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Make a function that applies ``func`` to every example of a batch.

    ``func`` runs once for each example, and the results are stacked: what it computes is right
    for any function, also with data-dependent control flow, but it is no faster than a loop.

    Args:
        func: a function of single examples.
        in_dims: the batch dimension of the arguments: one int for all, or a container nested as
            the arguments (it may stop early), with None for what is not batched.
        out_dims: the batch dimension of the results, given in the same way as ``in_dims``.
        randomness: what random operations inside do: ``"error"`` refuses them, ``"different"``
            gives every example its own numbers, ``"same"`` gives all the same.
        chunk_size: accepted for compatibility; one example is computed at a time.

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
        leaves, spec = tree_flatten(args)
        dims = _checked_in_dims(leaves, spec, in_dims)
        n_examples = _batch_size(leaves, dims)

        # Examples are views of the arguments: gradients flow back into the whole batch.
        def run(index: int) -> Any:
            example = [
                leaf if dim is None else leaf.select(dim, index)
                for leaf, dim in zip(leaves, dims, strict=True)
            ]
            return func(*tree_unflatten(example, spec), **kwargs)

        if n_examples == 0:
            return _empty_result(func, leaves, dims, spec, out_dims, kwargs)
        return _stack(_run_all(run, n_examples, randomness), out_dims)

    return wrapper


def _run_all(run: Callable[[int], Any], n_examples: int, randomness: str) -> list[Any]:
    if randomness == "different":
        return [run(i) for i in range(n_examples)]
    # Whether the function draws random numbers shows only afterwards, in the generator's state: for
    # "error" the examples have been computed by then.
    state = _core.get_rng_state()
    results = []
    for i in range(n_examples):
        if randomness == "same":
            _core.set_rng_state(state)
        results.append(run(i))
    if randomness == "error" and not _core.equal(state, _core.get_rng_state()):
        raise RuntimeError(
            "vmap: the function uses random numbers. Say with randomness='different' or "
            "randomness='same' whether the examples share them."
        )
    return results


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
    if not isinstance(leaf, Tensor):
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
    outputs, spec = tree_flatten(result)
    dims = broadcast_prefix(out_dims, spec)
    # As in PyTorch, out_dims may be a tuple of one for a function that returns a single tensor.
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.is_leaf:
        dims = [out_dims[0]]
    if dims is None:
        raise ValueError(f"vmap: out_dims={out_dims} does not fit the structure of the results.")
    for output, dim in zip(outputs, dims, strict=True):
        if not isinstance(output, Tensor) and dim is not None:
            raise ValueError(
                f"vmap: the function must return tensors, got {type(output).__name__}. Give "
                "results that are not batched out_dim None."
            )
    return outputs, spec, dims


def _stack(results: list[Any], out_dims: Any) -> Any:
    first, spec, dims = _checked_outputs(results[0], out_dims)
    columns = [first]
    for result in results[1:]:
        outputs, other, _ = _checked_outputs(result, out_dims)
        if other != spec:
            raise ValueError("vmap: the function returns different structures for two examples.")
        columns.append(outputs)
    stacked = [
        column[0] if dim is None else _core.stack(column, dim)
        for column, dim in zip(zip(*columns, strict=True), dims, strict=True)
    ]
    return tree_unflatten(stacked, spec)


def _empty_result(
    func: Callable[..., Any],
    leaves: list[Any],
    dims: list[int | None],
    spec: TreeSpec,
    out_dims: Any,
    kwargs: dict[str, Any],
) -> Any:
    """The result of no examples: its shape is learnt from an example of zeros."""
    example = []
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is not None:
            shape = [size for d, size in enumerate(leaf.shape) if d != dim]
            leaf = _core.zeros(shape, dtype=leaf.dtype, device=leaf.device)
        example.append(leaf)
    outputs, out_spec, places = _checked_outputs(
        func(*tree_unflatten(example, spec), **kwargs), out_dims
    )
    empty = [
        output if place is None else _core.stack([output.detach()], place).narrow(place, 0, 0)
        for output, place in zip(outputs, places, strict=True)
    ]
    return tree_unflatten(empty, out_spec)

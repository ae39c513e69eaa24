"""Numbers that stand for the elements of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence

from facula import _core
from facula._core import Tensor
from facula._ops._arguments import wrap_dim
from facula._ops._mark import operation
from facula._ops._out import into


@operation
def hash_tensor(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool = False,
    mode: int = 0,
    out: Tensor | None = None,
) -> Tensor:
    """A number that changes with any element: the exclusive or of all of them, as 64 bits each.

    Args:
        input: what is hashed; elements are converted to float64 or int64 first.
        dim: the dimensions that are hashed, by default all.
        keepdim: whether the result has these dimensions, of size 1.
        mode: must be 0.
        out: where to write the result, of dtype uint64.

    Example:
        >>> x = facula.tensor([1, 2, 4])
        >>> facula.hash_tensor(x)
        tensor(7, dtype=torch.uint64)
    """
    if out is not None and out.dtype != _core.uint64:
        raise RuntimeError(
            f"hash_tensor: Expected result to be of dtype uint64, but got {out.dtype}."
        )
    if mode != 0:
        raise RuntimeError(f"hash_tensor: expected mode 0, got {mode}.")
    given = [dim] if isinstance(dim, int) else list(dim or ())
    if not given and input.numel() == 0:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the dim argument."
        )
    dims = sorted(wrap_dim("hash_tensor", input, d) for d in given) or list(range(input.dim()))
    for i, d in enumerate(dims):
        if d in dims[:i]:
            raise RuntimeError(f"hash_tensor: dim {d} appears multiple times in the list of dims.")
        if input.dim() > 0 and input.size(d) == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    if input.is_complex():
        raise NotImplementedError(f"hash_tensor: not implemented for {input.dtype}.")
    is_float = input.is_floating_point()
    x = input.to(_core.float64 if is_float else _core.int64).reshape(input.shape or (1,))
    bits = x.view(_core.int64) if is_float else x
    dims = dims or [0]
    kept = [d for d in range(x.dim()) if d not in dims]
    # Not -1, which would be any number where the sizes that are kept have a zero.
    n_hashed = math.prod(x.size(d) for d in dims)
    lines = bits.permute((*dims, *kept)).reshape(n_hashed, *[x.size(d) for d in kept])
    while lines.size(0) > 1:
        half = lines.size(0) // 2
        joined = lines[:half] ^ lines[half : 2 * half]
        lines = _core.cat([joined, lines[2 * half :]])
    result = lines[0].view(_core.uint64).clone()  # of one element, it would share its memory
    if keepdim and input.dim() > 0:
        for d in dims:
            result = result.unsqueeze(d)
    return into("hash_tensor", out, result)

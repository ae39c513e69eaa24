"""Dropout of connected regions."""

from __future__ import annotations

import facula
from facula import nn
from facula._core import Tensor
from facula.nn import functional as F

__all__ = ["DropBlock2d", "DropBlock3d", "drop_block2d", "drop_block3d"]


def _drop_block(
    op: str,
    n_dims: int,
    input: Tensor,
    p: float,
    block_size: int,
    inplace: bool,
    eps: float,
    training: bool,
) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"{op}: expected a probability p from 0 to 1, got {p}.")
    if input.dim() != n_dims + 2:
        raise ValueError(
            f"{op}: expected an input of {n_dims + 2} dimensions, got {tuple(input.shape)}."
        )
    if not training or p == 0.0:
        return input
    sizes = input.shape[2:]
    block = min(block_size, *sizes)
    if block % 2 == 0:
        raise ValueError(
            f"{op}: expected an odd block size, got {block}, the smaller of "
            f"block_size={block_size} and the sizes {tuple(sizes)} of the input."
        )
    # Centers of blocks are where whole blocks fit; so many that p of all elements are dropped.
    centers = [size - block + 1 for size in sizes]
    gamma = p
    for size, n in zip(sizes, centers, strict=True):
        gamma *= size / (block * n)
    dtype = input.dtype if input.is_floating_point() else facula.get_default_dtype()
    noise = facula.empty((*input.shape[:2], *centers), dtype=dtype, device=input.device)
    noise = F.pad(noise.bernoulli_(gamma), [block // 2] * 2 * n_dims, value=0)
    pool = F.max_pool2d if n_dims == 2 else F.max_pool3d
    kept = 1 - pool(noise, block, stride=1, padding=block // 2)
    scale = kept.numel() / (eps + kept.sum())
    if inplace:
        return input.mul_(kept).mul_(scale)
    result: Tensor = input * kept * scale
    return result


def drop_block2d(
    input: Tensor,
    p: float,
    block_size: int,
    inplace: bool = False,
    eps: float = 1e-06,
    training: bool = True,
) -> Tensor:
    """Squares of feature maps set to 0, the rest scaled so that the mean stays (DropBlock).

    Args:
        input: feature maps.
        p: how much of the feature maps is dropped.
        block_size: side of the squares, odd.
        inplace: whether ``input`` is overwritten.
        eps: keeps the scale finite where nothing is left.
        training: whether anything is dropped.

    Shape:
        input and result ``(N, C, H, W)``.

    Example:
        >>> from facula.vision.ops import drop_block2d
        >>> y = drop_block2d(facula.ones(1, 1, 8, 8), p=0.3, block_size=3)
        >>> y.shape
        torch.Size([1, 1, 8, 8])
    """
    return _drop_block("drop_block2d", 2, input, p, block_size, inplace, eps, training)


def drop_block3d(
    input: Tensor,
    p: float,
    block_size: int,
    inplace: bool = False,
    eps: float = 1e-06,
    training: bool = True,
) -> Tensor:
    """Cubes of feature maps set to 0, see :func:`drop_block2d`.

    Shape:
        input and result ``(N, C, D, H, W)``.

    Example:
        >>> from facula.vision.ops import drop_block3d
        >>> y = drop_block3d(facula.ones(1, 1, 4, 4, 4), p=0.3, block_size=3)
        >>> y.shape
        torch.Size([1, 1, 4, 4, 4])
    """
    return _drop_block("drop_block3d", 3, input, p, block_size, inplace, eps, training)


class DropBlock2d(nn.Module):
    """The layer of :func:`drop_block2d`.

    Example:
        >>> from facula.vision.ops import DropBlock2d
        >>> DropBlock2d(0.1, 7)
        DropBlock2d(p=0.1, block_size=7, inplace=False)
    """

    def __init__(
        self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06
    ) -> None:
        super().__init__()
        self.p = p
        self.block_size = block_size
        self.inplace = inplace
        self.eps = eps

    def forward(self, input: Tensor) -> Tensor:
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, "
            f"inplace={self.inplace})"
        )


class DropBlock3d(DropBlock2d):
    """The layer of :func:`drop_block3d`.

    Example:
        >>> from facula.vision.ops import DropBlock3d
        >>> DropBlock3d(0.1, 7)
        DropBlock3d(p=0.1, block_size=7, inplace=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

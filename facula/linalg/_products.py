"""Products, powers and other arrangements of matrices and vectors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from facula import _core, _ops
from facula._core import Tensor
from facula._ops import blas
from facula._ops._mark import operation
from facula._ops._out import into

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "multi_dot",
    "vander",
    "vecdot",
]


@operation(module="facula.linalg")
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Cross product of vectors of three elements along ``dim``.

    Args:
        input: the left vectors.
        other: the right vectors, broadcast with ``input``.
        dim: the dimension along which the vectors lie.
        out: where to put the result.

    Example:
        >>> x, y = facula.tensor([1.0, 0.0, 0.0]), facula.tensor([0.0, 1.0, 0.0])
        >>> facula.linalg.cross(x, y)
        tensor([0., 0., 1.])
    """
    return _ops.cross(input, other, dim, out=out)


@operation(module="facula.linalg")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of matrices.

    Args:
        A: the matrices.
        offset: which diagonal: 0 is the main one, positive ones are above it.
        dim1: the dimension of the rows.
        dim2: the dimension of the columns.

    Example:
        >>> facula.linalg.diagonal(facula.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return A.diagonal(offset, dim1, dim2)


@operation(module="facula.linalg")
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of matrices, another name of ``facula.matmul``.

    Args:
        input: the left factor.
        other: the right factor.
        out: where to put the result.

    Example:
        >>> facula.linalg.matmul(facula.ones(2, 3), facula.ones(3))
        tensor([3., 3.])
    """
    return _core.matmul(input, other, out=out)


@operation(module="facula.linalg")
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices: ``I + A + A A / 2 + A A A / 6 + ...``.

    Args:
        input: the matrices.

    Shape:
        input and result ``(*, n, n)``.

    Example:
        >>> facula.linalg.matrix_exp(facula.tensor([[0.0, 1.0], [0.0, 0.0]]))
        tensor([[1., 1.],
                [0., 1.]])
    """
    return _core._linalg_matrix_exp(input)


@operation(module="facula.linalg")
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Square matrices multiplied ``n`` times by themselves, or by their inverse if ``n`` < 0.

    Args:
        input: the matrices.
        n: the exponent; 0 gives the identity.
        out: where to put the result.

    Shape:
        input and result ``(*, m, m)``.

    Example:
        >>> facula.linalg.matrix_power(facula.tensor([[2.0, 0.0], [0.0, 4.0]]), -1)
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return _ops.matrix_power(input, n, out=out)


@operation(module="facula.linalg")
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Product of matrices, multiplied in the cheapest order.

    Args:
        tensors: at least two factors; the first and the last may be vectors.
        out: where to put the result.

    Example:
        >>> facula.linalg.multi_dot([facula.ones(3), facula.ones(3, 4), facula.ones(4)])
        tensor(12.)
    """
    name = "linalg.multi_dot"
    if len(tensors) < 2:
        raise RuntimeError(f"{name}: expected at least 2 tensors, got {len(tensors)}.")
    matrices, dtype = list(tensors), tensors[0].dtype
    shapes = [tensor.shape for tensor in tensors]
    for i, (tensor, shape) in enumerate(zip(tensors, shapes, strict=True)):
        if len(shape) != 2 and not (len(shape) == 1 and i in (0, len(tensors) - 1)):
            raise RuntimeError(
                f"{name}: expected matrices, or a vector as the first and the last, got "
                f"{tuple(shape)} at {i}."
            )
        if tensor.dtype != dtype:
            raise RuntimeError(
                f"{name}: expected tensors of one dtype, got {dtype} and {tensor.dtype}."
            )
    starts_with_vector, ends_with_vector = len(shapes[0]) == 1, len(shapes[-1]) == 1
    if starts_with_vector:
        matrices[0] = tensors[0].unsqueeze(0)
    if ends_with_vector:
        matrices[-1] = tensors[-1].unsqueeze(-1)
    for i, (a, b) in enumerate(itertools.pairwise(shapes)):
        if a[-1] != b[0]:
            raise RuntimeError(
                f"{name}: tensors {i} and {i + 1} with shapes {tuple(a)} and {tuple(b)} cannot be "
                "multiplied."
            )
    product = blas.cheapest_product(matrices)
    if starts_with_vector:
        product = product.squeeze(0)
    if ends_with_vector:
        product = product.squeeze(-1)
    return into(name, out, product)


@operation(module="facula.linalg")
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Vandermonde's matrix: the powers 0, 1, ..., ``N - 1`` of each element.

    Args:
        x: vectors of the elements.
        N: the number of powers; by default as many as there are elements.

    Shape:
        x ``(*, n)``; result ``(*, n, N)``.

    Example:
        >>> facula.linalg.vander(facula.tensor([2, 3]), N=3)
        tensor([[1, 2, 4],
                [1, 3, 9]])
    """
    if x.dtype in (_core.bool, _core.float16, _core.bfloat16):
        raise RuntimeError(f"linalg.vander: not defined for {x.dtype}.")
    x = x if x.dim() else x.unsqueeze(0)
    n = x.size(-1) if N is None else N
    if n <= 1:
        raise RuntimeError(f"linalg.vander: expected N > 1, got {n}.")
    powers = x.unsqueeze(-1).expand(*x.shape, n - 1).cumprod(-1)
    return _core.cat([powers.new_ones(*x.shape, 1), powers], -1)


@operation(module="facula.linalg")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Dot product of vectors along a dimension, the first conjugated.

    Args:
        x: the vectors that are conjugated.
        y: the other vectors, broadcast with ``x``.
        dim: the dimension along which the vectors lie.
        out: where to put the result.

    Example:
        >>> facula.linalg.vecdot(facula.tensor([1.0, 2.0]), facula.tensor([3.0, 4.0]))
        tensor(11.)
    """
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: expected vectors of one dtype, got {x.dtype} and {y.dtype}."
        )
    if not x.is_floating_point() and not x.is_complex():
        raise RuntimeError(
            f"linalg.vecdot: expected floating-point or complex vectors, got {x.dtype}."
        )
    return into("linalg.vecdot", out, (_core.conj_physical(x) * y).sum(dim, dtype=x.dtype))

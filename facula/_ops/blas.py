"""BLAS: products of vectors and matrices, and norms of their slices."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._arguments import wrap_dim
from facula._ops._mark import operation
from facula._ops._out import into, named
from facula._warnings import warn_user_once


@operation
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Contract dimensions of two tensors.

    Args:
        a: the left factor.
        b: the right factor.
        dims: how many of the last dimensions of ``a`` and the first of ``b`` are summed over,
            or two lists of dimensions, paired in order.
        out: where to put the result.

    Shape:
        The result has the dimensions of ``a`` that remain, then those of ``b``.

    Example:
        >>> facula.tensordot(facula.ones(2, 3, 4), facula.ones(3, 4, 5), dims=2).shape
        torch.Size([2, 5])
    """
    a_dims, b_dims = _contracted_dims(a, b, dims)
    for i, j in zip(a_dims, b_dims, strict=True):
        if a.size(i) == b.size(j):
            continue
        if a.size(i) != 1 and b.size(j) != 1:
            raise RuntimeError(
                f"tensordot: dimension {i} of a {tuple(a.shape)} and dimension {j} of b "
                f"{tuple(b.shape)} are contracted, but differ in size."
            )
        a, b = a.sum(i, keepdim=True, dtype=a.dtype), b.sum(j, keepdim=True, dtype=b.dtype)
    a_rest = [d for d in range(a.dim()) if d not in a_dims]
    b_rest = [d for d in range(b.dim()) if d not in b_dims]
    n_inner = math.prod(a.size(d) for d in a_dims)
    rows, columns = [a.size(d) for d in a_rest], [b.size(d) for d in b_rest]
    left = a.permute(a_rest + a_dims).reshape(math.prod(rows), n_inner)
    right = b.permute(b_dims + b_rest).reshape(n_inner, math.prod(columns))
    if not rows and not columns:  # of vectors, which autocast leaves as they are
        return into("tensordot", out, _core.dot(left.reshape(-1), right.reshape(-1)))
    return into("tensordot", out, _core.mm(left, right).reshape(rows + columns))


def _contracted_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else dims.reshape(()).tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot: expected dims >= 0, got {dims}.")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot: expected dims of at most {min(a.dim(), b.dim())}, the dimensions "
                f"of a and b, got {dims}."
            )
        return list(range(a.dim() - dims, a.dim())), list(range(dims))
    if not isinstance(dims, (list, tuple)):
        raise RuntimeError(
            f"tensordot: expected an int or two lists of ints as dims, got {dims!r}."
        )
    a_dims, b_dims = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(a_dims) != len(b_dims):
        raise RuntimeError(
            f"tensordot: expected as many dims of a as of b, got {a_dims} and {b_dims}."
        )
    return _wrapped(a, a_dims), _wrapped(b, b_dims)


def _wrapped(x: Tensor, dims: Sequence[int]) -> list[int]:
    wrapped = [wrap_dim("tensordot", x, d) for d in dims]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"tensordot: a dimension appears twice in {list(dims)}.")
    return wrapped


@operation(method=True)
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Kronecker product: every element of one tensor, times the whole other tensor.

    Args:
        input: the tensor whose elements are taken one by one.
        other: the tensor that each of them is multiplied with.
        out: where to put the result.

    Shape:
        The sizes are multiplied dimension by dimension, the shorter shape padded by 1 in front.

    Example:
        >>> facula.kron(facula.eye(2), facula.tensor([[1.0, 2.0]]))
        tensor([[1., 2., 0., 0.],
                [0., 0., 1., 2.]])
    """
    n_dims = max(input.dim(), other.dim())
    a = (1,) * (n_dims - input.dim()) + tuple(input.shape)
    b = (1,) * (n_dims - other.dim()) + tuple(other.shape)
    # Copies have the order of the dimensions, but no gaps, which each row of other would step over.
    x = input if input.is_contiguous() else input.clone()
    y = other if other.is_contiguous() else other.clone()
    left: list[int] = []
    right: list[int] = []
    shape = []
    for m, n in zip(a, b, strict=True):
        left += (m, 1)
        right += (1, n)
        shape.append(m * n)
    return into("kron", out, (x.reshape(left) * y.reshape(right)).reshape(shape))


@operation(method=True)
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sum of products over the last dimensions.

    Args:
        input: the left factor.
        other: the right factor.
        out: where to put the result.

    Shape:
        input ``(*A, n)``, other ``(*B, n)``; result ``(*A, *B)``. If one is 0-d, ``input * other``.

    Example:
        >>> facula.inner(facula.tensor([1.0, 2.0]), facula.tensor([3.0, 4.0]))
        tensor(11.)
    """
    if input.dim() == 0 or other.dim() == 0:
        return _core.mul(input, other, out=out)
    if input.size(-1) != other.size(-1):
        raise RuntimeError(
            f"inner: expected last dimensions of equal size, got {tuple(input.shape)} and "
            f"{tuple(other.shape)}."
        )
    if input.dim() == other.dim() == 1:  # a matrix product also of vectors, as in PyTorch
        return into("inner", out, _core.mm(input.unsqueeze(0), other.unsqueeze(1)).reshape(()))
    rows, columns = input.shape[:-1], other.shape[:-1]
    left, right = (
        x if x.dim() == 2 else x.reshape(math.prod(x.shape[:-1]), x.size(-1))
        for x in (input, other)
    )
    return into("inner", out, _core.mm(left, right.t()).reshape(rows + columns))


@operation(method=True)
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Dot product of two vectors, the first conjugated.

    Args:
        input: the vector that is conjugated.
        other: the other vector.
        out: where to put the result.

    Example:
        >>> facula.vdot(facula.tensor([1 + 1j, 2]), facula.tensor([1 + 1j, 3]))
        tensor(8.+0.j)
    """
    result = _core.dot(_core.conj_physical(input), other)
    return into("vdot", out, named("VdotBackward0", result))


@operation(method=True)
def trace(input: Tensor) -> Tensor:
    """Sum of the main diagonal of a matrix.

    Args:
        input: the matrix.

    Example:
        >>> facula.trace(facula.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(5.)
    """
    if input.dtype == _core.bool:
        raise NotImplementedError("trace: expected numbers, got bool.")
    if input.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, got shape {tuple(input.shape)}.")
    return input.diagonal().sum()


@operation(method=True)
def cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Cross product of vectors of three elements.

    Args:
        input: the left vectors.
        other: the right vectors, broadcast with ``input``.
        dim: the dimension along which the vectors lie; by default the first of size 3.
        out: where to put the result.

    Example:
        >>> facula.cross(facula.tensor([1.0, 0.0, 0.0]), facula.tensor([0.0, 1.0, 0.0]), dim=0)
        tensor([0., 0., 1.])
    """
    if input.dim() != other.dim():
        raise RuntimeError(
            f"cross: expected inputs with as many dimensions, got {tuple(input.shape)} and "
            f"{tuple(other.shape)}."
        )
    if dim is None:
        candidates = [d for d, size in enumerate(input.shape) if size == 3]
        if not candidates:
            raise RuntimeError(f"cross: no dimension of {tuple(input.shape)} has size 3.")
        warn_user_once(
            "Using torch.cross without specifying the dim arg is deprecated: it takes the first "
            "dimension of size 3, which may be that of a batch. Pass dim, or use linalg.cross, "
            "which takes the last."
        )
        dim = candidates[0]
    if input.size(dim) != 3 or other.size(dim) != 3:
        raise RuntimeError(
            f"cross: expected size 3 in dimension {dim}, got {tuple(input.shape)} and "
            f"{tuple(other.shape)}."
        )
    if input.dtype == _core.bool and other.dtype == _core.bool:
        raise NotImplementedError("cross: not defined for bool.")
    return into("cross", out, _core._cross(input, other, dim if dim < 0 else dim - input.dim()))


@operation(method=True, in_place=True)
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: complex = 1,
    alpha: complex = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input`` plus ``alpha`` times the outer product of two vectors.

    Args:
        input: the matrix to add to.
        vec1: the vector whose elements belong to the rows.
        vec2: the vector whose elements belong to the columns.
        beta: the factor of ``input``; if it is 0, NaN in ``input`` is ignored.
        alpha: the factor of the outer product.
        out: where to put the result.

    Shape:
        vec1 ``(n,)``, vec2 ``(m,)``, input broadcast to ``(n, m)``; result ``(n, m)``.

    Example:
        >>> facula.addr(facula.zeros(2, 2), facula.tensor([1.0, 2.0]), facula.tensor([1.0, 3.0]))
        tensor([[1., 3.],
                [2., 6.]])
    """
    if vec1.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(
            f"addr: expected two vectors, got {tuple(vec1.shape)} and {tuple(vec2.shape)}."
        )
    _check_expands("addr", input, (vec1.size(0), vec2.size(0)))
    column = vec1.unsqueeze(1)
    dtype = _core.promote_types(_core.result_type(input, vec1), vec2.dtype)
    if not dtype.is_floating_point and not dtype.is_complex:
        beta, alpha = (_whole_factor(dtype, factor) for factor in (beta, alpha))
    if beta == 1 and dtype != _core.bool:  # at once, without the product in memory
        result = _core.addcmul(input, column, vec2, value=alpha)
    else:
        product = column * vec2
        scaled = product if alpha == 1 else product * alpha
        # Not input * 0 where beta is 0: what is ignored may be NaN.
        result = scaled if beta == 0 else (input if beta == 1 else input * beta) + scaled
    return into("addr", out, named("AddrBackward0", result))


def _whole_factor(dtype: Any, factor: complex) -> complex:
    """The factor, for integers; for bools as the bool to combine them with by "and"."""
    if isinstance(factor, (float, complex)):
        raise RuntimeError(f"addr: expected whole factors of {dtype}, got {factor}.")
    if dtype == _core.bool:
        return bool(factor)
    if isinstance(factor, bool):
        raise RuntimeError(f"addr: expected integer factors of {dtype}, got {factor}.")
    return factor


def _check_expands(name: str, input: Tensor, shape: tuple[int, ...]) -> None:
    sizes = zip(reversed(input.shape), reversed(shape), strict=False)
    if input.dim() > len(shape) or any(given not in (1, size) for given, size in sizes):
        raise RuntimeError(f"{name}: input {tuple(input.shape)} does not expand to {shape}.")


@operation(method=True)
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix, or a batch of them, multiplied ``n`` times by itself.

    Args:
        input: matrices, square in the last two dimensions.
        n: the exponent: 0 gives the identity, a negative one a power of the inverse.
        out: where to put the result.

    Example:
        >>> facula.matrix_power(facula.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        tensor([[1., 3.],
                [0., 1.]])
    """
    if input.dim() < 2 or input.size(-1) != input.size(-2):
        raise RuntimeError(
            f"matrix_power: expected square matrices, got shape {tuple(input.shape)}."
        )
    n = operator.index(n)
    base = input if n >= 0 else _core._linalg_inv_ex(input, True)[0]
    if n == 0:
        identity = _core.eye(input.size(-1), dtype=input.dtype, device=input.device)
        # Made from the input, though constant, so that differentiating it gives zeros.
        zeros = input.masked_fill(_core.ones_like(input, dtype=_core.bool), 0)
        return into("matrix_power", out, zeros + identity)
    result = _repeated_square(base, abs(n))
    # The first power too is a tensor of its own, never the input itself.
    return into("matrix_power", out, result.clone() if result is input else result)


def _repeated_square(x: Tensor, n: int) -> Tensor:
    if n == 1:
        return x
    half = _repeated_square(x, n // 2)
    return half @ half @ x if n % 2 else half @ half


@operation
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Product of matrices, multiplied in the cheapest order.

    Args:
        matrices: the factors, from left to right.
        out: where to put the result.

    Example:
        >>> facula.chain_matmul(facula.ones(2, 3), facula.ones(3, 4), facula.ones(4, 1))
        tensor([[12.],
                [12.]])
    """
    if not matrices:
        raise RuntimeError("chain_matmul: expected at least one matrix.")
    for index, matrix in enumerate(matrices):
        if matrix.dim() != 2:
            raise RuntimeError(
                f"chain_matmul: expected matrices, got shape {tuple(matrix.shape)} at {index}."
            )
    return into("chain_matmul", out, cheapest_product(matrices))


def cheapest_product(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices that fit, multiplied in the cheapest order."""
    if len(matrices) < 3:
        return matrices[0] if len(matrices) == 1 else _core.mm(*matrices)
    splits = _cheapest_splits((*[m.size(0) for m in matrices], matrices[-1].size(1)))

    def product(first: int, last: int) -> Tensor:
        if first == last:
            return matrices[first]
        split = splits[first, last]
        return _core.mm(product(first, split), product(split + 1, last))

    return product(0, len(matrices) - 1)


@functools.lru_cache  # a program multiplies matrices of the same sizes again and again
def _cheapest_splits(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to split each range of factors, by dynamic programming over their cost."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    splits = {}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            outer = sizes[i] * sizes[j + 1]
            options = [(cost[i, k] + cost[k + 1, j] + outer * sizes[k + 1], k) for k in range(i, j)]
            cost[i, j], splits[i, j] = min(options)
    return splits


@operation
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for every feature ``k`` of the result.

    Args:
        input1: the vectors on the left.
        input2: the vectors on the right.
        weight: one matrix for each feature of the result.
        bias: what is added to each feature of the result.

    Shape:
        input1 ``(*, in1_features)``, input2 ``(*, in2_features)``, weight
        ``(out_features, in1_features, in2_features)``, bias ``(out_features,)``; result
        ``(*, out_features)``.

    Example:
        >>> facula.bilinear(facula.ones(2, 3), facula.ones(2, 4), facula.ones(1, 3, 4))
        tensor([[12.],
                [12.]])
    """
    _check_bilinear(input1, input2, weight, bias)
    device = input1.device.type
    if device in ("cpu", "cuda") and _core.is_autocast_enabled(device):
        # One operation, whose products autocast leaves alone.
        from facula.amp import autocast  # which imports this module

        with autocast(device, enabled=False):
            return bilinear(input1, input2, weight, bias)
    n_out, n_in1, n_in2 = weight.shape
    # (N, in1) @ (in1, out * in2): all products with the first input in one.
    left = _core.matmul(input1, weight.transpose(0, 1).reshape(n_in1, n_out * n_in2))
    left = left.reshape(*input1.shape[:-1], n_out, n_in2)
    product = _core.matmul(left, input2.unsqueeze(-1)).view(*input1.shape[:-1], n_out)
    return product if bias is None else product + bias


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    def shape(t: Tensor) -> str:
        return str(tuple(t.shape))

    if weight.dim() != 3:
        kind = RuntimeError if weight.dim() else IndexError
        raise kind(f"bilinear: expected a weight of 3 dimensions, got {shape(weight)}.")
    if input1.dim() == 0 or input1.dim() != input2.dim() or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            "bilinear: expected inputs that agree in all dimensions but the last, got "
            f"input1 {shape(input1)} and input2 {shape(input2)}."
        )
    for name, tensor, dim in (("input1", input1, 1), ("input2", input2, 2)):
        if tensor.size(-1) != weight.size(dim):
            raise RuntimeError(
                f"bilinear: expected {name} to have {weight.size(dim)} features (its last "
                f"dimension) for a weight {shape(weight)}, got {shape(tensor)}."
            )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(
            f"bilinear: expected a bias of {weight.size(0)} elements, got {shape(bias)}."
        )


@operation
def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norms of the slices of ``v`` along ``dim``.

    Args:
        v: the tensor to slice.
        pow: the order of the norm.
        dim: the dimension that is sliced; -1 stands for none, which gives one norm of all elements.

    Shape:
        The result has size 1 in all dimensions but ``dim``; for -1 it is ``()``.

    Example:
        >>> facula.norm_except_dim(facula.tensor([[3.0, 4.0], [6.0, 8.0]]))
        tensor([[ 5.],
                [10.]])
    """
    if dim == -1:
        return _core._linalg_vector_norm(v, pow)
    if not -v.dim() <= dim < v.dim():
        raise IndexError(
            f"norm_except_dim: expected dim in [{-v.dim()}, {v.dim() - 1}], got {dim}."
        )
    dim = dim % v.dim()
    others = [d for d in range(v.dim()) if d != dim]
    return _core._linalg_vector_norm(v, pow, others, keepdim=True) if others else v.abs()

"""Other operations: distances, grids, bounded norms, and covariances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from facula import _core, _exporting
from facula._core import Tensor
from facula._ops._arguments import wrap_dim
from facula._ops._mark import looks_at_values, operation
from facula._ops._out import into, named
from facula._ops.creation import triu_indices
from facula._ops.shapes import broadcast_tensors
from facula._warnings import warn_user

# With more rows than this, Euclidean distances go through a matrix product, as in PyTorch.
_N_ROWS_FOR_MM = 25


@operation
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: Any = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """Distances between the rows of two matrices, or of two batches of them.

    Args:
        x1: the rows to measure from.
        x2: the rows to measure to.
        p: the order of the norm, from 0 to infinity.
        compute_mode: whether Euclidean distances go through a matrix product, which is faster
            and less exact: ``"use_mm_for_euclid_dist_if_necessary"`` (for more than 25 rows),
            ``"use_mm_for_euclid_dist"`` or ``"donot_use_mm_for_euclid_dist"``.

    Shape:
        x1 ``(*, p, m)``, x2 ``(*, r, m)``; result ``(*, p, r)``.

    Example:
        >>> facula.cdist(facula.tensor([[0.0, 0.0]]), facula.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[5., 1.]])
    """
    for name, x in (("x1", x1), ("x2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist: expected a floating-point {name}, got {x.dtype}.")
        if x.dim() < 2:
            raise RuntimeError(f"cdist: expected {name} as matrices, got {tuple(x.shape)}.")
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(
            f"cdist: expected rows of equal length, got {tuple(x1.shape)} and {tuple(x2.shape)}."
        )
    if p < 0:
        raise RuntimeError(f"cdist: expected p >= 0, got {p}.")
    modes = {
        "use_mm_for_euclid_dist_if_necessary": None,
        "use_mm_for_euclid_dist": True,
        "donot_use_mm_for_euclid_dist": False,
    }
    if compute_mode not in list(modes):  # a list compares, where a dict asks for a hash
        raise ValueError(f"cdist: {compute_mode!r} is not a valid compute_mode.")
    uses_mm = modes[compute_mode]
    if uses_mm is None:
        uses_mm = max(x1.size(-2), x2.size(-2)) > _N_ROWS_FOR_MM
    if p == 2 and uses_mm:
        return named("CdistBackward0", _euclidean_by_products(x1, x2))
    fits = x1.dtype == x2.dtype and x1.shape[:-2] == x2.shape[:-2]
    if fits and has_kernel(x1) and has_kernel(x2):
        return _core._row_distances(x1, x2, p)
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if p == math.inf:  # PyTorch's maximum passes NaN by
        difference = difference.masked_fill(difference.isnan(), 0)
    return named("CdistBackward0", _lengths(difference, p))


def _euclidean_by_products(x1: Tensor, x2: Tensor) -> Tensor:
    """The square root of ``|a|^2 + |b|^2 - 2 ab``, with a gradient of 0 where it is 0."""
    squares1 = x1.square().sum(-1, keepdim=True)
    squares2 = x2.square().sum(-1, keepdim=True).transpose(-2, -1)
    squares = squares1 + squares2 - 2 * (x1 @ x2.transpose(-2, -1))
    is_zero = squares <= 0
    return squares.masked_fill(is_zero, 1).sqrt().masked_fill(is_zero, 0)


@operation
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances between all pairs of rows, each pair once.

    Args:
        input: the rows, floating point.
        p: the order of the norm, from 0 to infinity.

    Shape:
        input ``(N, M)``; result ``(N * (N - 1) / 2,)``, the upper triangle of
        ``cdist(input, input)``, row after row.

    Example:
        >>> facula.pdist(facula.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist: expected a matrix of rows, got {tuple(input.shape)}.")
    if not input.is_floating_point():
        raise RuntimeError(f"pdist: expected a floating-point input, got {input.dtype}.")
    if p < 0:
        raise RuntimeError(f"pdist: expected p >= 0, got {p}.")
    if has_kernel(input):
        return _core._pair_distances(input, p)
    first, second = triu_indices(input.size(0), input.size(0), 1, device=input.device)
    return named("PdistBackward0", _lengths(input[first] - input[second], p))


@operation
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension.

    Args:
        x1: the vectors to measure from.
        x2: the vectors to measure to, broadcast with ``x1``.
        p: the order of the norm.
        eps: a small number, added to the differences so that no norm is 0.
        keepdim: whether the last dimension stays in the result, with size 1.

    Shape:
        x1 and x2 ``(N, D)`` or ``(D,)``; result ``(N,)`` or ``()``.

    Example:
        >>> facula.pairwise_distance(facula.tensor([[3.0, 4.0]]), facula.zeros(1, 2))
        tensor([5.0000])
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


def has_kernel(x: Tensor) -> bool:
    """Whether kernels without derivatives serve: on the CPU, where none is wanted in either mode.

    Otherwise distances and losses are composed, whose parts take memory of their own. Exported
    programs are, too: formats of files know the parts.
    """
    return x.is_cpu and not x.requires_grad and x._tangents is None and not _exporting.is_active


def _lengths(difference: Tensor, p: float) -> Tensor:
    """The ``p``-norms of rows, composed of differentiable operations; for ``p=0`` NaN stays NaN."""
    if difference.numel() == 0:
        return difference.sum(-1)
    if p == 0:
        # A count, and yet differentiable: zeros made from the difference give it a gradient of 0.
        zeros = difference.masked_fill(_core.ones_like(difference, dtype=_core.bool), 0)
        return zeros.sum(-1) + difference.detach().abs().ceil().clamp_max(1).sum(-1)
    return difference.norm(p, -1)


@operation
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors.

    Args:
        x1: the vectors on one side.
        x2: the vectors on the other side, broadcast with ``x1``.
        dim: the dimension along which the vectors lie.
        eps: the smallest length to divide by.

    Shape:
        x1 and x2 ``(*, D, *)``; result ``(*, *)``.

    Example:
        >>> facula.cosine_similarity(facula.tensor([[3.0, 4.0]]), facula.tensor([[4.0, 3.0]]))
        tensor([0.9600])
    """
    dtype = _core.result_type(x1, x2)
    if not dtype.is_floating_point:
        raise RuntimeError(f"cosine_similarity: expected floating-point vectors, got {dtype}.")
    x1, x2 = broadcast_tensors(x1.to(dtype), x2.to(dtype))
    length1 = x1.norm(2, dim, keepdim=True).clamp_min(eps)
    length2 = x2.norm(2, dim, keepdim=True).clamp_min(eps)
    return ((x1 / length1) * (x2 / length2)).sum(dim)


@operation
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The places that a linear map gives, see :func:`facula.nn.functional.affine_grid`.

    Args:
        theta: the maps, ``(N, 2, 3)`` or ``(N, 3, 4)``.
        size: the shape of the images that are sampled at the places.
        align_corners: whether -1 and 1 are the centers of the corner elements or their outer edges.

    Example:
        >>> theta = facula.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> facula.affine_grid_generator(theta, (1, 1, 1, 2), True)
        tensor([[[[-1.,  0.],
                  [ 1.,  0.]]]])
    """
    n = len(size) - 2
    if n not in (2, 3):
        raise RuntimeError(
            f"affine_grid_generator: expected a size of 4 or 5 numbers, got {tuple(size)}."
        )
    if tuple(theta.shape) != (size[0], n, n + 1):
        raise RuntimeError(
            f"affine_grid_generator: expected theta {(size[0], n, n + 1)} for the size "
            f"{tuple(size)}, got {tuple(theta.shape)}."
        )
    spatial = tuple(size[2:])
    columns = [theta.new_ones(()).expand(spatial)]
    for dim, length in enumerate(spatial):
        line = theta.new_zeros(length)
        if length > 1:
            line = _core.linspace(-1, 1, length, dtype=theta.dtype, device=theta.device)
        if not align_corners:
            # Two roundings, as in PyTorch: the last bit decides which pixel is the nearest.
            line = line * (length - 1) / length
        shape = [length if d == dim else 1 for d in range(n)]
        columns.insert(0, line.reshape(shape).expand(spatial))
    # Products of long rows, which take less time than long columns of products of three.
    grids = theta.matmul(_core.stack(columns).reshape(n + 1, -1))
    return grids.transpose(1, 2).contiguous().view(size[0], *spatial, n)


@operation(method=True, in_place=True)
def renorm(
    input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None
) -> Tensor:
    """Scale down the slices along a dimension whose norm is too large.

    Args:
        input: a tensor of two dimensions or more.
        p: the order of the norm.
        dim: the dimension that is sliced: each of its indices is one slice.
        maxnorm: the largest norm allowed.
        out: where to put the result.

    Example:
        >>> facula.renorm(facula.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    if not p > 0:  # a NaN is refused too
        raise RuntimeError(f"renorm: expected p > 0, got {p}.")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm >= 0, got {maxnorm}.")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: expected two or more dimensions, got {tuple(input.shape)}.")
    dim = wrap_dim("renorm", input, dim)
    others = [d for d in range(input.dim()) if d != dim]
    # The norms of halves are float: they may be more than a half can hold.
    wide = _core.float32 if input.dtype in (_core.float16, _core.bfloat16) else None
    norms = _core._linalg_vector_norm(input, p, others, keepdim=True, dtype=wide)
    # A little more than the norm, so that rounding does not leave the result above maxnorm.
    factor = _core.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    result = input.contiguous() * (factor if wide is None else factor.to(input.dtype))
    return into("renorm", out, named("RenormBackward0", result))


@operation
def embedding_renorm_(
    input: Tensor, indices: Tensor, max_norm: float, norm_type: float = 2.0
) -> Tensor:
    """Scale down, in place, the rows with these indices whose norm is too large.

    Args:
        input: the table of rows.
        indices: which rows to look at.
        max_norm: the largest norm allowed.
        norm_type: the order of the norm.

    Example:
        >>> table = facula.tensor([[3.0, 4.0], [6.0, 8.0]])
        >>> facula.embedding_renorm_(table, facula.tensor([1]), 1.0)
        tensor([[3.0000, 4.0000],
                [0.6000, 0.8000]])
    """
    rows = _core.unique(indices)
    return input.index_copy_(0, rows, renorm(input.index_select(0, rows), norm_type, 0, max_norm))


@operation(method=True)
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariances of variables, one variable to a row.

    Args:
        input: the observations of each variable in a row; a vector is one variable.
        correction: what is subtracted from the number of observations in the divisor.
        fweights: how often each observation occurred, integers.
        aweights: how much each observation counts, floating point.

    Shape:
        input ``(n, k)``; result ``(n, n)``, or ``()`` for one variable.

    Example:
        >>> facula.cov(facula.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov: expected at most two dimensions, got {tuple(input.shape)}.")
    if input.dtype == _core.bool:
        raise RuntimeError("cov: expected numbers, got bool.")
    is_inexact = input.is_floating_point() or input.is_complex()
    x = input if is_inexact else input.to(_core.get_default_dtype())
    x = x.reshape(1, -1) if x.dim() < 2 else x
    weights = _observation_weights(x, fweights, aweights)
    if weights is None:
        n: Any = x.size(1)
        mean = x.mean(1, keepdim=True)
        divisor: Any = max(n - correction, 0)
    else:
        n = weights.sum()
        if n == 0:
            raise RuntimeError("cov: the weights add up to zero.")
        mean = (x * weights).sum(1, keepdim=True) / n
        loss = correction if aweights is None else correction * (weights * aweights).sum() / n
        divisor = (n - loss).clamp_min(0)
    if x.size(1) == 0 or (weights is None and divisor == 0) or n == correction:
        _warn_degrees("cov")
    centred = x - mean
    weighted = centred if weights is None else centred * weights
    result: Tensor = weighted @ centred.conj().t() / divisor
    return result.squeeze()


def _warn_degrees(name: str) -> None:
    warn_user(f"{name}: the degrees of freedom are not positive.")


def _observation_weights(
    x: Tensor, fweights: Tensor | None, aweights: Tensor | None
) -> Tensor | None:
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        is_integral = not (weights.is_floating_point() or weights.is_complex())
        if is_integral != (name == "fweights"):
            kind = "integers" if name == "fweights" else "floating-point numbers"
            raise RuntimeError(f"cov: expected {name} to be {kind}, got {weights.dtype}.")
        if weights.dim() > 1 or weights.numel() != x.size(1):
            raise RuntimeError(
                f"cov: expected {name} with one weight for each of {x.size(1)} observations, got "
                f"shape {tuple(weights.shape)}."
            )
        if weights.numel() > 0 and not weights.is_meta and bool((weights < 0).any()):
            raise RuntimeError(f"cov: {name} must not be negative.")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return fweights * aweights


@operation(method=True)
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlation coefficients of variables, one variable to a row.

    Args:
        input: the observations of each variable in a row; a vector is one variable.

    Shape:
        input ``(n, k)``; result ``(n, n)``, or ``()`` for one variable.

    Example:
        >>> facula.corrcoef(facula.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"corrcoef: expected at most two dimensions, got {tuple(input.shape)}.")
    covariance = cov(input)
    if covariance.dim() == 0:
        return covariance / covariance
    deviation = covariance.diagonal().real.sqrt()
    result = covariance / deviation.unsqueeze(1) / deviation
    if result.is_complex():
        return _core.complex(result.real.clamp(-1, 1), result.imag.clamp(-1, 1))
    return result.clamp(-1, 1)


@operation
def get_device(input: Tensor) -> int:
    """The number of the GPU that a tensor is on; -1 on the CPU.

    Args:
        input: any tensor.

    Example:
        >>> facula.get_device(facula.ones(2))
        -1
    """
    return input.get_device()


@operation
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode, and can take no part in a graph.

    Args:
        input: any tensor.

    Example:
        >>> with facula.inference_mode():
        ...     facula.is_inference(facula.ones(2))
        True
    """
    return input.is_inference()


@operation(method=True)
@looks_at_values
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the elements that are not zero, in a result of a fixed number of rows.

    Args:
        input: any tensor.
        size: the number of rows; indices that find no place are left out.
        fill_value: what stands in the rows that no index needs.

    Shape:
        input of n dimensions; result ``(size, n)``.

    Example:
        >>> facula.nonzero_static(facula.tensor([0, 3, 4]), size=3).tolist()
        [[1], [2], [-1]]
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: expected a size of at least 0, got {size}.")
    result = _core.full((size, input.dim()), fill_value, dtype=_core.int64, device=input.device)
    if not input.is_meta:  # which has no elements to look for, but the form is known
        found = input.nonzero()[:size]
        result[: len(found)] = found
    return result


def _function_in_place(name: str, arguments: str, result: str) -> Any:
    """The function that is the method ``name`` of its first argument."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, name)(*args, **kwargs)

    function.__doc__ = f"""The method ``{name}`` as a function; the tensor itself gets the result.

    Args:
        input: the tensor that is changed.
        args: the other arguments of the method.
        kwargs: the other arguments of the method, by name.

    Example:
        >>> facula.{name}({arguments})
        {result}
    """
    return operation(name=name)(function)


addmv_ = _function_in_place(
    "addmv_", "facula.ones(1), facula.ones(1, 2), facula.ones(2)", "tensor([3.])"
)
as_strided_ = _function_in_place("as_strided_", "facula.arange(4), (2,), (2,)", "tensor([0, 2])")
detach_ = _function_in_place("detach_", "facula.ones(2)", "tensor([1., 1.])")
gcd_ = _function_in_place("gcd_", "facula.tensor([6]), facula.tensor([4])", "tensor([2])")
lcm_ = _function_in_place("lcm_", "facula.tensor([6]), facula.tensor([4])", "tensor([12])")
ldexp_ = _function_in_place("ldexp_", "facula.ones(1), facula.tensor([3])", "tensor([8.])")
xlogy_ = _function_in_place("xlogy_", "facula.zeros(1), facula.zeros(1)", "tensor([0.])")


@operation(method=True)
def is_distributed(input: Tensor) -> bool:
    """Whether a tensor lies on several machines: no.

    Args:
        input: the tensor.

    Example:
        >>> facula.is_distributed(facula.ones(1))
        False
    """
    return False

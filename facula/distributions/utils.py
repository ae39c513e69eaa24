"""What distributions share: broadcasting, probabilities and logits, triangles as vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any, Generic, TypeVar, overload

import facula
from facula._core import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060  # Euler and Mascheroni's

_Owner = TypeVar("_Owner", contravariant=True)
_Value = TypeVar("_Value", covariant=True)


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Make tensors of one shape of numbers and tensors.

    Numbers get dtype and device of the first tensor, or the default dtype where there is none.

    Args:
        values: numbers, and tensors whose shapes can be broadcast.

    Example:
        >>> broadcast_all(1.0, facula.zeros(2))
        (tensor([1., 1.]), tensor([0., 0.]))
    """
    for value in values:
        if not isinstance(value, Tensor | Number):
            raise ValueError(
                f"broadcast_all: expected numbers and tensors, got {type(value).__name__}."
            )
    first = next((value for value in values if isinstance(value, Tensor)), None)
    like: dict[str, Any] = {"dtype": facula.get_default_dtype()}
    if first is not None:
        like = {"dtype": first.dtype, "device": first.device}
    return tuple(
        facula.broadcast_tensors(
            *(
                value if isinstance(value, Tensor) else facula.tensor(value, **like)
                for value in values
            )
        )
    )


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Turn logits into probabilities.

    Args:
        logits: log odds if binary, else log probabilities up to a constant of each last dimension.
        is_binary: whether each element is the logit of an event of its own.

    Example:
        >>> logits_to_probs(facula.zeros(2))
        tensor([0.5000, 0.5000])
    """
    return facula.sigmoid(logits) if is_binary else facula.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Keep probabilities away from 0 and 1 by the precision of their dtype.

    Args:
        probs: probabilities.

    Example:
        >>> clamp_probs(facula.tensor([0.0, 0.5]))
        tensor([1.1921e-07, 5.0000e-01])
    """
    eps = facula.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Turn probabilities into logits, which stay finite.

    Args:
        probs: probabilities, which sum to 1 along the last dimension unless binary.
        is_binary: whether each element is the probability of an event of its own.

    Example:
        >>> probs_to_logits(facula.tensor([0.5, 0.75]), is_binary=True)
        tensor([0.0000, 1.0986])
    """
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


class lazy_property(Generic[_Owner, _Value]):
    """A property that is computed once, at its first use, and then is an ordinary attribute.

    Args:
        wrapped: the method that computes the value, with gradients enabled.

    Example:
        >>> class Circle:
        ...     @lazy_property
        ...     def area(self):
        ...         return 3.14
        >>> circle = Circle()
        >>> circle.area, vars(circle)
        (3.14, {'area': 3.14})
    """

    def __init__(self, wrapped: Callable[[_Owner], _Value]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[_Owner, _Value]: ...
    @overload
    def __get__(self, instance: _Owner, owner: Any = None) -> _Value: ...
    def __get__(
        self, instance: _Owner | None, owner: Any = None
    ) -> _Value | lazy_property[_Owner, _Value]:
        if instance is None:
            return self
        with facula.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Read the lower triangle of square matrices row by row.

    Args:
        mat: matrices ``(*, n, n)``.
        diag: the last diagonal that belongs to the triangle; 0 is the main one.

    Example:
        >>> tril_matrix_to_vec(facula.tensor([[1, 2], [3, 4]]))
        tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"tril_matrix_to_vec: expected diag in [{-n}, {n}), got {diag}.")
    return mat[..., _lower(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Build square matrices from their lower triangles; the rest is zero.

    Args:
        vec: the triangles ``(*, m)``, row by row.
        diag: the last diagonal that belongs to the triangle; 0 is the main one.

    Example:
        >>> vec_to_tril_matrix(facula.tensor([1, 3, 4]))
        tensor([[1, 0],
                [3, 4]])
    """
    # n solves m = n (n + 1) / 2 + diag n - diag (diag + 1) / 2, with + for a negative diag.
    m, shift = vec.shape[-1], 1 + 2 * diag
    discriminant = shift**2 + 8 * m + 4 * abs(diag) * (diag + 1)
    n, is_odd = divmod(math.isqrt(discriminant) - shift, 2)
    if is_odd or (2 * n + shift) ** 2 != discriminant:
        raise ValueError(
            f"vec_to_tril_matrix: {m} elements are no lower triangle up to diagonal {diag}."
        )
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _lower(n, diag, vec.device)] = vec
    return mat


def _lower(n: int, diag: int, device: facula.device) -> Tensor:
    indices = facula.arange(n, device=device)
    return indices <= indices.unsqueeze(-1) + diag


def _standard_normal(shape: facula.Size, dtype: facula.dtype, device: facula.device) -> Tensor:
    return facula.normal(
        facula.zeros(shape, dtype=dtype, device=device),
        facula.ones(shape, dtype=dtype, device=device),
    )


def _sum_rightmost(value: Tensor, n_dims: int) -> Tensor:
    if n_dims == 0:
        return value
    return value.reshape((*value.shape[:-n_dims], -1)).sum(-1)

"""Transforms of random variables, with inverses and log determinants of their Jacobians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions._transform import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    StackTransform,
    Transform,
    _InverseTransform,  # noqa: F401  packages ask for it here
    _Stateless,
    _with_event_dim,
    identity_transform,
)
from facula.distributions.utils import (
    _sum_rightmost,
    broadcast_all,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from facula.nn.functional import logsigmoid, pad, softplus

if TYPE_CHECKING:
    from facula.distributions.distribution import Distribution

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class ReshapeTransform(Transform):
    """The same elements in another shape.

    Args:
        in_shape: the shape of an event before.
        out_shape: the shape of an event after.
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> ReshapeTransform((4,), (2, 2))(facula.arange(4.0))
        tensor([[0., 1.],
                [2., 3.]])
    """

    bijective = True

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        """The constraint that results satisfy."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return _replaced_end(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return _replaced_end(shape, self.out_shape, self.in_shape)


def _replaced_end(shape: Sequence[int], old: Size, new: Size) -> Size:
    cut = len(shape) - len(old)
    if cut < 0:
        raise ValueError("Too few dimensions on input")
    if Size(shape[cut:]) != old:
        raise ValueError(f"Shape mismatch: expected {Size(shape[cut:])} but got {old}")
    return Size((*shape[:cut], *new))


class ExpTransform(_Stateless):
    """``y = exp(x)``.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> ExpTransform()(facula.tensor([0.0]))
        tensor([1.])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """``y = x**exponent`` for positive ``x``.

    Args:
        exponent: the exponent, which is not 0.
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> PowerTransform(facula.tensor(2.0))(facula.tensor([3.0]))
        tensor([9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Tensor:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(
            self.exponent.eq(other.exponent).all().item()
        )

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return Size(facula.broadcast_shapes(shape, self.exponent.shape))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self.forward_shape(shape)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid, kept strictly between 0 and 1."""
    finfo = facula.finfo(x.dtype)
    return facula.sigmoid(x).clamp(min=finfo.tiny, max=1.0 - finfo.eps)


class SigmoidTransform(_Stateless):
    """``y = 1 / (1 + exp(-x))``.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> SigmoidTransform()(facula.tensor([0.0]))
        tensor([0.5000])
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        finfo = facula.finfo(y.dtype)
        y = y.clamp(min=finfo.tiny, max=1.0 - finfo.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Stateless):
    """``y = log(1 + exp(x))``.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> SoftplusTransform()(facula.tensor([0.0]))
        tensor([0.6931])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Stateless):
    """``y = tanh(x)``.

    Near 1 and -1 the inverse loses digits; a cache avoids it.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> TanhTransform()(facula.tensor([0.0]))
        tensor([0.])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return facula.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)^2), without the cancellation.
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Stateless):
    """``y = |x|``, which has no inverse: ``inv(y)`` is ``y``.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> AbsTransform()(facula.tensor([-2.0]))
        tensor([2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``.

    Args:
        loc: what is added.
        scale: what ``x`` is multiplied by.
        event_dim: the number of dimensions of an event.
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> AffineTransform(1.0, 2.0)(facula.tensor([3.0]))
        tensor([7.])
    """

    bijective = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        event_dim: int = 0,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return _with_event_dim(constraints.real, self.event_dim)

    @property
    def codomain(self) -> Any:
        """The constraint that results satisfy."""
        return self.domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and all(
            _all_equal(mine, theirs)
            for mine, theirs in [(self.loc, other.loc), (self.scale, other.scale)]
        )

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return 1 if self.scale > 0 else -1 if self.scale < 0 else 0

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            result = facula.broadcast_to(self.scale.abs().log(), x.shape)
        else:
            result = facula.full_like(x, math.log(abs(self.scale)))
        return _sum_rightmost(result, self.event_dim)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return Size(
            facula.broadcast_shapes(
                shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
            )
        )

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self.forward_shape(shape)


def _all_equal(a: Tensor | float, b: Tensor | float) -> bool:
    equal = a == b
    return bool(equal.all()) if isinstance(equal, Tensor) else equal


class CorrCholeskyTransform(Transform):
    """Maps vectors of ``D (D - 1) / 2`` numbers to Cholesky factors of correlation matrices.

    The numbers become partial correlations by ``tanh``; each row of the factor is a stick of length
    1 that they break.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> CorrCholeskyTransform()(facula.tensor([0.0]))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = facula.tanh(x)
        eps = facula.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + facula.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - facula.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(dim=-1)
        sticks = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        return sticks - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], d, d))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        d = _square_size(shape)
        return Size((*shape[:-2], d * (d - 1) // 2))


def _square_size(shape: Sequence[int]) -> int:
    if len(shape) < 2:
        raise ValueError("Too few dimensions on input")
    if shape[-2] != shape[-1]:
        raise ValueError("Input is not square")
    return shape[-1]


class SoftmaxTransform(_Stateless):
    """``y = softmax(x)`` along the last dimension; as many numbers as before, so not bijective.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> SoftmaxTransform()(facula.zeros(2))
        tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return facula.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self.forward_shape(shape)


class StickBreakingTransform(_Stateless):
    """Maps ``K - 1`` numbers to ``K`` positive ones that sum to 1, by breaking a stick.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> StickBreakingTransform()(facula.zeros(1))
        tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        broken = _clipped_sigmoid(x - _log_sticks_left(x))
        left = (1 - broken).cumprod(-1)
        return pad(broken, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        first = y[..., :-1]
        # The last sum can round to 1 or more.
        left = (1 - first.cumsum(-1)).clamp(min=facula.finfo(y.dtype).tiny)
        return first.log() - left.log() + _log_sticks_left(first)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - _log_sticks_left(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] - 1))


def _log_sticks_left(x: Tensor) -> Tensor:
    """The logarithms of K - 1 .. 1: so zeros give pieces of equal length."""
    return facula.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()


class LowerCholeskyTransform(_Stateless):
    """Maps square matrices to lower triangles whose diagonal is positive.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> LowerCholeskyTransform()(facula.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Stateless):
    """Maps square matrices to positive definite ones, by way of their Cholesky factors.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> PositiveDefiniteTransform()(facula.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(facula.linalg.cholesky(y))  # type: ignore[no-any-return]


class CumulativeDistributionTransform(Transform):
    """Maps values to their probabilities: ``y = distribution.cdf(x)``.

    Args:
        distribution: the distribution, which has ``cdf`` and ``icdf``.
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> from facula.distributions import Normal
        >>> CumulativeDistributionTransform(Normal(0.0, 1.0))(facula.tensor([0.0]))
        tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

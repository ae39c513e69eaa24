"""Regions of values: what parameters may be, and what distributions give.

``constraint.check(value)`` says for each event of a batch whether it lies in the region.
``constraint_registry`` has transforms from unconstrained numbers into each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import facula
from facula._core import Tensor

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]

_Bound = Tensor | float


class Constraint:
    """A region of values.

    Attributes:
        is_discrete: whether the region holds integers only.
        event_dim: the number of rightmost dimensions that make one event.

    Example:
        >>> positive.check(facula.tensor([-1.0, 2.0]))
        tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event of ``value`` lies in the region.

        Args:
            value: events of a batch, ``batch_shape + event_shape``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no check().")

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


class _Bounded(Constraint):
    """A region whose ``repr`` tells its bounds."""

    def __repr__(self) -> str:
        bounds = (f"{name}={value}" for name, value in vars(self).items() if "bound" in name)
        return f"{type(self).__name__[1:]}({', '.join(bounds)})"


class _Dependent(Constraint):
    """A region that depends on other values, so that it cannot be checked by itself.

    Args:
        is_discrete: whether the region holds integers only, if that is known.
        event_dim: the number of dimensions of an event, if that is known.
    """

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:
        return bool(self._known("is_discrete"))

    @property
    def event_dim(self) -> int:
        return int(self._known("event_dim"))

    def _known(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(
                f"{name} of a dependent constraint is known to instances only."
            )
        return value

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> _Dependent:
        """The same with some properties made known.

        Args:
            is_discrete: whether the region holds integers only.
            event_dim: the number of dimensions of an event.
        """
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("A dependent constraint cannot be checked; ask an instance for its own.")


class _DependentProperty(property, _Dependent):
    """A property that is a constraint, and a dependent constraint when the class is asked.

    Args:
        fn: the method that gives the constraint of an instance.
        is_discrete: whether the region holds integers only, if that is known.
        event_dim: the number of dimensions of an event, if that is known.

    Example:
        >>> class Up:
        ...     low = 1.0
        ...     @dependent_property(is_discrete=False, event_dim=0)
        ...     def support(self):
        ...         return greater_than(self.low)
        >>> Up().support, is_dependent(Up.support)
        (GreaterThan(lower_bound=1.0), True)
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """A region of several values that must all lie in another.

    Args:
        base_constraint: the region of each value.
        reinterpreted_batch_ndims: the number of dimensions that become part of an event.

    Example:
        >>> independent(positive, 1).check(facula.tensor([[1.0, 2.0], [1.0, -2.0]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim) + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        n = self.reinterpreted_batch_ndims
        if result.dim() < n:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape((*result.shape[: result.dim() - n], -1)).all(-1)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"
        )


class MixtureSameFamilyConstraint(Constraint):
    """The region of a mixture: a value must be possible for every component.

    Args:
        base_constraint: the region of the components, which are one more batch dimension.

    Example:
        >>> MixtureSameFamilyConstraint(positive).check(facula.tensor([1.0, -1.0]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim)

    def check(self, value: Tensor) -> Tensor:
        n_batch_dims = value.dim() - self.event_dim
        if n_batch_dims < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return result.reshape((*result.shape[:n_batch_dims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    """The numbers 0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors with a single 1, else zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return boolean.check(value).all(-1) & (value.sum(-1) == 1)


class _IntegerInterval(_Bounded):
    """The integers from ``lower_bound`` to ``upper_bound``, both included."""

    is_discrete = True

    def __init__(self, lower_bound: _Bound, upper_bound: _Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Bounded):
    """The integers up to ``upper_bound``."""

    is_discrete = True

    def __init__(self, upper_bound: _Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    """The integers from ``lower_bound`` on."""

    is_discrete = True

    def __init__(self, lower_bound: _Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """All numbers, but not NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(_Bounded):
    """The numbers above ``lower_bound``."""

    def __init__(self, lower_bound: _Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class _GreaterThanEq(_Bounded):
    """The numbers from ``lower_bound`` on."""

    def __init__(self, lower_bound: _Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class _LessThan(_Bounded):
    """The numbers below ``upper_bound``."""

    def __init__(self, upper_bound: _Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    """The numbers from ``lower_bound`` to ``upper_bound``, both included."""

    def __init__(self, lower_bound: _Bound, upper_bound: _Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """The numbers from ``lower_bound`` on and below ``upper_bound``."""

    def __init__(self, lower_bound: _Bound, upper_bound: _Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and sum to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts whose sum is at most ``upper_bound``."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: _Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Square matrices that are zero above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: their rows have length 1."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        tolerance = facula.finfo(value.dtype).eps * value.shape[-1] * 10
        length = value.detach().norm(dim=-1)
        return lower_cholesky.check(value) & ((length - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return facula.full(
            value.shape[:-2],
            value.shape[-2] == value.shape[-1],
            dtype=facula.bool,
            device=value.device,
        )


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        is_square = super().check(value)
        if not is_square.all():
            return is_square
        return facula.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without a negative eigenvalue."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return (facula.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices whose eigenvalues are positive."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        info: Tensor = facula.linalg.cholesky_ex(value).info
        return info == 0


class _Parts(Constraint):
    """What ``_Cat`` and ``_Stack`` share: constraints of parts along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        for constraint in cseq:
            if not isinstance(constraint, Constraint):
                raise TypeError(f"Expected constraints, got {type(constraint).__name__}.")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:
        return any(constraint.is_discrete for constraint in self.cseq)


class _Cat(_Parts):
    """The regions ``cseq``, one after the other along ``dim``, of ``lengths`` elements each.

    Example:
        >>> cat([positive, real], 0, [1, 2]).check(facula.tensor([-1.0, -1.0, 1.0]))
        tensor([False,  True,  True])
    """

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ValueError(f"Expected {len(self.cseq)} lengths, got {len(self.lengths)}.")

    @property
    def event_dim(self) -> int:
        return max(int(constraint.event_dim) for constraint in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        checks = [c.check(part) for c, part in zip(self.cseq, parts, strict=True)]
        return facula.cat(checks, self.dim)


class _Stack(_Parts):
    """The regions ``cseq``, one for each index of ``dim``.

    Example:
        >>> stack([positive, real]).check(facula.tensor([-1.0, -1.0]))
        tensor([False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        dim = max(int(constraint.event_dim) for constraint in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        parts = value.unbind(self.dim)
        checks = [c.check(part) for c, part in zip(self.cseq, parts, strict=True)]
        return facula.stack(checks, self.dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other values, so that only an instance knows it.

    Args:
        constraint: a constraint.

    Example:
        >>> is_dependent(dependent), is_dependent(real)
        (True, False)
    """
    return isinstance(constraint, _Dependent)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack

"""Transforms from unconstrained numbers into the region of a constraint.

``biject_to`` gives bijections, which variational inference and Hamiltonian Monte Carlo need;
``transform_to`` any map onto the region, which suits optimisers and may have more numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._core import Tensor
from facula.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

_Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """A table from classes of constraints to the transforms that map into them.

    Example:
        >>> registry = ConstraintRegistry()
        >>> @registry.register(constraints.real)
        ... def _(constraint):
        ...     return transforms.identity_transform
        >>> registry(constraints.real)(facula.tensor([1.0]))
        tensor([1.])
    """

    def __init__(self) -> None:
        self._registry: dict[type[constraints.Constraint], _Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: _Factory | None = None) -> Any:
        """Say how to make the transform of a class of constraints; also a decorator.

        Args:
            constraint: a class of constraints, or an instance of it.
            factory: a function from such a constraint to a transform.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> Any:
        """The transform into the region of a constraint.

        Args:
            constraint: the constraint.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register(*kinds: Any) -> Callable[[_Factory], _Factory]:
    """Register the same transform with both tables."""

    def register(factory: _Factory) -> _Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_register(constraints.real)
def _real(constraint: Any) -> transforms.Transform:
    return transforms.identity_transform


@_register(constraints.greater_than, constraints.greater_than_eq)
def _greater_than(constraint: Any) -> transforms.Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_register(constraints.less_than)
def _less_than(constraint: Any) -> transforms.Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_register(constraints.interval, constraints.half_open_interval)
def _interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if not isinstance(low, Tensor) and not isinstance(high, Tensor) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    )


@_register(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> transforms.Transform:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)  # type: ignore[untyped-decorator]
def _biject_to_simplex(constraint: Any) -> transforms.Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)  # type: ignore[untyped-decorator]
def _transform_to_simplex(constraint: Any) -> transforms.Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)  # type: ignore[untyped-decorator]
def _transform_to_lower_cholesky(constraint: Any) -> transforms.Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)  # type: ignore[untyped-decorator]
@transform_to.register(constraints.positive_semidefinite)  # type: ignore[untyped-decorator]
def _transform_to_positive_definite(constraint: Any) -> transforms.Transform:
    return transforms.PositiveDefiniteTransform()


def _register_of_parts(registry: ConstraintRegistry) -> None:
    """The constraints that are made of others: their parts are looked up in the same table."""

    @registry.register(constraints.independent)  # type: ignore[untyped-decorator]
    def independent(constraint: Any) -> transforms.Transform:
        return transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        )

    @registry.register(constraints.cat)  # type: ignore[untyped-decorator]
    def cat(constraint: Any) -> transforms.Transform:
        parts = [registry(part) for part in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)  # type: ignore[untyped-decorator]
    def stack(constraint: Any) -> transforms.Transform:
        return transforms.StackTransform(
            [registry(part) for part in constraint.cseq], constraint.dim
        )


_register_of_parts(biject_to)
_register_of_parts(transform_to)

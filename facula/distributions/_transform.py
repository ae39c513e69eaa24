"""What a transform is, and how transforms are inverted, composed and joined."""

from __future__ import annotations

import copy
import functools
import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions.utils import _sum_rightmost


class Transform:
    """An invertible map of tensors, ``y = transform(x)`` and ``x = transform.inv(y)``.

    A subclass gives ``domain``, ``codomain``, ``_call`` and ``_inverse``, and
    ``log_abs_det_jacobian`` if it is bijective. With a cache the last pair of ``x`` and ``y`` is
    kept: the inverse of a ``y`` that the transform has made is then exact, and free.

    Args:
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> from facula.distributions import ExpTransform
        >>> transform = ExpTransform()
        >>> y = transform(facula.tensor([0.0, 1.0]))
        >>> y, transform.inv(y)
        (tensor([1.0000, 2.7183]), tensor([0., 1.]))
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}  # a weak reference, which cannot be pickled

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event, where domain and codomain agree."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse, whose inverse is this transform."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """The sign of the slope, if the transform is one of numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no sign.")

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with a cache of another size.

        Args:
            cache_size: 0 for no cache, 1 for the last pair.
        """
        if self._cache_size == cache_size:
            return self
        new = copy.copy(self)
        Transform.__init__(new, cache_size=cache_size)
        return new

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __call__(self, x: Tensor) -> Tensor:
        """The image of ``x``.

        Args:
            x: points of the domain.
        """
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old  # type: ignore[no-any-return]
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old  # type: ignore[no-any-return]
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _call().")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _inverse().")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the absolute value of the determinant of ``dy/dx``.

        Args:
            x: points of the domain.
            y: their images.
        """
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian().")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of the image of a tensor.

        Args:
            shape: the shape of the tensor.
        """
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of the tensor whose image has a shape.

        Args:
            shape: the shape of the image.
        """
        return Size(shape)


class _Stateless(Transform):
    """A transform without parameters: all of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class _InverseTransform(Transform):
    """The inverse of a transform, which has the only cache of the two."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv: Transform = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    @property
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return self._inv.codomain

    @property
    def codomain(self) -> Any:
        """The constraint that results satisfy."""
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return bool(self._inv.bijective)

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms one after the other.

    Args:
        parts: the transforms, the first one first.
        cache_size: 0 for no cache, 1 for the last pair of each part.

    Example:
        >>> from facula.distributions import AffineTransform, ExpTransform
        >>> ComposeTransform([AffineTransform(1.0, 2.0), ExpTransform()])(facula.tensor([-0.5]))
        tensor([1.])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @property
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        if not self.parts:
            return constraints.real
        # An event must be large enough for every part.
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        return _with_event_dim(self.parts[0].domain, event_dim)

    @property
    def codomain(self) -> Any:
        """The constraint that results satisfy."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, event_dim)

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Any:
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return facula.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        terms = []
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, points[:-1], points[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return Size(shape)

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


def _with_event_dim(constraint: Any, event_dim: int) -> Any:
    missing = event_dim - constraint.event_dim
    return constraints.independent(constraint, missing) if missing > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform some of whose batch dimensions become dimensions of the event.

    Args:
        base_transform: the transform.
        reinterpreted_batch_ndims: the number of last batch dimensions to take.
        cache_size: 0 for no cache, 1 for the last pair.

    Example:
        >>> from facula.distributions import ExpTransform
        >>> x = facula.tensor([1.0, 2.0])
        >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
        tensor(3.)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @property
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        """The constraint that results satisfy."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return bool(self.base_transform.bijective)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        _check_dims(x, self.domain.event_dim)
        return self.base_transform(x)  # type: ignore[no-any-return]

    def _inverse(self, y: Tensor) -> Tensor:
        _check_dims(y, self.codomain.event_dim)
        return self.base_transform.inv(y)  # type: ignore[no-any-return]

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        result = self.base_transform.log_abs_det_jacobian(x, y)
        return _sum_rightmost(result, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self.base_transform.forward_shape(shape)  # type: ignore[no-any-return]

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self.base_transform.inverse_shape(shape)  # type: ignore[no-any-return]


def _check_dims(x: Tensor, n_dims: int) -> None:
    if x.dim() < n_dims:
        raise ValueError("Too few dimensions on input")


class _OfParts(Transform):
    """What ``CatTransform`` and ``StackTransform`` share: a transform for each part of a tensor."""

    _joined: ClassVar[Callable[..., Tensor]]

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        for transform in tseq:
            if not isinstance(transform, Transform):
                raise TypeError(f"Expected transforms, got {type(transform).__name__}.")
        super().__init__(cache_size=cache_size)
        self.dim = dim
        self.transforms = [
            transform.with_cache(cache_size) if cache_size else transform for transform in tseq
        ]

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _parts(self, *tensors: Tensor) -> Iterator[tuple[Any, ...]]:
        """Each transform with its part of the tensors."""
        return zip(self.transforms, *(self._split(x) for x in tensors), strict=True)

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([transform(part) for transform, part in self._parts(x)], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = [transform.inv(part) for transform, part in self._parts(y)]
        return self._joined(parts, dim=self.dim)

    @property
    def bijective(self) -> bool:
        return all(transform.bijective for transform in self.transforms)


class CatTransform(_OfParts):
    """Transforms of parts that lie one after the other along a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: the length of each part; 1 each by default.
        cache_size: 0 for no cache, 1 for the last pair of each transform.

    Example:
        >>> from facula.distributions import ExpTransform
        >>> CatTransform([ExpTransform(), identity_transform], 0, [1, 2])(facula.zeros(3))
        tensor([1., 0., 0.])
    """

    _joined = staticmethod(facula.cat)

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(
                f"CatTransform: expected {len(self.transforms)} lengths, got {len(self.lengths)}."
            )

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @property
    def event_dim(self) -> int:
        return max(transform.event_dim for transform in self.transforms)

    @property
    def length(self) -> int:
        """The length of all parts together."""
        return sum(self.lengths)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        if not -x.dim() <= self.dim < x.dim() or x.shape[self.dim] != self.length:
            raise ValueError(
                f"CatTransform: expected {self.length} elements along dimension {self.dim}, got a "
                f"tensor of shape {tuple(x.shape)}."
            )
        parts: Sequence[Tensor] = x.split(self.lengths, self.dim)
        return parts

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        for transform, x_part, y_part in self._parts(x, y):
            term = transform.log_abs_det_jacobian(x_part, y_part)
            terms.append(_sum_rightmost(term, self.event_dim - transform.event_dim))
        # The dimension, counted from the end of the results, which have no event dimensions.
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return facula.cat(terms, dim=dim) if dim < 0 else functools.reduce(operator.add, terms)

    @property
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        """The constraint that results satisfy."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_OfParts):
    """A transform for each index of a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
        cache_size: 0 for no cache, 1 for the last pair of each transform.

    Example:
        >>> from facula.distributions import ExpTransform
        >>> StackTransform([ExpTransform(), identity_transform])(facula.zeros(2))
        tensor([1., 0.])
    """

    _joined = staticmethod(facula.stack)

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        if not -x.dim() <= self.dim < x.dim() or x.shape[self.dim] != len(self.transforms):
            raise ValueError(
                f"StackTransform: expected {len(self.transforms)} slices along dimension "
                f"{self.dim}, got a tensor of shape {tuple(x.shape)}."
            )
        parts: Sequence[Tensor] = x.unbind(self.dim)
        return parts

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = [
            transform.log_abs_det_jacobian(x_part, y_part)
            for transform, x_part, y_part in self._parts(x, y)
        ]
        return facula.stack(terms, dim=self.dim)

    @property
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        """The constraint that results satisfy."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

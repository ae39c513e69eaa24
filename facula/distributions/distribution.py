"""``Distribution``, the base of all, and what follows from the parameters that a class declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import facula
from facula._core import Size, Tensor
from facula._warnings import warn_user
from facula.distributions import constraints
from facula.distributions.utils import broadcast_all, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of them.

    A sample has the shape ``sample_shape + batch_shape + event_shape``: the shape asked for, the
    distributions of the batch, and what one of them gives.

    Args:
        batch_shape: the shape of the batch of distributions.
        event_shape: the shape of one sample of one of them.
        validate_args: whether parameters and values are checked; None for the default, which is
            True unless Python runs with ``-O``.

    Example:
        >>> from facula.distributions import Normal
        >>> normal = Normal(facula.zeros(3), facula.ones(3))
        >>> normal.sample((2,)).shape, normal.batch_shape, normal.event_shape
        (torch.Size([2, 3]), torch.Size([3]), torch.Size([]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    # What expand() carries over, for classes that declare it: names of tensors, or of distributions
    # of the same batch shape. Those that an instance has not got are left out.
    _parameters: ClassVar[tuple[str, ...]]

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Decide whether distributions made from now on check parameters and values.

        Args:
            value: True or False; True costs a pass over each argument.
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}.")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warn_user(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = "
                "{}` or initialize the distribution with `validate_args=False` to turn off "
                "validation.",
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(
                getattr(type(self), name, None), lazy_property
            ):
                continue  # computed from a parameter that is checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    def _set_parameters(self, validate_args: bool | None, **parameters: Tensor | float) -> None:
        """Keep the parameters as attributes of one shape, which becomes the batch shape."""
        values = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, values, strict=True))
        Distribution.__init__(self, values[0].shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution with a larger batch shape, on the same memory.

        Args:
            batch_shape: the new batch shape, to which the old one can be broadcast.
        """
        new = self._expanded_parameters(batch_shape, _instance)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded_parameters(self, batch_shape: Sequence[int], _instance: Any) -> Any:
        declaring: Any = next((c for c in type(self).__mro__ if "_parameters" in vars(c)), None)
        if declaring is None:
            raise NotImplementedError(f"{type(self).__name__} has no expand().")
        new = self._get_checked_instance(declaring, _instance)
        for name in declaring._parameters:
            value = self.__dict__.get(name)
            if isinstance(value, Distribution):
                new.__dict__[name] = value.expand(batch_shape)
            elif value is not None:
                event_shape = value.shape[len(self._batch_shape) :]
                new.__dict__[name] = value.expand(Size(batch_shape) + event_shape)
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Mapping[str, Any]:
        """The constraint of each parameter, by name."""
        raise NotImplementedError(f"{type(self).__name__} has no arg_constraints.")

    @property
    def support(self) -> Any:
        """The constraint that all samples satisfy."""
        raise NotImplementedError(f"{type(self).__name__} has no support.")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} has no mean.")

    @property
    def mode(self) -> Tensor:
        """The value of the highest density or probability."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} has no variance.")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples, without a graph.

        Args:
            sample_shape: how many, as a shape.
        """
        with facula.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples that can be differentiated with regard to the parameters.

        Args:
            sample_shape: how many, as a shape.
        """
        raise NotImplementedError(f"{type(self).__name__} has no rsample().")

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``, as it was once written.

        Args:
            n: the number of samples.
        """
        warn_user(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
        )
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability.

        Args:
            value: where; its shape can be broadcast with ``batch_shape + event_shape``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no log_prob().")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is not larger than the value.

        Args:
            value: where; its shape can be broadcast with ``batch_shape``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no cdf().")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of ``cdf``: the quantile of a probability.

        Args:
            value: probabilities.
        """
        raise NotImplementedError(f"{type(self).__name__} has no icdf().")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension.

        Args:
            expand: whether the result has the batch shape, or 1 in its place.
        """
        raise NotImplementedError(f"{type(self).__name__} has no enumerate_support().")

    def entropy(self) -> Tensor:
        """The entropy in nats, of the batch shape."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy().")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return facula.exp(self.entropy())

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        n_event_dims = len(self._event_shape)
        if value.shape[value.dim() - n_event_dims :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs "
                f"{self._event_shape}."
            )
        expected = self._extended_shape()
        for actual, own in zip(reversed(value.shape), reversed(expected), strict=False):
            if actual != own and actual != 1 != own:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.shape} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warn_user(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        parameters = {
            name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__
        }
        args = (
            f"{name}: {value if value.numel() == 1 else value.shape}"
            for name, value in parameters.items()
        )
        return f"{type(self).__name__}({', '.join(args)})"

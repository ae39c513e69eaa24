"""Random operations: what ``randomness=`` of vmap says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.func._batching._batch import ALWAYS, Batch, loop_quietly
from facula.func._batching._nn import check_random, loop_same
from facula.func._batching._shape import sizes_in

_Function = Callable[..., Any]


def _from_sizes(n_before: int) -> _Function:
    """The rule of a function that makes a tensor of a size, after so many other arguments."""

    def rule(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
        check_random(batch)
        if batch.randomness == "same":
            return func(*args, **kwargs)
        if "size" in kwargs:
            sizes, before = kwargs.pop("size"), args
        else:
            sizes, before = sizes_in(args[n_before:]), args[:n_before]
        return batch.wrap(func(*before, (batch.size, *sizes), **kwargs))

    return rule


ALWAYS["rand"] = ALWAYS["randn"] = _from_sizes(0)


def randint(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    n_before = sum(isinstance(a, int) for a in args)  # high, or low and high
    return _from_sizes(n_before)(batch, func, *args, **kwargs)


def randperm(batch: Batch, func: _Function, n: int, **kwargs: Any) -> Any:
    check_random(batch)
    if batch.randomness == "same":
        return func(n, **kwargs)
    return batch.wrap(_core.stack([func(n, **kwargs) for _ in range(batch.size)]))


def normal(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    check_random(batch)
    is_sized = "size" in kwargs or len(args) > 2
    if is_sized:
        return _from_sizes(2)(batch, func, *args, **kwargs)
    return elementwise(batch, func, *args, **kwargs)


def elementwise(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    """Draws for each element of the arguments, which are tensors of one shape or numbers."""
    check_random(batch)
    if batch.randomness == "same":
        if any(map(batch.has, args)):
            return loop_same(batch, func, *args, **kwargs)
        return func(*args, **kwargs)
    n_dims = max(int(a.dim()) for a in args if isinstance(a, Tensor))
    lowered = [
        batch.all_of(
            a.expand((1,) * (n_dims - int(a.dim())) + tuple(a.shape)) if not batch.has(a) else a
        )
        if isinstance(a, Tensor)
        else a
        for a in args
    ]
    return batch.wrap_all(func(*lowered, **kwargs))


def like(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Draws numbers in the form of a tensor, whatever its values are."""
    check_random(batch)
    if batch.randomness == "same":
        return func(x, *args, **kwargs)
    return batch.wrap(func(batch.all_of(x), *args, **kwargs))


def in_place(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    check_random(batch)
    if batch.randomness == "different":
        if not batch.has(x):
            raise RuntimeError(
                f"vmap: {func.__name__} would give every example numbers of its own "
                "(randomness='different'), but writes to a tensor that all examples share."
            )
        func(batch.lower(x), *map(batch.lower, args), **kwargs)
    elif not batch.has(x):
        func(x, *args, **kwargs)
    elif any(map(batch.has, args)):
        loop_same(batch, func, x, *args, **kwargs)
    else:
        drawn = func(_core.empty_like(x), *args, **kwargs)
        batch.lower(x).copy_(drawn.expand(batch.size, *drawn.shape))
    return x


def dropout(batch: Batch, func: _Function, x: Tensor, p: float, train: Any) -> Any:
    is_random = train is not False and p > 0
    if not is_random:
        return batch.wrap_all(func(batch.lower(x), p, train)) if batch.has(x) else func(x, p, train)
    check_random(batch)
    writes = func.__name__ == "dropout_"
    if batch.randomness == "different":
        if writes and not batch.has(x):
            return in_place(batch, func, x, p, train)  # raises
        result = func(batch.lower(x) if writes else batch.all_of(x), p, train)
        return x if writes else batch.wrap_all(result)
    if not batch.has(x):
        return func(x, p, train)
    if func.__name__ == "native_dropout":
        return loop_same(batch, func, x, p, train)
    kept = _core.dropout(_core.ones_like(x), p, train)  # 0, or what the others are scaled by
    if not writes:
        return batch.wrap(batch.lower(x) * kept)
    batch.lower(x).mul_(kept)
    return x


def multinomial(
    batch: Batch, func: _Function, x: Tensor, num_samples: int, *args: Any, **kwargs: Any
) -> Any:
    check_random(batch)
    if batch.randomness == "same":
        is_batched = batch.has(x)
        return loop_same(batch, func, x, num_samples, *args, **kwargs) if is_batched else func(
            x, num_samples, *args, **kwargs)  # fmt: skip
    everything = batch.all_of(x)
    flat = everything.flatten(0, -2)
    drawn = func(flat, num_samples, *args, **kwargs)
    return batch.wrap(drawn.reshape(*everything.shape[:-1], num_samples))


def rrelu(
    batch: Batch, func: _Function, x: Tensor, lower: float = 1 / 8, upper: float = 1 / 3,
    training: bool = False, generator: Any = None,
) -> Any:  # fmt: skip
    """Which elements take a random number depends on their values."""
    given = (x, lower, upper, training, generator)
    if training:
        check_random(batch)
        if batch.randomness == "same":
            return loop_same(batch, func, *given) if batch.has(x) else func(*given)
        if not batch.has(x) and not func.__name__.endswith("_"):
            given = (batch.wrap(batch.all_of(x)), *given[1:])
    elif not batch.has(x):
        return func(*given)
    else:
        y = func(batch.lower(x), *given[1:])
        return x if func.__name__.endswith("_") else batch.wrap(y)
    return loop_quietly(batch, func, *given)


ALWAYS.update(rrelu=rrelu, rrelu_=rrelu)
ALWAYS.update(randint=randint, randperm=randperm, normal=normal, multinomial=multinomial)
for _name in ("bernoulli", "poisson", "binomial", "_sample_dirichlet", "_standard_gamma"):
    ALWAYS[_name] = elementwise
for _name in ("rand_like", "randn_like", "randint_like"):
    ALWAYS[_name] = like
for _name in ("bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_",
              "random_", "uniform_"):  # fmt: skip
    ALWAYS[_name] = in_place
for _name in ("dropout", "dropout_", "native_dropout"):
    ALWAYS[_name] = dropout


# The names of all of them: who runs an operation again must start from the same numbers.
NAMES = frozenset(ALWAYS)

"""What the transforms of functions have in common: each is a mode at the seam of all operations.

A transform sees every operation of the core that its thread calls while it is active, private ones
too, and answers with a rule. The rule calls operations itself, which go to the next transform
further out: so transforms nest in any order, and each rule knows its own level only. Operations
composed in Python are seen as what they are made of; a transform that has a rule for one all the
same names it in ``composed``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from facula import _core
from facula._core import Tensor

_Function = TypeVar("_Function", bound=Callable[..., Any])

# What every transform has a rule for, filled by @step.
_STEPS: set[Any] = set()


def step(function: _Function) -> _Function:
    """Make the function one that all transforms are asked for, and nobody else."""
    entry: Any = _core._Operation(function, None, False, True)
    _STEPS.add(entry)
    return entry  # type: ignore[no-any-return]


class Transform:
    """A level of a transform, active inside ``with``."""

    composed: ClassVar[set[Any]] = _STEPS

    def __enter__(self) -> Any:
        _core._push_transform(self, self.composed)
        return self

    def __exit__(self, *error: object) -> None:
        _core._pop_torch_function_mode()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError


def name_of(func: Any) -> str:
    """The name that rules are found by: of the function or method, ``T.__get__`` of a property."""
    name: str = func.__name__
    if name in ("__get__", "__set__", "__delete__") and hasattr(func, "__self__"):
        return f"{func.__self__.__name__}.{name}"
    return name


def with_usual_names(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments, with ``input=`` in its place and NumPy's names as the usual ones."""
    kwargs.pop("out", None)
    for name, usual in (("axis", "dim"), ("keepdims", "keepdim")):
        if name in kwargs:
            kwargs[usual] = kwargs.pop(name)
    if not args:
        for name in ("input", "tensor", "tensors"):
            if name in kwargs:
                return (kwargs.pop(name),)
    return args


def repeatable(func: Callable[..., Any]) -> Callable[..., Any]:
    """The operation, to be called again for the same values.

    A random one draws the numbers of its first call in every other. A norm that keeps running
    statistics updates them once.
    """
    if name_of(func) in ("batch_norm", "instance_norm"):
        return _updating_once(func)
    if name_of(func) not in _random_names():
        return func
    state: list[Tensor] = []

    def draw(*args: Any, **kwargs: Any) -> Any:
        if not state:
            state.append(_core.get_rng_state())
            return func(*args, **kwargs)
        before = _core.get_rng_state()
        _core.set_rng_state(state[0])
        levels = [level for level in _core._transforms() if hasattr(level, "randomness")]
        modes = [level.randomness for level in levels]
        try:
            # The examples of a vmap around the repetition share what was drawn once.
            for level in levels:
                level.randomness = "same"
            return func(*args, **kwargs)
        finally:
            for level, mode in zip(levels, modes, strict=True):
                level.randomness = mode
            _core.set_rng_state(before)

    draw.__name__ = func.__name__
    return draw


def _updating_once(func: Callable[..., Any]) -> Callable[..., Any]:
    calls: list[None] = []

    def norm(x: Tensor, weight: Any, bias: Any, mean: Any, var: Any, *args: Any) -> Any:
        # With statistics of the input itself the result does not depend on the running ones.
        uses_input = args[0]
        if calls and uses_input:
            mean = var = None
        calls.append(None)
        return func(x, weight, bias, mean, var, *args)

    norm.__name__ = func.__name__
    return norm


@functools.cache
def _random_names() -> frozenset[str]:
    from facula.func._batching import _random  # which imports this module

    return _random.NAMES


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among the values, also in lists, tuples and mappings."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)
        elif isinstance(value, Mapping):
            yield from tensors_in(value.values())


def map_tensors(function: Callable[[Tensor], Any], value: Any) -> Any:
    """The value with ``function(t)`` for each tensor in it; tuples and lists keep their types."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        if not any(isinstance(item, (Tensor, list, tuple)) for item in value):
            return value
        items = [map_tensors(function, item) for item in value]
        if type(value) is tuple:
            return tuple(items)
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


@step
def enter_level(x: Tensor) -> Tensor:
    """The tensor as an input that derivatives can be taken with respect to.

    A view of what an outer computation differentiates is an input of its own and still belongs to
    the outer graph; anything else becomes a leaf.
    """
    if _core.is_grad_enabled() and x.requires_grad:
        return x.view_as(x)
    # Of an inference tensor, no alias can require grad where inference mode is over.
    is_closed = x.is_inference() and not _core.is_inference_mode_enabled()
    return (x.clone() if is_closed else x.detach()).requires_grad_()


@step
def own_copy(x: Tensor) -> Tensor:
    """A copy that can be written to; inside of a vmap, with what each example writes."""
    return x.clone()


@step
def leave_level(x: Tensor, leaves: list[Tensor] | None) -> Tensor:
    """The value without its history, if that ends in the leaves of one level and nowhere else.

    The caller knows nothing of those leaves: to it, the value is a constant. None stands for a
    caller that records nothing.
    """
    if not x.requires_grad or (leaves is not None and _core._reaches_others([x], leaves)):
        return x
    return x.detach()


@step
def is_differentiated_outside(x: Tensor, leaves: list[Tensor]) -> bool:
    """Whether the value has a history beyond the leaves of one level."""
    return _core._reaches_others([x], leaves)


@step
def apply_function(function: Any, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an ``autograd.Function`` and record it."""
    return function._run(ctx, args, kwargs)

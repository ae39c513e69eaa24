"""The level of one ``vmap``: batched tensors, and how operations on them find their rules."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._mark import LOOPED
from facula._transform import Transform, map_tensors, name_of, tensors_in, with_usual_names
from facula._warnings import warn_user

Rule = Callable[..., Any]

# By the name of an operation. A rule is called as rule(batch, func, *args, **kwargs).
RULES: dict[str, Rule] = {}
# Those that are asked for whether or not an argument is batched, as random operations are.
ALWAYS: dict[str, Rule] = {}
_FOUND: dict[Any, tuple[Rule, bool]] = {}  # by function: its rule, and whether it is always asked


class BatchedTensor(Tensor):
    """One example of a batch, inside of ``vmap``: it has the shape of one, and stands for all.

    ``physical`` holds the examples along its first dimension. The tensor itself looks at the memory
    of the first example, for its shape, dtype and device alone.
    """

    __slots__ = ("level", "physical")
    # Overrides nothing: its level is a transform, which sees all operations.
    __torch_function__ = _core._disabled_torch_function_impl

    level: Batch
    physical: Tensor


@functools.cache
def _escaped_class() -> type[BatchedTensor]:
    # Made when there is one: a class that overrides operations has all of them look for it.
    class EscapedTensor(BatchedTensor):
        """An example that was kept when its vmap was over."""

        __slots__ = ()

        @classmethod
        def __torch_function__(  # type: ignore[override]
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            raise RuntimeError(
                f"{name_of(func)}: got a BatchedTensor outside of its vmap, which has ended. "
                "Return it from the function instead of keeping it."
            )

    return EscapedTensor


class Batch(Transform):
    """One level of ``vmap`` over ``size`` examples."""

    composed = LOOPED  # to which operations add themselves when their module is imported
    composed |= Transform.composed

    def __init__(self, size: int, randomness: str) -> None:
        self.size = size
        self.randomness = randomness
        # Whether the examples are directions of a derivative: values are then alike in all.
        self.is_of_directions = False
        self.number = 1 + sum(isinstance(level, Batch) for level in _core._transforms())
        self._made: list[weakref.ref[BatchedTensor]] = []

    def wrap(self, physical: Tensor) -> BatchedTensor:
        """The tensor whose first dimension counts the examples, as one example."""
        x: Any = _core._one_example(BatchedTensor, physical, self.size)
        x.physical = physical
        x.level = self
        self._made.append(weakref.ref(x))
        return x  # type: ignore[no-any-return]

    def close(self) -> None:
        """Refuse what somebody has kept of the examples: outside of the vmap they mean nothing."""
        for made in self._made:
            x = made()
            if x is not None:
                x.__class__ = _escaped_class()

    def wrap_all(self, result: Any) -> Any:
        """The same for every tensor of a result."""
        if isinstance(result, Tensor):
            return self.wrap(result)
        return map_tensors(self.wrap, result)

    def has(self, x: Any) -> bool:
        """Whether the examples of this level differ in ``x``."""
        return type(x) is BatchedTensor and x.level is self

    def has_one_value(self, values: Any) -> bool:
        """Whether the values are those of one point, at which a derivative has many directions."""
        return self.is_of_directions and all(
            _is_alike(self.lower(x)) for x in tensors_in((values,)) if self.has(x)
        )

    def all_of(self, x: Any) -> Any:
        """All examples, along the first dimension; where they do not differ, without a copy."""
        if self.has(x):
            return x.physical
        return x.expand(self.size, *x.shape)

    def lower(self, x: Any) -> Any:
        """All examples of what is batched; anything else as it is."""
        return x.physical if type(x) is BatchedTensor and x.level is self else x

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        found = _FOUND.get(func)
        if found is None:
            found = _FOUND[func] = _find(func)
        rule, is_always = found
        if not (is_always or self.has_any(args) or (kwargs and self.has_any(kwargs.values()))):
            return func(*args, **kwargs) if kwargs else func(*args)
        if not kwargs:
            return rule(self, func, *args)
        if kwargs.get("out") is not None:
            raise RuntimeError(
                f"vmap: {func.__name__}(..., out=) is not possible inside of vmap. Use the result."
            )
        return rule(self, func, *with_usual_names(args, kwargs), **kwargs)

    def has_any(self, values: Any) -> bool:
        """Whether the examples differ in one of the values, or in what lists of them hold."""
        for x in values:
            if type(x) is BatchedTensor:
                if x.level is self:
                    return True
            elif type(x) in (list, tuple) and self.has_any(x):
                return True
        return False


def _find(func: Any) -> tuple[Rule, bool]:
    from facula.func import _batching  # the tables, which import this module

    _batching.load()
    name = name_of(func)
    if name in ALWAYS:
        return ALWAYS[name], True
    return RULES.get(name, loop), False


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Mark a function as the rule of the operations with these names."""

    def mark(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return mark


def always(*names: str) -> Callable[[Rule], Rule]:
    """The same for operations whose rule is asked even if no argument is batched."""

    def mark(function: Rule) -> Rule:
        ALWAYS.update(dict.fromkeys(names, function))
        return function

    return mark


_WARNED: set[str] = set()


def loop(batch: Batch, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Do an operation that has no rule one example after the other."""
    name = name_of(func)
    if name not in _WARNED:
        _WARNED.add(name)
        warn_user(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"{name}: it runs one example at a time.",
            UserWarning,
        )
    return loop_quietly(batch, func, *args, **kwargs)


def loop_quietly(batch: Batch, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The same where nothing else is possible, or worth a rule."""
    if batch.size == 0:
        raise RuntimeError(f"vmap: {name_of(func)} cannot run for a batch without examples.")
    is_in_place = writes_to_first(name_of(func))
    if is_in_place:
        check_writable(batch, func, args, kwargs)
    results = [
        func(
            *example(batch, args, i),
            **dict(zip(kwargs, example(batch, tuple(kwargs.values()), i), strict=True)),
        )
        for i in range(batch.size)
    ]
    if is_in_place:
        return args[0]
    return _stack_results(batch, results)


def example(batch: Batch, values: Any, i: int) -> Any:
    """The values with one example in the place of what is batched."""
    return map_tensors(lambda x: batch.lower(x).select(0, i) if batch.has(x) else x, values)


def all_values(x: Tensor) -> Tensor:
    """The elements of every example at every level, for checks that a rule makes of them."""
    while isinstance(x, BatchedTensor):
        x = x.physical
    return x


def _is_alike(everything: Tensor) -> bool:
    """Whether all examples have the same values; NaN is the same as any."""
    values, first = all_values(everything), all_values(everything[:1].expand_as(everything))
    return bool(((values == first) | (values != values)).all())


def as_rows(everything: Tensor) -> Tensor:
    """All examples, each as a row of its elements."""
    return everything.flatten(1) if everything.dim() > 1 else everything.unsqueeze(1)


def are_within(places: Tensor, size: int) -> bool:
    """Whether all of the places are from 0 up to ``size``.

    Examples that are put behind each other must be asked: a place outside of one lies in another.
    """
    values = all_values(places)
    return values.numel() == 0 or (int(values.min()) >= 0 and int(values.max()) < size)


def _stack_results(batch: Batch, results: list[Any]) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        if any(r.shape != first.shape for r in results):
            raise RuntimeError(
                "vmap: an operation gives tensors of other sizes for other examples, "
                f"{tuple(first.shape)} for the first. vmap needs the same shape for all."
            )
        return batch.wrap(_core.stack(results))
    if isinstance(first, (list, tuple)):
        items = [_stack_results(batch, list(column)) for column in zip(*results, strict=True)]
        if type(first) is tuple:
            return tuple(items)
        return type(first)(items)
    return first


def writes_to_first(name: str) -> bool:
    """Whether an operation of this name changes its first argument."""
    if name.startswith("__"):
        return name in _WRITING_SLOTS
    return name.endswith("_") and not name.endswith("__")


_WRITING_SLOTS = {
    "__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__",
    "__ipow__", "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__",
}  # fmt: skip


def check_writable(batch: Batch, func: Any, args: tuple[Any, ...], kwargs: Any = ()) -> None:
    """Refuse to write what differs between examples to a tensor that they share."""
    if not batch.has(args[0]):
        raise RuntimeError(
            f"vmap: {name_of(func)} writes to a tensor that all examples share, but its other "
            "arguments are batched. An inplace operation needs a tensor with an element for every "
            "example: make it from a batched one, for example with x.new_zeros(...), or use the "
            "operation that returns a new tensor."
        )

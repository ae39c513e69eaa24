"""The operations that one call of a function made, to make them again with other inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._transform import (
    Transform,
    apply_function,
    enter_level,
    leave_level,
    map_tensors,
    name_of,
    own_copy,
    repeatable,
    tensors_in,
)
from facula.func._batching._batch import writes_to_first


class Tape(Transform):
    """Notes the operations that depend on its inputs.

    A derivative for many vectors at once needs the function for as many copies of its inputs. The
    function itself must not be called again: it may take another way, or have effects. The tape
    has no branches, and what does not depend on the inputs is a constant on it.
    """

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self._entries: list[tuple[Callable[..., Any], Any, Any, Any]] = []
        # Kept, and not only known by id: the id of a freed one would be given to another.
        self._known = {id(x): x for x in inputs}
        self._inputs = list(inputs)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        depends = any(id(x) in self._known for x in tensors_in((*args, *named.values())))
        # An input of a level inside of this one is given anew to each copy, whatever it depends on.
        if not depends and func is not enter_level:
            return func(*args, **named)
        writes = writes_to_first(name_of(func))
        if writes and id(args[0]) not in self._known:
            self._adopt(args[0])
        again = _how_to_repeat(func)
        result = (func if func in (leave_level, apply_function) else again)(*args, **named)
        if writes or any(True for _ in tensors_in((result,))):
            self._note(again, args, named, result)
        return result

    def _note(self, func: Callable[..., Any], args: Any, kwargs: Any, result: Any) -> None:
        self._entries.append((func, args, kwargs, result))
        for x in tensors_in((result,)):
            self._known[id(x)] = x

    def _adopt(self, x: Tensor) -> None:
        """Let a tensor that was a constant so far be one of the tape's: it is written to."""
        base: Any = x._base if x._is_view() else x
        if id(base) not in self._known:
            self._note(own_copy, (base.detach().clone(),), {}, base)
        if base is x:
            return
        if not base.is_contiguous():
            raise RuntimeError(
                "vjp: the function writes to a part of a tensor that is not contiguous and does "
                "not depend on its inputs. Write to a contiguous() copy."
            )
        place = (x.shape, x.stride(), x.storage_offset() - base.storage_offset())
        self._note(_core.as_strided, (base, *place), {}, x)

    def replay(self, inputs: Sequence[Tensor], outputs: Iterable[Tensor]) -> list[Tensor]:
        """What the outputs are for other inputs."""
        now = {id(old): new for old, new in zip(self._inputs, inputs, strict=True)}

        def current(x: Tensor) -> Tensor:
            return now.get(id(x), x)

        for func, args, kwargs, result in self._entries:
            given = map_tensors(current, args)
            named = {name: map_tensors(current, value) for name, value in kwargs.items()}
            again = func(*given, **named)
            own = {id(x) for x in tensors_in((*args, *kwargs.values()))}
            for old, new in zip(tensors_in((result,)), tensors_in((again,)), strict=True):
                # contiguous() gave back its argument: what is a copy now must not replace that.
                if id(old) not in own:
                    now[id(old)] = new
        return [current(y) for y in outputs]


def _how_to_repeat(func: Callable[..., Any]) -> Callable[..., Any]:
    """The operation, or what must be done in its place where it is done again."""
    if func is leave_level:
        return lambda x, leaves: x  # nobody looks for the history of a copy
    if func is apply_function:
        return lambda function, ctx, args, kwargs: function.apply(*args, **kwargs)
    return repeatable(func)

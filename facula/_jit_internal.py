"""Marks for PyTorch's own compiler, which keep the Python function as it is.

There is no second language here that a function would be compiled to: ``script`` and its marks
return what they are given, and :func:`is_scripting` is always False.
"""

from __future__ import annotations

import contextlib
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar, Union, get_args, get_origin

from facula._warnings import warn_user
from facula.futures import Future

__all__ = [
    "Await",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Final",
    "FunctionModifiers",
    "Future",
    "boolean_dispatch",
    "export",
    "ignore",
    "is_ignored_fn",
    "is_scripting",
    "unused",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_T = TypeVar("_T")


class FunctionModifiers:
    """What a mark such as :func:`unused` leaves on a function, as ``_torchscript_modifier``."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def _mark(function: Any, modifier: str) -> Any:
    # A bound function of the core has no attributes to set; nothing here reads the mark.
    with contextlib.suppress(AttributeError):
        function._torchscript_modifier = modifier
    return function


def export(fn: _Function) -> _Function:
    """Mark a method as an entry point of a scripted module; it stays the Python function.

    Args:
        fn: the method.

    Example:
        >>> class Net(facula.nn.Module):
        ...     @facula.jit.export
        ...     def double(self, x):
        ...         return 2 * x
        >>> Net().double(3)
        6
    """
    return _mark(fn, FunctionModifiers.EXPORT)  # type: ignore[no-any-return]


def unused(fn: _Function) -> _Function:
    """Mark a method that a scripted module would not call; it stays the Python function.

    Args:
        fn: the method, or a property.

    Example:
        >>> @facula.jit.unused
        ... def show(x):
        ...     return f"{x} is seen"
        >>> show(3)
        '3 is seen'
    """
    if isinstance(fn, property):
        for accessor in (fn.fget, fn.fset):
            if accessor is not None:
                _mark(accessor, FunctionModifiers.UNUSED)
        return fn
    return _mark(fn, FunctionModifiers.UNUSED)  # type: ignore[no-any-return]


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a function to be left to Python, as all functions are here.

    Used as ``@ignore``, ``@ignore()`` or ``@ignore(drop=True)``.

    Args:
        drop: whether a scripted module would raise where it calls the function; or the function.
        kwargs: ``drop_on_export``, the older name of ``drop``.

    Example:
        >>> @facula.jit.ignore
        ... def show(x):
        ...     return f"{x} is seen"
        >>> show(3)
        '3 is seen'
    """
    if callable(drop):
        return _mark(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(f"jit.ignore: expected a bool or a function, got {drop!r}.")
    if "drop_on_export" in kwargs:
        warn_user(
            "ignore(drop_on_export=True) has been deprecated; use @jit.unused.",
            FutureWarning,
        )
        drop = kwargs["drop_on_export"]
    modifier = FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE
    return lambda function: _mark(function, modifier)


def _drop(fn: _Function) -> _Function:
    return _mark(fn, FunctionModifiers._DROP)  # type: ignore[no-any-return]


def _copy_to_script_wrapper(fn: _Function) -> _Function:
    return _mark(fn, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)  # type: ignore[no-any-return]


def get_torchscript_modifier(fn: Any) -> str:
    """The mark that a function was given, ``FunctionModifiers.DEFAULT`` without one."""
    fn = getattr(fn, "__func__", fn)
    return getattr(fn, "_torchscript_modifier", FunctionModifiers.DEFAULT)


def is_ignored_fn(fn: Any) -> bool:
    """Whether a function was marked with :func:`ignore` or :func:`unused`.

    Args:
        fn: the function.
    """
    marks = (FunctionModifiers.UNUSED, FunctionModifiers.IGNORE, FunctionModifiers._DROP)
    return get_torchscript_modifier(fn) in marks


def is_scripting() -> bool:
    """Whether the code runs compiled by ``jit.script``: never, it is Python that runs.

    Example:
        >>> facula.jit.is_scripting()
        False
    """
    return False


def _overload(func: _Function) -> _Function:
    """A declaration of one more signature: the last definition of the name is what runs."""
    return func


def _overload_method(func: _Function) -> _Function:
    """A declaration of one more signature of a method."""
    return func


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that is one of two others, by one of its arguments.

    Args:
        arg_name: the argument's name.
        arg_index: its place among the arguments without a name.
        default: its value where it is not given.
        if_true: the function for a true value.
        if_false: the function for a false value.
        module_name: the module that the new function belongs to, or None.
        func_name: its name, or None.

    Example:
        >>> from facula._jit_internal import boolean_dispatch
        >>> names = lambda x, both=False: (x, "both")
        >>> name = lambda x, both=False: x
        >>> function = boolean_dispatch("both", 1, False, names, name, "here", "function")
        >>> function("a"), function("a", True)
        ('a', ('a', 'both'))
    """

    def fn(*args: Any, **kwargs: Any) -> Any:
        chosen = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    docs = [f.__doc__ for f in (if_true, if_false) if f.__doc__]
    fn.__doc__ = docs[0] if docs else None
    fn.__module__ = module_name or fn.__module__
    fn.__name__ = func_name or fn.__name__
    return fn


class BroadcastingListCls:
    """``BroadcastingList2[int]`` in an annotation: one number, or as many as the name says."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1: Any = BroadcastingListCls()
BroadcastingList2: Any = BroadcastingListCls()
BroadcastingList3: Any = BroadcastingListCls()
BroadcastingList4: Any = BroadcastingListCls()
BroadcastingList5: Any = BroadcastingListCls()
BroadcastingList6: Any = BroadcastingListCls()


class Await(Generic[_T]):
    """A call that waits to be made until its result is asked for, as ``jit._awaitable`` makes it.

    Args:
        function: gives the result.
    """

    def __init__(self, function: Callable[[], _T]) -> None:
        self._function = function
        self._result: list[_T] = []

    def wait(self) -> _T:
        """The result, computed at the first call."""
        if not self._result:
            self._result.append(self._function())
        return self._result[0]


def _contained(obj: Any, target: Any) -> bool:
    """Whether an object is of a type with parameters, every item included."""
    origin, args = get_origin(target), get_args(target)
    if origin in (Union, types.UnionType):
        return any(_isinstance(obj, arg) for arg in args)
    if not isinstance(obj, origin):
        return False
    if not args:
        return True
    if isinstance(obj, (list, tuple, dict)) and not obj:
        warn_user(
            "jit.isinstance: an empty container has no items to tell its type by; it is taken for "
            f"one of {target}.",
        )
        return True
    if isinstance(obj, dict):
        return all(_isinstance(k, args[0]) and _isinstance(v, args[1]) for k, v in obj.items())
    if isinstance(obj, tuple):
        if len(args) == 2 and args[1] is ...:
            return all(_isinstance(item, args[0]) for item in obj)
        return len(args) == len(obj) and all(map(_isinstance, obj, args))
    if isinstance(obj, list):
        return all(_isinstance(item, args[0]) for item in obj)
    if isinstance(obj, Future):
        return not obj.done() or _isinstance(obj.value(), args[0])
    return True


# Without the type of what is in them these say nothing of an object.
_BARE = {
    list: "list",
    dict: "dict",
    tuple: "tuple",
    typing.List: "List",  # noqa: UP006
    typing.Dict: "Dict",  # noqa: UP006
    typing.Tuple: "Tuple",  # noqa: UP006
    typing.Optional: "Optional",
}


def _isinstance(obj: Any, target_type: Any) -> bool:
    if isinstance(target_type, tuple):
        return any(_isinstance(obj, each) for each in target_type)
    if isinstance(target_type, (list, dict, set)):
        raise RuntimeError(
            "jit.isinstance: the second argument must be a type or a tuple of types, "
            f"got {target_type!r}."
        )
    if target_type in _BARE:
        name = _BARE[target_type]
        raise RuntimeError(
            f"jit.isinstance: {name} without a contained type says nothing of the items. "
            f"Write {name}[int], for example."
        )
    if target_type is None:
        return obj is None
    if get_origin(target_type) is not None:
        return _contained(obj, target_type)
    return isinstance(obj, target_type)


@contextlib.contextmanager
def _disable_emit_hooks() -> Iterator[None]:
    """Nothing is emitted here, so that there is nothing to turn off."""
    yield


def _qualified_name(obj: Any, mangle_name: bool = True) -> str:
    """The full name of a class or function, as PyTorch's compiler writes it."""
    module = getattr(inspect.unwrap(obj), "__module__", None) or "__main__"
    name = getattr(obj, "__qualname__", None) or obj.__name__
    if name == "<lambda>":
        name = "_lambda"
    return f"{'__torch__.' + module if mangle_name and module == '__main__' else module}.{name}"

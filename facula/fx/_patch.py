"""Attributes that are replaced while a program is traced, and set back at the end; and fx.wrap."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from facula import _one_step
from facula.fx.node import map_aggregate
from facula.fx.proxy import Proxy

_Function = TypeVar("_Function", bound=Callable[..., Any] | str)

_wrapped_fns_to_patch = _one_step.marked
# Classes with the name of a method that is recorded as a call.
_wrapped_methods_to_patch: list[tuple[type, str]] = []

_MISSING = object()


class Patcher:
    """Replaces attributes and globals, each once, and sets them back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._done: set[tuple[int, str]] = set()

    def patch(self, namespace: dict[str, Any], name: str, new: Any) -> None:
        """Replace a global; one that was not there is taken away at the end."""
        if (id(namespace), name) in self._done:
            return
        self._done.add((id(namespace), name))
        before = namespace.get(name, _MISSING)
        namespace[name] = new

        def undo() -> None:
            if before is _MISSING:
                namespace.pop(name, None)
            else:
                namespace[name] = before

        self._undo.append(undo)

    def patch_method(self, cls: type, name: str, new: Any) -> None:
        """Replace a method of a class; one that is inherited is so again at the end."""
        if (id(cls), name) in self._done:
            return
        self._done.add((id(cls), name))
        before = cls.__dict__.get(name, _MISSING)
        setattr(cls, name, new)

        def undo() -> None:
            if before is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, before)

        self._undo.append(undo)

    def visit_once(self, namespace: Any) -> bool:
        """True the first time that a namespace is seen."""
        key = (id(namespace), "")
        is_new = key not in self._done
        self._done.add(key)
        return is_new

    def undo_all(self) -> None:
        while self._undo:
            self._undo.pop()()

    @contextmanager
    def active(self) -> Iterator[Patcher]:
        """The context at whose end everything is set back."""
        try:
            yield self
        finally:
            self.undo_all()


def find_proxy(*objects: Any) -> Proxy | None:
    """The first proxy among arguments."""
    found: list[Proxy] = []

    def note(x: Any) -> Any:
        if isinstance(x, Proxy) and not found:
            found.append(x)
        return x

    map_aggregate(objects, note)
    return found[0] if found else None


def recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose call is recorded instead of what it does if a proxy is given to it."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped


def recorded_method(cls: type, name: str) -> Callable[..., Any]:
    """The method, whose call is recorded if a proxy is given to it."""
    method = getattr(cls, name)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def patch_wrapped(patcher: Patcher) -> None:
    """Let the functions and methods that fx.wrap was told of be recorded."""
    for (_, name), namespace in list(_wrapped_fns_to_patch.items()):
        function = namespace.get(name, getattr(builtins, name, None))
        if function is None:
            raise NameError(f"fx.wrap: there is no function {name!r} in the module that named it.")
        patcher.patch(namespace, name, recorded(function))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, recorded_method(cls, name))


def autowrap(patcher: Patcher, namespace: dict[str, Any], function_ids: set[int]) -> None:
    """Let the globals that are functions of the given ids be recorded."""
    if not patcher.visit_once(namespace):
        return
    for name, value in list(namespace.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(namespace, name, recorded(value))


def wrap(fn_or_name: _Function) -> _Function:
    """Let calls of a function be recorded as one step, rather than what the function does.

    Call it at the top of the module that calls the function, or decorate the function with it
    there. It is for functions that decide by the values of their arguments, and for functions of
    Python that proxies do not work with, such as ``len``.

    Args:
        fn_or_name: the function, or the name that it has in the module.

    Example:
        >>> import sys, types
        >>> module = types.ModuleType("my_module")
        >>> exec('''
        ... import facula
        ... facula.fx.wrap("len")
        ... @facula.fx.wrap
        ... def clip(x):
        ...     return x if x.sum() > 0 else -x
        ... def f(x):
        ...     return clip(x) * len(x)
        ... ''', module.__dict__)
        >>> [node.name for node in facula.fx.symbolic_trace(module.f).graph.nodes]
        ['x', 'clip', 'len_1', 'mul', 'output']
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name, got "
            f"{type(fn_or_name).__name__}."
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    current = inspect.currentframe()
    caller = current.f_back if current is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name

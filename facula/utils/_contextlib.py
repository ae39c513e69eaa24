"""Contexts that are decorators too, of functions, generators and classes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

from facula._warnings import warn_user

__all__ = ["context_decorator"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def context_decorator(ctx: Any, func: Any) -> Any:
    """A function, or the methods of a class, each call of which runs in a context of its own.

    Args:
        ctx: makes the context, or is one that can be entered more than once.
        func: the function or class.
    """
    if not callable(ctx) and not hasattr(ctx, "__enter__"):
        raise AssertionError(f"context_decorator: expected a context manager, got {ctx!r}.")
    # A context that can also be called is entered itself: it is no factory.
    factory = (lambda: ctx) if hasattr(ctx, "__enter__") else ctx
    if inspect.isclass(func):
        raise RuntimeError(
            "context_decorator: a class cannot be decorated. Decorate its __init__, or use the "
            "context in a with block."
        )
    if inspect.isgeneratorfunction(func):
        return _wrap_generator(factory, func)

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with factory():
            return func(*args, **kwargs)

    return decorated


def _wrap_generator(ctx_factory: Callable[[], Any], func: Callable[..., Any]) -> Any:
    """A generator function whose code runs in the context, and whose caller does not."""

    @functools.wraps(func)
    def generator(*args: Any, **kwargs: Any) -> Any:
        inner = func(*args, **kwargs)
        try:
            with ctx_factory():
                value = inner.send(None)
            while True:
                try:
                    received = yield value
                except GeneratorExit:
                    with ctx_factory():
                        inner.close()
                    raise
                except BaseException as error:
                    with ctx_factory():
                        value = inner.throw(error)
                else:
                    with ctx_factory():
                        value = inner.send(received)
        except StopIteration as end:
            return end.value

    return generator


class _DecoratorContextManager:
    """A context manager that decorates functions; each call has a copy of it."""

    def __call__(self, orig_func: _Function) -> _Function:
        if inspect.isclass(orig_func):
            warn_user(
                "Decorating classes is deprecated. You should only decorate functions or methods.",
                FutureWarning,
            )
            original = orig_func

            @functools.wraps(orig_func)
            def make(*args: Any, **kwargs: Any) -> Any:
                with self.clone():
                    return original(*args, **kwargs)

            return cast(_Function, make)
        return cast(_Function, context_decorator(self.clone, orig_func))

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> AbstractContextManager[Any]:
        """A context of the same kind; a subclass with arguments passes them on."""
        return cast(AbstractContextManager[Any], self.__class__())


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same, which also decorates without brackets."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)

"""Switches of gradient recording, usable as context managers and as decorators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from types import FunctionType, MethodType, TracebackType
from typing import Any, TypeVar, cast, overload

from facula import _core

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

# The flag of a code object that marks generator functions, as inspect names it.
_CO_GENERATOR = 0x20

_F = TypeVar("_F", bound=Callable[..., Any])
_Self = TypeVar("_Self", bound="_Mode")


class _Mode:
    """A context manager whose instances also decorate functions, generators and classes."""

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        raise NotImplementedError

    def clone(self: _Self) -> _Self:
        """A fresh manager with the same arguments, one for each call of a decorated function."""
        return type(self)()

    def __call__(self, func: _F) -> _F:
        if _is_generator_function(func):
            return cast(_F, _wrap_generator(self.clone, func))

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return func(*args, **kwargs)

        return cast(_F, wrapper)


def _is_generator_function(func: Any) -> bool:
    """A twin of the function in ``inspect``, which is slow to import."""
    while isinstance(func, (functools.partial, MethodType)):
        func = func.func if isinstance(func, functools.partial) else func.__func__
    return isinstance(func, FunctionType) and bool(func.__code__.co_flags & _CO_GENERATOR)


class _BareMode(_Mode):
    """A mode without arguments: ``@no_grad`` means the same as ``@no_grad()``."""

    @overload
    def __new__(cls, orig_func: None = None) -> _BareMode: ...
    @overload
    def __new__(cls, orig_func: _F) -> _F: ...  # type: ignore[misc]
    def __new__(cls, orig_func: Any = None) -> Any:
        mode = super().__new__(cls)
        return mode if orig_func is None else mode(orig_func)


def _wrap_generator(
    new_mode: Callable[[], _Mode], func: Callable[..., Generator[Any, Any, Any]]
) -> Callable[..., Generator[Any, Any, Any]]:
    """Enter the mode while the generator's own code runs, and leave it at every ``yield``."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = func(*args, **kwargs)
        resume: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with new_mode():
                    produced = resume()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield produced
            except GeneratorExit:
                with new_mode():
                    generator.close()
                raise
            except BaseException as exc:
                resume = functools.partial(generator.throw, exc)
            else:
                resume = functools.partial(generator.send, sent)

    return wrapper


def _may_record(mode: bool) -> bool:
    """In inference mode nothing switches recording on: what is made there can enter no graph.

    Where it is on, for a transform of ``func``, it may stay.
    """
    return mode and (_core.is_grad_enabled() or not _core.is_inference_mode_enabled())


class no_grad(_BareMode):
    """Records no graph: results inside have ``requires_grad=False``.

    Example:
        >>> x = facula.ones(1, requires_grad=True)
        >>> with facula.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __enter__(self) -> None:
        self._previous = _core.is_grad_enabled()
        _core._set_grad_enabled(False)

    def __exit__(self, *exc_info: object) -> None:
        _core._set_grad_enabled(self._previous)


class enable_grad(_BareMode):
    """Records the graph again inside a ``no_grad`` block.

    Example:
        >>> x = facula.ones(1, requires_grad=True)
        >>> with facula.no_grad():
        ...     with facula.enable_grad():
        ...         y = x * 2
        >>> y.requires_grad
        True
    """

    def __enter__(self) -> None:
        self._previous = _core.is_grad_enabled()
        _core._set_grad_enabled(_may_record(True))

    def __exit__(self, *exc_info: object) -> None:
        _core._set_grad_enabled(self._previous)


class _transform_grad(enable_grad):
    """Records in inference mode too: the graph of a transform ends with the transform."""

    def __enter__(self) -> None:
        super().__enter__()
        _core._set_grad_enabled(True)


class set_grad_enabled(_Mode):
    """Records the graph or not, by a flag; as a plain call it takes effect at once.

    Args:
        mode: whether operations are recorded.

    Example:
        >>> x = facula.ones(1, requires_grad=True)
        >>> with facula.set_grad_enabled(False):
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __init__(self, mode: bool) -> None:
        self._previous = _core.is_grad_enabled()
        self.mode = mode
        _core._set_grad_enabled(_may_record(mode))

    def __call__(self, func: _F) -> _F:
        # Construction has already switched; a decorator must leave the caller's mode alone.
        _core._set_grad_enabled(self._previous)
        return super().__call__(func)

    def __enter__(self) -> None:
        _core._set_grad_enabled(_may_record(self.mode))

    def __exit__(self, *exc_info: object) -> None:
        _core._set_grad_enabled(self._previous)

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __str__(self) -> str:
        return f"facula.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_Mode):
    """Like ``no_grad``, and its results may never enter a graph later.

    Args:
        mode: whether inference mode is on; False switches it off inside an outer block.

    Example:
        >>> x = facula.ones(1, requires_grad=True)
        >>> with facula.inference_mode():
        ...     y = x * 2
        >>> y.is_inference()
        True
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        _core._push_inference_mode(self.mode)

    def __exit__(self, *exc_info: object) -> None:
        _core._pop_inference_mode()

    def clone(self) -> inference_mode:
        return type(self)(self.mode)


class set_multithreading_enabled(_Mode):
    """Accepted for compatibility: the engine always runs in the calling thread.

    Args:
        mode: anything; it changes nothing.

    Example:
        >>> x = facula.tensor(2.0, requires_grad=True)
        >>> with facula.autograd.set_multithreading_enabled(False):
        ...     (x * x).backward()
        >>> x.grad
        tensor(4.)
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        pass

    def clone(self) -> set_multithreading_enabled:
        return type(self)(self.mode)


class enforce_grad_layout_policy:
    """Switch whether gradients get the layout of their parameters; they keep the one they come in.

    At once, or for a ``with`` block.

    Args:
        enable: what is asked for.

    Example:
        >>> with facula.autograd.enforce_grad_layout_policy(False):
        ...     facula.ones(2, requires_grad=True).sum().backward()
    """

    def __init__(self, enable: bool = True) -> None:
        self.mode = enable

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

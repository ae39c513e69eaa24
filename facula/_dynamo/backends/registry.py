"""Backends that programs register: they are kept, and nothing is compiled with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["list_backends", "lookup_backend", "register_backend"]

_BACKENDS: dict[str, Callable[..., Any]] = {}
_TAGS: dict[str, tuple[str, ...]] = {}


def register_backend(
    compiler_fn: Callable[..., Any] | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
) -> Callable[..., Any]:
    """Keep a backend by its name; used as a function or a decorator.

    Args:
        compiler_fn: the backend; None for a decorator.
        name: its name, by default the function's.
        tags: words on its kind.
    """
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise AssertionError(
            f"register_backend: expected a function, got {type(compiler_fn).__name__}."
        )
    own = name or compiler_fn.__name__
    if own in _BACKENDS:
        raise AssertionError(f"register_backend: there is a backend {own!r} already.")
    _BACKENDS[own], _TAGS[own] = compiler_fn, tuple(tags)
    return compiler_fn


def lookup_backend(compiler_fn: str | Callable[..., Any]) -> Callable[..., Any]:
    """A backend that was registered, by its name.

    Args:
        compiler_fn: the name; a function is returned as it is.
    """
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _BACKENDS:
        from facula.compiler import InvalidBackend

        raise InvalidBackend(f"lookup_backend: no backend {compiler_fn!r} was registered.")
    return _BACKENDS[compiler_fn]


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names of the backends that were registered.

    Args:
        exclude_tags: kinds of backends to leave out.
    """
    excluded = set(exclude_tags or ())
    return sorted(name for name in _BACKENDS if not excluded & set(_TAGS[name]))

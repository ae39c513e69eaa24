"""Which implementation attention may use.

On the CPU there is one that serves all inputs: the choice is checked, kept and reported, and
changes nothing.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import Any

from facula._lazy import lazy_modules

__all__ = [
    "SDPBackend",
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
    "sdpa_kernel",
]

__getattr__ = lazy_modules(__name__, "bias", "flex_attention")


class SDPBackend(enum.Enum):
    """Implementations of :func:`facula.nn.functional.scaled_dot_product_attention`.

    Example:
        >>> from facula.nn.attention import SDPBackend
        >>> SDPBackend.MATH.name
        'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[None]:
    """A context in which attention uses only these implementations.

    Args:
        backends: the implementation that may be used, or a list of several.
        set_priority: whether the order of the implementations is that of preference.

    Example:
        >>> from facula.nn.attention import SDPBackend, sdpa_kernel
        >>> x = facula.ones(1, 1, 2, 2)
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     facula.nn.functional.scaled_dot_product_attention(x, x, x).shape
        torch.Size([1, 1, 2, 2])
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(chosen, list) or not all(isinstance(b, SDPBackend) for b in chosen):
        raise AssertionError(
            f"sdpa_kernel: expected one SDPBackend or a list of several, got {backends!r}."
        )
    yield


_registered: dict[str, Callable[..., Any]] = {}
_active: list[tuple[str, Any]] = []


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Keep a function that puts another implementation of flash attention in place.

    Args:
        impl: its name.
        register_fn: called by :func:`activate_flash_attention_impl`; may return an object whose
            method ``remove`` undoes it.
    """
    _registered[impl] = register_fn


def list_flash_attention_impls() -> list[str]:
    """The names that were registered.

    Example:
        >>> facula.nn.attention.list_flash_attention_impls()
        []
    """
    return sorted(_registered)


def activate_flash_attention_impl(impl: str) -> None:
    """Call the function that was registered for a name.

    Args:
        impl: the name.
    """
    if impl not in _registered:
        raise ValueError(
            f"activate_flash_attention_impl: expected one of {list_flash_attention_impls()}, got "
            f"{impl!r}."
        )
    restore_flash_attention_impl()
    _active.append((impl, _registered[impl]()))


def current_flash_attention_impl() -> str | None:
    """The name that is active; None for the implementation of the package.

    Example:
        >>> facula.nn.attention.current_flash_attention_impl() is None
        True
    """
    return _active[-1][0] if _active else None


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Undo what :func:`activate_flash_attention_impl` did."""
    while _active:
        _, handle = _active.pop()
        if hasattr(handle, "remove"):
            handle.remove()

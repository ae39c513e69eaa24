"""Modules without initial values."""

from __future__ import annotations

from typing import Any

import facula
from facula.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """A module whose parameters have undefined values, made without a random number.

    For modules that get their values elsewhere, from a file for example.

    Args:
        module_cls: a class of modules whose constructor takes ``device``.
        args: positional arguments for the class.
        kwargs: keyword arguments for the class.

    Example:
        >>> from facula import nn
        >>> state = facula.get_rng_state()
        >>> nn.utils.skip_init(nn.Linear, 2, 3)
        Linear(in_features=2, out_features=3, bias=True)
        >>> bool((facula.get_rng_state() == state).all())
        True
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init: expected a Module class, got {module_cls!r}.")
    import inspect  # here, because its import is slow

    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(
            "skip_init: expected a class whose constructor takes device, got "
            f"{module_cls.__name__}."
        )
    device = kwargs.pop("device", None) or facula.get_default_device()
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)

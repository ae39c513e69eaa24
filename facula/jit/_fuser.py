"""Switches of PyTorch's fusers: kept for the scripts that set them, and without an effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = [
    "enable_onednn_fusion",
    "fuser",
    "onednn_fusion_enabled",
    "optimized_execution",
    "set_fusion_strategy",
    "strict_fusion",
]

_is_onednn_enabled = False
_strategy: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block in which TorchScript would be optimised, or not.

    Args:
        should_optimize: which of the two.
    """
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """A block in which one of PyTorch's fusers would be used.

    Args:
        name: ``"fuser0"`` to ``"fuser3"``.
    """
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"jit.fuser: expected 'fuser0' to 'fuser3', got {name!r}.")
    yield


def enable_onednn_fusion(enabled: bool) -> None:
    """Keep whether oneDNN may fuse operations.

    Args:
        enabled: what :func:`onednn_fusion_enabled` will say.
    """
    global _is_onednn_enabled
    _is_onednn_enabled = enabled


def onednn_fusion_enabled() -> bool:
    """What :func:`enable_onednn_fusion` was given last."""
    return _is_onednn_enabled


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Keep how often a fused function would be specialised; returns what was kept before.

    Args:
        strategy: pairs of ``"STATIC"`` or ``"DYNAMIC"`` and a number.
    """
    global _strategy
    if any(kind not in ("STATIC", "DYNAMIC") for kind, _ in strategy):
        raise RuntimeError(
            f"jit.set_fusion_strategy: expected 'STATIC' or 'DYNAMIC', got {strategy!r}."
        )
    before, _strategy = _strategy, list(strategy)
    return before


class strict_fusion:
    """A block that would warn in TorchScript of what was not fused; in Python it does nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

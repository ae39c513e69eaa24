"""Calls of functions in other processes: nothing is initialised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__: list[str] = []


def _is_current_rpc_agent_set() -> bool:
    """Whether functions can be called in other processes: no."""
    return False


def _require_initialized(func: Callable[..., Any]) -> Callable[..., NoReturn]:
    """The function, which refuses as long as nothing is initialised."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("RPC has not been initialized. It is not part of Facula.")

    return refuse

"""Whether indices are checked when a sparse tensor is made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_is_enabled = False


class check_sparse_tensor_invariants:
    """Checks of the indices that sparse tensors are made of: in range, sorted where they must be.

    They are off by default, since they look at every index; operations refuse indices that are out
    of range in any case. As a context or a decorator it sets the checks for a time.

    Args:
        enable: whether indices are checked inside the context.

    Example:
        >>> with facula.sparse.check_sparse_tensor_invariants():
        ...     facula.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,))
        Traceback (most recent call last):
        RuntimeError: size is inconsistent with indices: for dim 0, size is 3 but found index 5
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are checked now."""
        return _is_enabled

    @staticmethod
    def enable() -> None:
        """Check indices from now on."""
        _set(True)

    @staticmethod
    def disable() -> None:
        """Check indices no longer."""
        _set(False)

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "check_sparse_tensor_invariants: this context is entered already. Make another one."
            )
        self.saved_state = _is_enabled
        _set(self.state)

    def __exit__(self, *error: Any) -> None:
        saved, self.saved_state = self.saved_state, None
        _set(bool(saved))

    def __call__(self, function: _Function) -> _Function:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked  # type: ignore[return-value]


def _set(value: bool) -> None:
    global _is_enabled
    _is_enabled = value

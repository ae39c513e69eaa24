"""The device that new tensors are made on, as a context."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from facula import _core

__all__ = ["DeviceContext", "device_decorator", "set_device"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class DeviceContext:
    """A block in which tensors are made on a device, as ``with device(...)`` is.

    Args:
        device: the device.

    Example:
        >>> from facula.utils._device import DeviceContext
        >>> with DeviceContext("meta"):
        ...     facula.ones(2).device
        device(type='meta')
    """

    def __init__(self, device: Any) -> None:
        self.device = _core.device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.device.__exit__(*error)


def device_decorator(device: Any, func: _Function) -> _Function:
    """A function in which tensors are made on a device.

    Args:
        device: the device.
        func: the function.
    """

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with _core.device(device):
            return func(*args, **kwargs)

    return decorated  # type: ignore[return-value]


def set_device(device: Any) -> Callable[[_Function], _Function]:
    """A decorator of functions in which tensors are made on a device.

    Args:
        device: the device.
    """
    return lambda func: device_decorator(_core.device(device), func)

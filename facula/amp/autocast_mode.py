"""``autocast``: blocks in which each operation runs in the dtype that suits it.

Which dtype that is stands in ``core/tables/autocast.def``, and the casts are made where all
operations enter (``core/bind/autocast.cpp``). Here are the switches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from facula import _core, cuda
from facula._core import Tensor
from facula._warnings import warn_user

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_F = TypeVar("_F", bound=Callable[..., Any])
_Autocast = TypeVar("_Autocast", bound="autocast")


def is_autocast_available(device_type: str) -> bool:
    """Whether :class:`autocast` knows a kind of device.

    Args:
        device_type: the kind of device, such as ``"cpu"`` or ``"cuda"``.

    Example:
        >>> facula.amp.is_autocast_available("cpu")
        True
    """
    return _core._is_autocast_available(device_type)


class autocast:
    """A block, or a decorated function, that runs in mixed precision.

    Products and convolutions get their tensors in a dtype of 16 bits, operations that need more
    get them in float32, and the others take what they are given. Tensors of float64 and on other
    devices stay as they are, and so do operations in place or with ``out=``. The casts are
    recorded: backward, which belongs outside of the block, runs in the same dtypes. The state is
    the thread's own.

    Args:
        device_type: the kind of device whose tensors are cast, ``"cpu"`` or ``"cuda"``.
        dtype: the dtype of 16 bits, ``facula.bfloat16`` or ``facula.float16``; None for
            :func:`facula.get_autocast_dtype`.
        enabled: whether the block casts; False switches it off inside another one.
        cache_enabled: whether a weight that is used twice is cast once. What was cast is dropped
            at the end of the outermost block.

    Example:
        >>> x, weight = facula.ones(2, 3), facula.ones(3, 4)
        >>> with facula.autocast("cpu", dtype=facula.bfloat16):
        ...     y = x @ weight
        ...     loss = facula.nn.functional.mse_loss(y, facula.zeros(2, 4))
        >>> y.dtype, loss.dtype
        (torch.bfloat16, torch.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: _core.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _checked("autocast", device_type)
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"autocast: expected device_type 'cpu' or 'cuda', got {device_type!r} "
                "(unsupported autocast device_type)."
            )
        self.fast_dtype = _core.get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = enabled and self._can_be_enabled()
        self._cache_enabled = (
            _core.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )

    def _can_be_enabled(self) -> bool:
        if self.device == "cuda":
            if not cuda.is_available():
                _warn("autocast: CUDA is not available. Disabling autocast.")
                return False
            return True
        if self.fast_dtype in (_core.bfloat16, _core.float16):
            return True
        _warn(
            f"autocast: In {self.device.upper()} autocast, but the target dtype is not supported: "
            f"expected bfloat16 or float16, got {self.fast_dtype}. Disabling autocast."
        )
        return False

    def __enter__(self: _Autocast) -> _Autocast:
        # What was before is kept by the thread: one object may be entered again inside of itself,
        # and by several threads.
        _core._enter_autocast(self.device, self._enabled, self.fast_dtype, self._cache_enabled)
        return self

    def __exit__(self, *exc_info: object) -> None:
        _core._exit_autocast()

    def __call__(self, func: _F) -> _F:
        if not callable(func):
            raise TypeError(
                f"autocast: expected a function to decorate, got {type(func).__name__}. Was "
                "`with autocast(...):` meant?"
            )
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: _F) -> _F:
    """The function, run in a block of ``autocast_instance`` whenever it is called.

    Example:
        >>> product = facula.amp.autocast_mode.autocast_decorator(
        ...     facula.autocast("cpu"), lambda a, b: a @ b
        ... )
        >>> product(facula.ones(2, 2), facula.ones(2, 2)).dtype
        torch.bfloat16
    """

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return cast(_F, decorated)


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: _core.dtype | None = None,
) -> Callable[..., Any]:
    """Decorate ``forward`` of an ``autograd.Function`` that is used with :class:`autocast`.

    Args:
        fwd: the static method ``forward(ctx, ...)``.
        device_type: the kind of device whose autocast is meant, ``"cpu"`` or ``"cuda"``.
        cast_inputs: the dtype that tensors of floating point are cast to in a block of autocast,
            where the function then runs without autocast; None to run it as any other function.

    Example:
        >>> class Product(facula.autograd.Function):
        ...     @staticmethod
        ...     @facula.amp.custom_fwd(device_type="cpu", cast_inputs=facula.float32)
        ...     def forward(ctx, a, b):
        ...         ctx.save_for_backward(a, b)
        ...         return a @ b
        ...     @staticmethod
        ...     @facula.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         a, b = ctx.saved_tensors
        ...         return grad @ b.T, a.T @ grad
        >>> x = facula.ones(2, 2, dtype=facula.bfloat16)
        >>> with facula.autocast("cpu"):
        ...     Product.apply(x, x).dtype
        torch.float32
    """
    _checked("custom_fwd", device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward = fwd

    @functools.wraps(forward)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        is_on = _core.is_autocast_enabled(device_type)
        ctx._dtype = _core.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if not is_on or cast_inputs is None:
            return forward(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return forward(
                ctx,
                *_cast(args, device_type, cast_inputs),
                **_cast(kwargs, device_type, cast_inputs),
            )

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate ``backward`` of a Function whose ``forward`` has :func:`custom_fwd`.

    It then runs with the autocast that ``forward`` ran with; see the example there.

    Args:
        bwd: the static method ``backward(ctx, ...)``.
        device_type: the kind of device whose autocast is meant, ``"cpu"`` or ``"cuda"``.
    """
    _checked("custom_bwd", device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return backward(ctx, *args, **kwargs)

    return decorated


def _checked(name: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(
            f"{name}: expected device_type as a str, 'cpu' or 'cuda', got "
            f"{type(device_type).__name__}."
        )
    return device_type


def _warn(text: str) -> None:
    # Above _can_be_enabled and __init__.
    warn_user(text)


def _cast(value: Any, device_type: str, dtype: _core.dtype) -> Any:
    """The value with its tensors cast, also those in containers."""
    if isinstance(value, Tensor):
        is_eligible = (
            value.is_floating_point()
            and value.device.type == device_type
            and value.dtype != _core.float64
        )
        return value.to(dtype) if is_eligible else value
    if isinstance(value, Mapping):
        return {
            _cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()
        }
    # Arrays of NumPy, strings and the like are data of the function.
    if isinstance(value, Iterable) and not hasattr(value, "__array__"):
        if isinstance(value, (str, bytes)):
            return value
        items = (_cast(v, device_type, dtype) for v in value)
        if not isinstance(value, (list, tuple)):
            return items
        # A named tuple takes its fields one by one.
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value

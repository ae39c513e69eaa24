"""Modes and classes that see operations as those of PyTorch's core, by ``__torch_dispatch__``.

There is no level below autograd here: an operation that a mode or a class calls is recorded as it
is everywhere, and operations of the backward pass are not seen.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeGuard, runtime_checkable

from facula._core import Tensor
from facula._library._dispatch import ask_mode, push_mode
from facula.overrides import TorchFunctionMode

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class _Here(threading.local):
    """The modes of this thread that see operations, the outermost first."""

    def __init__(self) -> None:
        self.modes: list[TorchDispatchMode] = []


_here = _Here()


class TorchDispatchMode(TorchFunctionMode):
    """A context in which every operation of the thread is given to ``__torch_dispatch__``.

    The operations are overloads of ``ops.aten``. Those of the backward pass are not among them.

    Args:
        _dispatch_key: accepted for compatibility.

    Example:
        >>> from facula.utils._python_dispatch import TorchDispatchMode
        >>> class Log(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> x, weight = facula.ones(2, 3), facula.ones(4, 3)
        >>> with Log():
        ...     y = facula.nn.functional.linear(x, weight).relu()
        aten.t.default
        aten.mm.default
        aten.relu.default
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What is done instead of ``func(*args, **kwargs)``."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method __torch_dispatch__.")

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if self not in _here.modes:  # inside of _disable_current_modes
            return func(*args, **(kwargs or {}))
        return ask_mode(self, func, args, kwargs or {})

    def __enter__(self) -> Any:
        _here.modes.append(self)
        push_mode(self)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        _here.modes.remove(self)
        super().__exit__(kind, error, traceback)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that does what would be done without it."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a :class:`TorchDispatchMode` is active.

    Args:
        include_infra_modes: accepted for compatibility.
    """
    return bool(_here.modes)


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost mode."""
    return _here.modes[-1] if _here.modes else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """All modes, the outermost first."""
    return list(_here.modes)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """A block in which no mode sees operations."""
    before, _here.modes = _here.modes, []
    try:
        yield list(before)
    finally:
        _here.modes = before


@runtime_checkable
class TensorWithFlatten(Protocol):
    """A tensor that is made of others, and can be taken apart and made again."""

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        """The names of the tensors that it is made of, and what else it needs."""
        ...

    @staticmethod
    def __tensor_unflatten__(inner_tensors: Any, flatten_spec: Any, size: Any, stride: Any) -> Any:
        """The tensor made of others."""
        ...


def is_traceable_wrapper_subclass(t: object) -> TypeGuard[Any]:
    """Whether a tensor is made of others: its class has ``__tensor_flatten__`` and its inverse.

    Args:
        t: anything.

    Example:
        >>> from facula.utils._python_dispatch import is_traceable_wrapper_subclass
        >>> is_traceable_wrapper_subclass(facula.ones(2))
        False
    """
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a class.

    Args:
        t: the class.
    """
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor that is made of others, made anew of changed ones.

    Args:
        t: the tensor.
        callback: takes the name of an inner tensor and the tensor, and returns another.
        outer_size: the size of the result, by default that of ``t``.
        outer_stride: the strides of the result, by default those of ``t``.
    """
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result of an operation in place is the tensor that it was given.

    Args:
        func: the operation.
        args: its arguments.
        kwargs: its arguments by name.
        out: what a subclass has computed.
    """
    name = str(getattr(func, "_opname", None) or getattr(func, "__name__", ""))
    is_in_place = name.endswith("_") and not name.endswith("__")
    return args[0] if is_in_place and args else out

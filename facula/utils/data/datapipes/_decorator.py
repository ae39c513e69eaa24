"""Marks of classes of pipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from facula.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = [
    "argument_validation",
    "functional_datapipe",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "runtime_validation",
    "runtime_validation_disabled",
]

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_determinism = False


class functional_datapipe:
    """A decorator that makes a class of pipes a method of all pipes.

    Args:
        name: the method's name.
        enable_df_api_tracing: accepted for compatibility.

    Example:
        >>> from facula.utils.data import IterDataPipe, functional_datapipe
        >>> from facula.utils.data.datapipes.iter import IterableWrapper
        >>> @functional_datapipe("docs_twice")
        ... class Twice(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         for sample in self.source:
        ...             yield 2 * sample
        >>> list(IterableWrapper([1, 2]).docs_twice())
        [2, 4]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: _Class) -> _Class:
        for base in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, base):
                base.register_datapipe_as_function(self.name, cls)
                return cls
        raise TypeError(f"functional_datapipe: expected a class of pipes, got {cls!r}.")


class guaranteed_datapipes_determinism:
    """A block, or a call, after which pipes that are not deterministic are refused.

    Args:
        enabled: whether they are.
    """

    def __init__(self, enabled: bool = True) -> None:
        global _determinism
        self._before, _determinism = _determinism, enabled

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        global _determinism
        _determinism = self._before


def non_deterministic(arg: Any) -> Any:
    """Mark a class of pipes whose samples are not the same at each run.

    Args:
        arg: the class, or a function of its arguments that says whether they are.
    """

    def mark(cls: Any, is_random: Callable[..., bool]) -> Any:
        make = cls.__init__

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            if _determinism and is_random(*args, **kwargs):
                raise TypeError(f"{cls.__name__} is non-deterministic, which is not allowed now.")
            make(self, *args, **kwargs)

        cls.__init__ = __init__
        return cls

    if isinstance(arg, type):
        return mark(arg, lambda *args, **kwargs: True)
    return lambda cls: mark(cls, arg)


def argument_validation(f: _Function) -> _Function:
    """A constructor whose arguments PyTorch compares with their annotations: as it is.

    Args:
        f: the constructor.
    """
    return f


def runtime_validation(f: _Function) -> _Function:
    """An ``__iter__`` whose samples PyTorch compares with their annotation: as it is.

    Args:
        f: the method.
    """
    return f


class runtime_validation_disabled:
    """A block in which samples are not compared with annotations, as they never are."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

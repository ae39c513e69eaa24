"""The base classes of pipes, which have the registered steps as methods: ``pipe.map(f)``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from facula.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


def _found(pipe: Any, name: str) -> Callable[..., Any]:
    step = type(pipe).functions.get(name)
    if step is None:
        raise AttributeError(f"'{type(pipe).__name__}' object has no attribute '{name}'")
    return functools.partial(step, pipe)


def _register(functions: dict[str, Any], name: str, step: Any) -> None:
    if name in functions:
        raise Exception(f"Unable to add DataPipe function name {name} as it is already taken")
    functions[name] = step


def _one_pass(make: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """An ``__iter__`` whose iterator ends the one that it gave before."""
    # A generator begins its pass with the first sample: one that is never read ends nothing.
    begins_later = inspect.isgeneratorfunction(make)

    @functools.wraps(make)
    def __iter__(self: IterDataPipe[Any]) -> Iterator[Any]:
        samples = make(self)
        return _samples_of_pass(self, samples, None if begins_later else self._begin_pass())

    return __iter__


def _samples_of_pass(
    pipe: IterDataPipe[Any], samples: Iterator[Any], number: int | None
) -> Iterator[Any]:
    if number is None:
        number = pipe._begin_pass()
    while True:
        if pipe._pass_number != number:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from "
                f"the same IterDataPipe: {pipe!r}. Read it to its end first, or read the pipes of "
                "pipe.fork(2) side by side."
            )
        # Not a for loop: it would call __iter__ again where the pipe is its own iterator.
        try:
            sample = next(samples)
        except StopIteration:
            return
        yield sample


class IterDataPipe(IterableDataset[_T_co]):
    """A pipe that gives its samples one after another.

    A step is a class with ``__iter__`` that is given the pipe before it. One that
    :func:`functional_datapipe` marks is a method of all pipes. A pipe is read by one iterator at a
    time: a new one begins anew, and the one before it raises a RuntimeError.

    Example:
        >>> from facula.utils.data.datapipes.iter import IterableWrapper
        >>> pipe = IterableWrapper(range(6)).filter(lambda n: n % 2 == 0).map(lambda n: n * 10)
        >>> list(pipe.batch(2))
        [[0, 20], [40]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _pass_number: int = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__iter__" in cls.__dict__:
            cls.__iter__ = _one_pass(cls.__iter__)  # type: ignore[method-assign]

    def __getattr__(self, attribute_name: str) -> Any:
        return _found(self, attribute_name)

    def _begin_pass(self) -> int:
        self._pass_number += 1
        self.reset()
        return self._pass_number

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function of a pipe a method of all pipes.

        Args:
            function_name: the method's name.
            function: takes the pipe first.
        """
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: type, enable_df_api_tracing: bool = False
    ) -> None:
        """Make a class of pipes a method of all pipes.

        Args:
            function_name: the method's name.
            cls_to_register: the class, which takes the pipe first.
            enable_df_api_tracing: accepted for compatibility.
        """
        _register(cls.functions, function_name, cls_to_register)

    def reset(self) -> None:
        """Called before each pass; a pipe with a state begins anew here."""

    def __repr__(self) -> str:
        return type(self).__qualname__


class DFIterDataPipe(IterDataPipe[_T_co]):
    """A pipe of data frames; it differs from others by its class alone."""


class MapDataPipe(Dataset[_T_co]):
    """A pipe that gives its samples by index.

    Example:
        >>> from facula.utils.data.datapipes.map import SequenceWrapper
        >>> pipe = SequenceWrapper([1, 2, 3]).map(lambda n: n * 10)
        >>> pipe[1], len(pipe)
        (20, 3)
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __getattr__(self, attribute_name: str) -> Any:
        return _found(self, attribute_name)

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function of a pipe a method of all pipes.

        Args:
            function_name: the method's name.
            function: takes the pipe first.
        """
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: type) -> None:
        """Make a class of pipes a method of all pipes.

        Args:
            function_name: the method's name.
            cls_to_register: the class, which takes the pipe first.
        """
        _register(cls.functions, function_name, cls_to_register)

    def __repr__(self) -> str:
        return type(self).__qualname__


class _IterDataPipeSerializationWrapper(IterDataPipe[_T_co]):
    """A pipe as a loader of another package hands it to its workers."""

    def __init__(self, datapipe: IterDataPipe[_T_co]) -> None:
        self._datapipe = datapipe

    def __iter__(self) -> Iterator[_T_co]:
        yield from self._datapipe

    def __len__(self) -> int:
        return len(self._datapipe)


class _MapDataPipeSerializationWrapper(MapDataPipe[_T_co]):
    """The same for a pipe with indices."""

    def __init__(self, datapipe: MapDataPipe[_T_co]) -> None:
        self._datapipe = datapipe

    def __getitem__(self, index: Any) -> _T_co:
        return self._datapipe[index]

    def __len__(self) -> int:
        return len(self._datapipe)


class DataChunk(list[Any]):
    """A batch of samples, which are not collated: a list.

    Args:
        items: the samples.

    Example:
        >>> from facula.utils.data.datapipes.datapipe import DataChunk
        >>> DataChunk([1, 2]).as_str()
        '[1, 2]'
    """

    def __init__(self, items: Any) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The samples as a text.

        Args:
            indent: what it begins with.
        """
        return indent + "[" + ", ".join(str(i) for i in iter(self)) + "]"

    def raw_iterator(self) -> Any:
        """The samples."""
        yield from self.items

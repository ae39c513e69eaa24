"""Operations of other classes: ``__torch_function__`` and modes, as :mod:`torch.overrides`.

A class with a classmethod ``__torch_function__(func, types, args, kwargs)`` is asked in place of
every operation that is given one of its objects. A :class:`TorchFunctionMode` is asked for all
operations while it is active.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import TracebackType
from typing import Any, TypeVar

from facula import _core
from facula._core import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

_Mode = TypeVar("_Mode", bound="TorchFunctionMode")


class TorchFunctionMode:
    """A context in which every operation of the thread is given to ``__torch_function__``.

    Of several modes the innermost is asked, which is inactive meanwhile: what it calls goes to the
    next one.

    Example:
        >>> class Log(facula.overrides.TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(facula.overrides.resolve_name(func))
        ...         return func(*args, **(kwargs or {}))
        >>> with Log():
        ...     x = facula.zeros(2) + 1
        torch.zeros
        torch.Tensor.add
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What is done instead of ``func(*args, **kwargs)``.

        Args:
            func: the operation that was called.
            types: the types among the arguments that override operations.
            args: the arguments without a name.
            kwargs: the arguments by name; None if there are none.
        """
        raise NotImplementedError(f"{type(self).__name__}: expected a method __torch_function__.")

    def __enter__(self: _Mode) -> _Mode:
        _core._push_torch_function_mode(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _core._pop_torch_function_mode()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that does what would be done without it.

    Example:
        >>> with facula.overrides.BaseTorchFunctionMode():
        ...     facula.ones(2) + 1
        tensor([2., 2.])
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether :func:`handle_torch_function` has somebody to ask: an argument's class, or a mode.

    Example:
        >>> facula.overrides.has_torch_function((facula.ones(2), 3))
        False
    """
    return _core._has_torch_function(*relevant_args)


def has_torch_function_unary(arg: Any) -> bool:
    """As :func:`has_torch_function`, for one argument.

    Example:
        >>> facula.overrides.has_torch_function_unary(facula.ones(2))
        False
    """
    return _core._has_torch_function(arg)


def has_torch_function_variadic(*args: Any) -> bool:
    """As :func:`has_torch_function`, for arguments that are not in a tuple.

    Example:
        >>> facula.overrides.has_torch_function_variadic(facula.ones(2), 3)
        False
    """
    return _core._has_torch_function(*args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Ask the innermost mode, then the classes of ``relevant_args``, for the result of a function.

    The classes are asked from left to right, a subclass before the classes that it is made of. One
    that answers NotImplemented leaves the question to the next.

    Args:
        public_api: the function that was called.
        relevant_args: the arguments whose classes may override it.
        args: all its arguments without a name.
        kwargs: all its arguments by name.

    Example:
        >>> class Length:
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return f"{func.__name__} of a Length"
        >>> def double(x):
        ...     if facula.overrides.has_torch_function_unary(x):
        ...         return facula.overrides.handle_torch_function(double, (x,), x)
        ...     return x + x
        >>> double(Length())
        'double of a Length'
    """
    return _core._handle_torch_function(public_api, tuple(relevant_args), args, kwargs)


def wrap_torch_function(
    dispatcher: Callable[..., Iterable[Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function one that ``__torch_function__`` can override.

    Args:
        dispatcher: gives the arguments whose classes are asked; it is called with all of them.

    Example:
        >>> @facula.overrides.wrap_torch_function(lambda x: (x,))
        ... def double(x):
        ...     return x + x
        >>> double(facula.ones(2))
        tensor([2., 2.])
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if _core._has_torch_function(*relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether the object is a tensor, or one of a class with ``__torch_function__``.

    Example:
        >>> facula.overrides.is_tensor_like(facula.ones(2)), facula.overrides.is_tensor_like(3)
        (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether the function belongs to ``Tensor``: then its first argument is the tensor.

    Example:
        >>> facula.overrides.is_tensor_method_or_property(facula.Tensor.add)
        True
        >>> facula.overrides.is_tensor_method_or_property(facula.add)
        False
    """
    return func in _tensor_methods() or getattr(func, "__name__", None) in ("__get__", "__set__")


@functools.cache
def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The functions whose results a subclass leaves as they are: other tensors than its object.

    Example:
        >>> facula.Tensor.grad.__get__ in facula.overrides.get_default_nowrap_functions()
        True
    """
    return {_property("grad").__get__, _property("_base").__get__}


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that ``__torch_function__`` is asked for, by the module or class they are in.

    Example:
        >>> facula.add in facula.overrides.get_overridable_functions()[facula]
        True
    """
    places: dict[Any, list[Callable[..., Any]]] = {}
    for place, _, function in _functions():
        if _is_overridable(function):
            places.setdefault(place, []).append(function)
    return places


@functools.cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """The public functions that ``__torch_function__`` is never asked for.

    Example:
        >>> facula.manual_seed in facula.overrides.get_ignored_functions()
        True
    """
    return {function for _, _, function in _functions() if not _is_overridable(function)}


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For every function that can be overridden one of the same signature that returns -1.

    Example:
        >>> overrides = facula.overrides.get_testing_overrides()
        >>> overrides[facula.relu](facula.ones(2))
        -1
    """
    places = get_overridable_functions().values()
    return {function: _stand_in(function) for functions in places for function in functions}


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name of a function that ``__torch_function__`` was asked for; None if it is not known.

    Example:
        >>> facula.overrides.resolve_name(facula.Tensor.add)
        'torch.Tensor.add'
        >>> facula.overrides.resolve_name(facula.Tensor.shape.__get__)
        'torch.Tensor.shape.__get__'
    """
    return _names().get(f)


# Where operations are; those that are not imported yet are imported to be listed.
_MODULES = ("facula", "facula.linalg", "facula.nn.functional", "facula.nn.init")
_ACCESSORS = ("__get__", "__set__", "__delete__")
# Asked for other methods than themselves, or for nothing at all.
_NOT_ASKED = {"__delitem__", "__hash__", "__iter__", "__new__"}


def _functions() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """The functions of the modules and of Tensor, each with its place and name."""
    for module_name in _MODULES:
        module = import_module(module_name)
        for name in module.__all__:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # old names
                function = getattr(module, name)
            if callable(function) and not isinstance(function, type):
                yield module, name, function
    for name, attribute in Tensor.__dict__.items():
        if inspect.isgetsetdescriptor(attribute):
            yield Tensor, f"{name}.__get__", attribute.__get__
        elif callable(attribute):
            yield Tensor, name, attribute


def _is_overridable(function: Callable[..., Any]) -> bool:
    name = getattr(function, "__name__", "")
    is_slot = inspect.ismethoddescriptor(function) and hasattr(function, "__objclass__")
    return (
        isinstance(function, _core._Operation)
        or _core._is_operation(function)
        or name == "__get__"
        or (is_slot and name not in _NOT_ASKED)
    )


def _property(name: str) -> Any:
    return Tensor.__dict__[name]


@functools.cache
def _tensor_methods() -> set[Callable[..., Any]]:
    return {function for place, _, function in _functions() if place is Tensor}


@functools.cache
def _names() -> dict[Callable[..., Any], str]:
    names: dict[Callable[..., Any], str] = {}
    for place, name, function in _functions():
        owner = "facula.Tensor" if place is Tensor else place.__name__
        names[function] = owner.replace("facula", "torch", 1) + "." + name
        if name.endswith(".__get__"):
            for accessor in _ACCESSORS[1:]:
                method = getattr(function.__self__, accessor)  # type: ignore[attr-defined]
                names[method] = names[function].replace("__get__", accessor)
    return names


def _stand_in(function: Callable[..., Any]) -> Callable[..., int]:
    signature = _signature(function)

    def stand_in(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    stand_in.__signature__ = signature  # type: ignore[attr-defined]
    return stand_in


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    texts = [text for text, *_ in getattr(function, "__nb_signature__", ())]
    try:
        return _parse(texts[0]) if len(texts) == 1 else inspect.signature(function)
    except ValueError:  # several signatures, or an argument that is called `from`
        return inspect.signature(lambda *args, **kwargs: -1)


def _parse(text: str) -> inspect.Signature:
    """The signature in ``def add(input: Tensor, *, out: Tensor | None = \\0) -> Tensor``."""
    inside = text.partition("(")[2].rpartition(") -> ")[0]
    # Types, with commas in brackets only; numbers stand for the defaults.
    bare = re.sub(r": [^=,\[]*(\[[^=]*?\][^=,]*)*(?=,|=|$)", "", inside)
    kinds = inspect._ParameterKind
    kind = kinds.POSITIONAL_OR_KEYWORD
    parameters = []
    for part in filter(None, bare.split(", ")):
        name, _, default = part.partition("=")
        stars = name.count("*")
        value = None if default else inspect.Parameter.empty
        if stars:
            kind = kinds.KEYWORD_ONLY
        if stars < len(name):
            this_kind = (kind, kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)[stars]
            parameters.append(inspect.Parameter(name.strip("* "), this_kind, default=value))
    return inspect.Signature(parameters)


def redispatch_function(
    func: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a function without asking ``__torch_function__`` for it once more.

    What the function calls in turn is asked for as usual, if it is written in Python.

    Args:
        func: the function that ``__torch_function__`` was asked for.
        types: the types among the arguments that override operations.
        args: the arguments without a name.
        kwargs: the arguments by name.

    Example:
        >>> facula.overrides.redispatch_function(facula.add, (), (facula.ones(2), 1))
        tensor([2., 2.])
    """
    with _core._DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A block in which modes may call operations again, as they always may."""
    yield

"""``script`` and its relatives: the Python function is what runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from facula._refusing import refusing_class
from facula.nn.modules.module import Module

__all__ = [
    "Attribute",
    "CompilationUnit",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "interface",
    "script",
    "script_method",
]

_T = TypeVar("_T")

_NO_COMPILER = "functions run as the Python that they are; there is no TorchScript to compile to."


class Attribute(NamedTuple):
    """A value of a module with the type that a compiler would give it.

    Args:
        value: the value.
        type: its type.
    """

    value: Any
    type: Any


class ScriptModule(Module):
    """The base class of old for modules in TorchScript: here a module like any other.

    Example:
        >>> class Double(facula.jit.ScriptModule):
        ...     @facula.jit.script_method
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Double()(facula.ones(2))
        tensor([2., 2.])
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.value if isinstance(value, Attribute) else value)

    def save(self, f: Any, **kwargs: Any) -> None:
        """Cannot be called: there is no TorchScript to write. Save the ``state_dict()``.

        Args:
            f: the name of the file.
            kwargs: more files.
        """
        from facula.jit._serialization import save

        save(self, f, **kwargs)


class RecursiveScriptModule(ScriptModule):
    """The class of PyTorch's compiled modules, of which there are none here."""


ScriptFunction = refusing_class("torch.jit.ScriptFunction", _NO_COMPILER)
CompilationUnit = refusing_class("torch.jit.CompilationUnit", _NO_COMPILER)


def script(
    obj: Any,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Callable[[str], Any] | None = None,
    example_inputs: Any = None,
) -> Any:
    """The function, module or class itself: Python is what runs.

    Args:
        obj: a function, a module, a class, a list or a dict.
        optimize: accepted for compatibility.
        example_inputs: inputs to find out types with; there are none to find out.

    Example:
        >>> @facula.jit.script
        ... def double(x):
        ...     return 2 * x
        >>> double(facula.ones(2))
        tensor([2., 2.])
    """
    if not callable(obj) and not isinstance(obj, (list, dict)):
        raise TypeError(
            f"jit.script: expected a function, a module or a class, got {type(obj).__name__}."
        )
    return obj


def script_method(fn: _T) -> _T:
    """A method of a :class:`ScriptModule`, as it is.

    Args:
        fn: the method.
    """
    return fn


def interface(obj: _T) -> _T:
    """A class that says which methods modules have, as it is.

    Args:
        obj: the class.

    Example:
        >>> @facula.jit.interface
        ... class Layer:
        ...     def forward(self, x): ...
    """
    if not isinstance(obj, type):
        raise RuntimeError(f"jit.interface: expected a class, got {type(obj).__name__}.")
    return obj

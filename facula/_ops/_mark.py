"""``@operation``: the one mark that makes a written function an operation of the package.

It says where users find the operation. The names of ``facula``, the methods of ``Tensor`` and their
forms in place come from it, and from no other list. A second name is an assignment beside the
function, which type checkers understand: ``row_stack = vstack``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, overload

from facula import _core
from facula._core import Tensor
from facula._ops._arguments import check_arguments

_Function = TypeVar("_Function", bound=Callable[..., Any])

METHODS: dict[str, Callable[..., Any]] = {}  # what facula._tensor attaches to Tensor, by name
# Those that vmap sees as a whole: it has a rule for them, or does one example at a time.
LOOPED: set[Callable[..., Any]] = set()
_FUNCTIONS: set[Callable[..., Any]] = set()  # the operations that are more than methods


@overload
def operation(function: _Function, /) -> _Function: ...
@overload
def operation(
    *,
    name: str | None = None,
    module: str = "facula._ops",
    method: bool | Literal["only"] = False,
    in_place: bool = False,
) -> Callable[[_Function], _Function]: ...
def operation(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    module: str = "facula._ops",
    method: bool | Literal["only"] = False,
    in_place: bool = False,
) -> Any:
    """Make the function an operation: its arguments are checked, and users find it.

    Args:
        function: what the operation does.
        name: the operation's name, where it is not the function's.
        module: the module in which users, and pickle, find the operation.
        method: whether tensors have the operation as a method too; ``"only"`` if it is no function.
        in_place: whether tensors have a method ``name_``, which puts the result into the tensor.
    """

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        own = name or function.__name__
        if in_place:
            METHODS[own + "_"] = _entry(_in_place(function, own), "facula", f"Tensor.{own}_")
        if method == "only":
            METHODS[own] = entry = _entry(function, "facula", f"Tensor.{own}")
            return entry
        entry = _entry(function, module, own)
        _FUNCTIONS.add(entry)
        if method:
            METHODS[own] = _entry(function, "facula", f"Tensor.{own}")
        return entry

    return mark if function is None else mark(function)


def _entry(function: Callable[..., Any], module: str, qualname: str) -> Callable[..., Any]:
    """What users call: the function, entered through the seam of all operations.

    The types of arguments are compared with the function's hints before the call, at the cost of a
    few comparisons; what these do not understand, again after the function has failed.
    """
    entry: Any = _core._Operation(function, check_arguments, qualname.startswith("Tensor."))
    entry.__module__, entry.__qualname__ = module, qualname  # where pickle finds it
    entry.__name__ = qualname.rpartition(".")[2]
    operation: Callable[..., Any] = entry
    if getattr(function, "_looks_at_values", False):
        LOOPED.add(operation)
    return operation


def looks_at_values(function: _Function) -> _Function:
    """Mark a function that does other things for other values, which vmap cannot see through."""
    function._looks_at_values = True  # type: ignore[attr-defined]
    return function


def _in_place(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        # A copy where there is a graph, for which the function may save its input.
        result = function(self.clone() if self.requires_grad else self, *args, **kwargs)
        if result.shape != self.shape or result.dtype != self.dtype:
            raise RuntimeError(
                f"{name}_: the result is {result.dtype} {tuple(result.shape)} and does not fit in "
                f"place into {self.dtype} {tuple(self.shape)}."
            )
        return self.copy_(result)

    method.__doc__ = f"``{name}`` in place.\n\n    {function.__doc__}"
    return method


def public_names(namespace: Mapping[str, Any]) -> list[str]:
    """The names in a module's namespace that stand for operations."""
    # Only what can be called is looked up: other values may have no hash.
    return sorted(n for n, value in namespace.items() if callable(value) and value in _FUNCTIONS)

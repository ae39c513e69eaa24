"""Signatures of operations, and arguments in the order and with the names of a signature.

A pass that looks at the arguments of a node should not care whether a program wrote
``softmax(x, 1)`` or ``softmax(x, dim=1)``: see :meth:`facula.fx.Node.normalized_arguments`.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

import facula
from facula.fx.node import Node

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]

_KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(
    op: Callable[..., Any], return_schemas: bool = False
) -> list[inspect.Signature] | None:
    """The signatures of an operation of the package, without ``out``; None for other functions.

    Args:
        op: the operation.
        return_schemas: must be False: signatures are all there is.

    Example:
        >>> from facula.fx.operator_schemas import get_signature_for_torch_op
        >>> get_signature_for_torch_op(facula.flatten)[0].parameters["end_dim"].default
        -1
    """
    if return_schemas:
        raise NotImplementedError(
            "get_signature_for_torch_op: operations of Facula have signatures but no schemas. Call "
            "it without return_schemas."
        )
    return _signatures(op)


@functools.lru_cache(maxsize=2048)
def _signatures(op: Callable[..., Any]) -> list[inspect.Signature] | None:
    rows = getattr(op, "__nb_signature__", None)
    if rows:
        return [_parsed(text, defaults or ()) for text, _, defaults in rows]
    if facula.overrides.resolve_name(op) is None:
        return None
    try:
        found = inspect.signature(op)
    except (TypeError, ValueError):
        return None
    kept = [p for name, p in found.parameters.items() if name != "out"]
    return [found.replace(parameters=kept)]


def _parsed(text: str, defaults: tuple[Any, ...]) -> inspect.Signature:
    """The signature in ``def sum(input: Tensor, dim: int | None = \\0, *, ...) -> Tensor``."""
    inside = text.partition("(")[2].rpartition(") -> ")[0]
    kind: Any = _POSITIONAL
    parameters = []
    # Commas inside of brackets belong to a type.
    for part in re.findall(r"(?:[^,\[]|\[(?:[^\[\]]|\[[^\]]*\])*\])+", inside):
        name, _, rest = part.strip().partition(":")
        annotation, _, default = rest.partition(" = ")
        if name.startswith("**"):
            parameters.append(inspect.Parameter(name[2:], inspect.Parameter.VAR_KEYWORD))
        elif name == "*":
            kind = _KEYWORD_ONLY
        elif name.startswith("*"):
            parameters.append(inspect.Parameter(name[1:], inspect.Parameter.VAR_POSITIONAL))
            kind = _KEYWORD_ONLY
        elif name not in ("out", "/"):
            value = _default(default, defaults)
            parameters.append(
                inspect.Parameter(name, kind, default=value, annotation=annotation.strip())
            )
    return inspect.Signature(parameters)


def _default(text: str, defaults: tuple[Any, ...]) -> Any:
    if not text:
        return inspect.Parameter.empty
    index = text.strip().removeprefix("\\")
    return defaults[int(index)] if index.isdigit() and int(index) < len(defaults) else None


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of an operation in the order and with the names of its signature.

    None if the function is no operation of the package, or the arguments fit none of its
    signatures.

    Args:
        target: the operation.
        args: the positional arguments; nodes or values.
        kwargs: the arguments by name.
        arg_types: types of the positional arguments, for operations with several signatures.
        kwarg_types: types of the arguments by name.
        normalize_to_only_use_kwargs: whether all arguments are given by name.

    Example:
        >>> from facula.fx.operator_schemas import normalize_function
        >>> x = facula.ones(2, 3)
        >>> normalize_function(facula.flatten, (x, 0), {}, normalize_to_only_use_kwargs=True).kwargs
        {'input': tensor([[1., 1., 1.],
                [1., 1., 1.]]), 'start_dim': 0, 'end_dim': -1}
    """
    kwargs = kwargs or {}
    for signature in _signatures(target) or ():
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            continue
        if _fits(signature, bound, arg_types, kwarg_types):
            return _normalized(signature, bound, normalize_to_only_use_kwargs)
    return None


def _fits(
    signature: inspect.Signature,
    bound: inspect.BoundArguments,
    arg_types: tuple[Any, ...] | None,
    kwarg_types: dict[str, Any] | None,
) -> bool:
    """Whether literal arguments have a type that the signature allows."""
    named = dict(zip(signature.parameters, arg_types or (), strict=False))
    named.update(kwarg_types or {})
    for name, value in bound.arguments.items():
        annotation = signature.parameters[name].annotation
        if not isinstance(annotation, str) or "object" in annotation or "Any" in annotation:
            continue
        kind = named.get(name, type(value))
        if kind in (Node, type(None)) or not isinstance(kind, type):
            continue
        allowed = re.findall(r"\w+", annotation)
        if kind is str and "str" not in allowed:
            return False
        if kind in (int, bool) and not {"int", "float", "bool", "Tensor"} & set(allowed):
            return False
        if issubclass(kind, facula.Tensor) and "Tensor" not in allowed:
            return False
    return True


def _normalized(
    signature: inspect.Signature, bound: inspect.BoundArguments, only_kwargs: bool
) -> ArgsKwargsPair:
    bound.apply_defaults()
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            args.extend(value)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            kwargs.update(value)
        # As PyTorch has it: what has a default is given by name.
        elif only_kwargs or kind is _KEYWORD_ONLY:
            kwargs[name] = value
        elif signature.parameters[name].default is inspect.Parameter.empty:
            args.append(value)
        else:
            kwargs[name] = value
    return ArgsKwargsPair(tuple(args), kwargs)


def normalize_module(
    root: facula.nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a module of ``facula.nn`` in the order and with the names of ``forward``.

    None if the module is of another class, or the arguments do not fit.

    Args:
        root: the module in which it is.
        target: its path.
        args: the positional arguments.
        kwargs: the arguments by name.
        normalize_to_only_use_kwargs: whether all arguments are given by name.

    Example:
        >>> from facula.fx.operator_schemas import normalize_module
        >>> net = facula.nn.Sequential(facula.nn.ReLU())
        >>> normalize_module(net, "0", (1,), normalize_to_only_use_kwargs=True).kwargs
        {'input': 1}
    """
    try:
        module = root.get_submodule(target)
    except AttributeError:
        raise RuntimeError(
            f"Tried to normalize arguments to module {target} but root has no such module!"
        ) from None
    if getattr(facula.nn, type(module).__name__, None) is not type(module):
        return None
    signature = inspect.signature(module.forward)
    try:
        bound = signature.bind(*args, **(kwargs or {}))
    except TypeError:
        return None
    if normalize_to_only_use_kwargs:
        return _normalized(signature, bound, True)
    bound.apply_defaults()
    return ArgsKwargsPair(bound.args, bound.kwargs)


def create_type_hint(x: Any) -> Any:
    """The type of a list or tuple of types: ``[int, int]`` is ``list[int]``.

    Args:
        x: the types.

    Example:
        >>> from facula.fx.operator_schemas import create_type_hint
        >>> create_type_hint([int, int])
        list[int]
    """
    if not isinstance(x, (list, tuple)):
        return x
    items = [create_type_hint(item) for item in x]
    common: Any = Any
    if items and all(item is items[0] for item in items):
        common = items[0]
    return list[common] if isinstance(x, list) else tuple[common, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of a type may be given where a signature has another.

    Args:
        signature_type: the type in the signature.
        argument_type: the type of the argument.

    Example:
        >>> from facula.fx.operator_schemas import type_matches
        >>> type_matches(float | None, float), type_matches(list[int], str)
        (True, False)
    """
    if signature_type is argument_type or signature_type is Any:
        return True
    origin = typing.get_origin(signature_type)
    if origin is typing.Union or isinstance(signature_type, type(int | str)):
        return any(type_matches(each, argument_type) for each in typing.get_args(signature_type))
    if origin in (list, tuple):
        items = typing.get_args(signature_type)
        given = typing.get_origin(argument_type)
        if argument_type is int and items[:1] == (int,):  # one size for all dimensions
            return True
        return given in (list, tuple) and all(
            type_matches(items[0], each)
            for each in typing.get_args(argument_type)
            if each is not ...
        )
    if isinstance(signature_type, type) and isinstance(argument_type, type):
        is_number = signature_type is float and argument_type is int
        return is_number or issubclass(argument_type, signature_type)
    return False


def check_for_mutable_operation(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise a RuntimeError if an operation changes its input in place.

    Args:
        target: the operation.
        args: its positional arguments.
        kwargs: its arguments by name.
    """
    name = getattr(target, "__name__", "")
    if name.endswith("_") and not name.endswith("__"):
        raise RuntimeError(
            f"Tried to trace mutable operation {name}. FX only supports functional code, so "
            "operations that mutate operands in-place (e.g. via `out` arguments) are not supported"
        )

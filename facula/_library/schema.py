"""Schemas of operations: ``mylib::scale(Tensor x, float by=2.0) -> Tensor``."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Complex, Integral, Real
from typing import Any, Union

from facula import _core
from facula._core import Tensor
from facula.storage import TypedStorage
from facula.types import Number

_NAMES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    _core.dtype: "ScalarType",
    _core.device: "Device",
}
_NO_DEFAULT = inspect.Parameter.empty


@dataclass(frozen=True)
class Argument:
    """A parameter, or a result, of a schema."""

    name: str
    type: str
    default_value: Any = None
    has_default: bool = False
    kwarg_only: bool = False
    is_write: bool = False

    @property
    def alias_info(self) -> Argument | None:
        """The argument itself where it is changed in place: it has ``is_write``."""
        return self if self.is_write else None

    def has_default_value(self) -> bool:
        """Whether a caller may leave the argument out."""
        return self.has_default


@dataclass(frozen=True)
class FunctionSchema:
    """The name, the parameters and the results of an operation."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    text: str

    @property
    def is_mutable(self) -> bool:
        """Whether an argument is changed in place."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> FunctionSchema:
    """Read ``ns::name.overload(Tensor x, *, int n=2) -> Tensor``."""
    match = re.fullmatch(r"\s*([\w:]+)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if match is None:
        raise RuntimeError(
            f"library: expected a schema such as 'name(Tensor x, int n=2) -> Tensor', got {text!r}."
        )
    name, overload, inside, result = match.groups()
    arguments, is_named = [], False
    for part in _split(inside):
        if part == "*":
            is_named = True
        else:
            arguments.append(_argument(part, is_named, text))
    is_several = result.startswith("(") and result.endswith(")")
    results = _split(result[1:-1]) if is_several else [result]
    returns = tuple(Argument("", re.sub(r"\(\w+!?\)", "", r).split()[0]) for r in results)
    for argument in (*arguments, *returns):
        if not re.fullmatch(rf"({'|'.join(_FITS)})(\[\d*\]|\?)*", argument.type):
            raise RuntimeError(
                f"library: unknown type specifier {argument.type!r}, in {text!r}. Expected one of "
                f"{', '.join(_FITS)}, or a list (int[]) or an option (int?) of them."
            )
    return FunctionSchema(name, overload or "", tuple(arguments), returns, text.strip())


def _split(text: str) -> list[str]:
    """At commas that are in no brackets or quotes."""
    parts = re.findall(r"(?:[^,\[\](){}\"']|\[[^\]]*\]|\([^)]*\)|\"[^\"]*\"|'[^']*')+", text)
    return [part.strip() for part in parts if part.strip()]


def _argument(part: str, is_named: bool, text: str) -> Argument:
    form = r"([\w.]+)(\(\w+(!)?(?: -> \*)?\))?([\[\]?\d]*)\s+(\w+)(?:\s*=\s*(.+))?"
    match = re.fullmatch(form, part)
    if match is None:
        raise RuntimeError(f"library: {part!r} is no parameter of a schema, in {text!r}.")
    kind, _, writes, suffix, name, default = match.groups()
    value = None if default is None else _value(default)
    return Argument(name, kind + suffix, value, default is not None, is_named, writes is not None)


def _value(text: str) -> Any:
    words = {"None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    if text.startswith("["):
        return [_value(item) for item in _split(text[1:-1])]
    return text.strip("\"'")


def infer_schema(
    prototype_function: Any,
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """The schema of a function, read from its annotations.

    Args:
        prototype_function: the function, all parameters and the result of which have types.
        mutates_args: the names of the arguments that it changes in place, or ``"unknown"``.
        op_name: a name to begin the schema with.
        tags: accepted for compatibility.

    Example:
        >>> def scale(x: facula.Tensor, by: float = 2.0) -> facula.Tensor: ...
        >>> facula.library.infer_schema(scale, mutates_args=())
        '(Tensor x, float by=2.0) -> Tensor'
    """
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "infer_schema: expected mutates_args as the names of arguments, such as ['x'], or "
            f"'unknown', got {mutates_args!r}."
        )
    signature = inspect.signature(prototype_function)

    def refuse(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema: {what} Got a function with the signature {signature}.")

    hints = typing.get_type_hints(prototype_function)
    parts: list[str] = []
    is_named, n_written, names = False, 0, set()
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("there can be no positional-only args, varargs, or varkwargs.")
        if name not in hints:
            refuse(f"parameter {name} must have a type annotation.")
        if parameter.kind is parameter.KEYWORD_ONLY and not is_named:
            parts.append("*")
            is_named = True
        kind = _name_of(hints[name])
        if kind is None:
            refuse(f"parameter {name} has the unsupported type {hints[name]}.")
        names.add(name)
        if kind.startswith("Tensor") and (mutates_args == "unknown" or name in mutates_args):
            kind = kind.replace("Tensor", f"Tensor(a{n_written}!)", 1)
            n_written += 1
        parts.append(f"{kind} {name}{_default_text(parameter.default)}")
    unknown = set() if mutates_args == "unknown" else set(mutates_args) - names
    if unknown:
        refuse(f"{unknown} in mutates_args are no parameters.")
    if "return" not in hints:
        refuse("no return type annotation was provided.")
    result = _result_name(hints["return"])
    if result is None:
        refuse(f"the result has the unsupported type {hints['return']}.")
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


def _default_text(default: Any) -> str:
    if default is _NO_DEFAULT:
        return ""
    if isinstance(default, str):
        return f'="{default}"'
    if isinstance(default, _core.dtype):
        return "=" + str(default).removeprefix("torch.")
    if isinstance(default, _core.device):
        return f'="{default}"'
    if default is not None and not isinstance(default, (int, float, bool)):
        raise ValueError(f"infer_schema: unsupported default value {default!r}.")
    return f"={default}"


def _name_of(hint: Any) -> str | None:
    """The name in a schema of an annotated type; None if it has none."""
    if hint in _NAMES:
        return _NAMES[hint]
    if hint is Number:
        return "Scalar"
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        rest = [arg for arg in args if arg is not type(None)]
        if len(rest) == 1:
            inner = _name_of(rest[0])
        else:
            inner = "Scalar" if set(rest) == {int, float, bool} else None
        return inner and inner + ("?" if len(rest) < len(args) else "")
    if origin in (list, Sequence) and len(args) == 1:
        inner = _name_of(args[0])
        return inner and inner + "[]"
    return None


def _result_name(hint: Any) -> str | None:
    if hint is type(None):
        return "()"
    if typing.get_origin(hint) is tuple:
        names = [_name_of(arg) for arg in typing.get_args(hint)]
        return None if None in names else f"({', '.join(filter(None, names))})"
    return _name_of(hint)


def _is_number(value: Any, kind: type) -> bool:
    """Whether it is a number of this kind, of Python or NumPy, or a tensor of one element."""
    if isinstance(value, Tensor):
        return value.numel() == 1
    return isinstance(value, kind) or type(value).__name__ in ("bool", "bool_")


def _is_integer(value: Any) -> bool:
    return _is_number(value, Integral)


def _is_truth(value: Any) -> bool:
    return value is None or _is_number(value, Complex)


# Whether a value is of a type, by its name in schemas. Like PyTorch, None stands for no tensor, and
# what is an enumeration there may be given by its number.
_FITS: dict[str, Callable[[Any], bool]] = {
    "Any": lambda value: True,
    "Device": lambda value: isinstance(value, (_core.device, str)),
    "DeviceIndex": _is_integer,
    "Generator": lambda value: isinstance(value, _core.Generator),
    "Layout": lambda value: isinstance(value, _core.layout) or _is_integer(value),
    "MemoryFormat": lambda value: isinstance(value, _core.memory_format) or _is_integer(value),
    "NoneType": lambda value: value is None,
    "QScheme": _is_integer,
    "Scalar": lambda value: isinstance(value, (int, float, complex)),
    "ScalarType": lambda value: isinstance(value, _core.dtype) or _is_integer(value),
    "Storage": lambda value: isinstance(value, (_core.UntypedStorage, TypedStorage)),
    "SymBool": _is_truth,
    "SymInt": _is_integer,
    "Tensor": lambda value: value is None or isinstance(value, Tensor),
    "bool": _is_truth,
    "complex": lambda value: _is_number(value, Complex),
    "float": lambda value: _is_number(value, Real),
    "int": _is_integer,
    "str": lambda value: isinstance(value, str),
}


def fits(kind: str, value: Any) -> bool:
    """Whether the value is of the type, which is written as in schemas: ``Tensor?[]``."""
    if kind.endswith("?"):
        return value is None or fits(kind[:-1], value)
    if kind.endswith("]"):
        inner, _, length = kind[:-1].rpartition("[")
        if isinstance(value, Sequence) or type(value).__name__ == "ndarray":
            has_none = inner == "Tensor" and any(item is None for item in value)
            return not has_none and all(fits(inner, item) for item in value)
        return bool(length) and fits(inner, value)  # one value for all of int[2]
    # What has an override is asked by the operation, and no value yet.
    has_override = hasattr(value, "__torch_function__") and not isinstance(value, Tensor)
    return has_override or _FITS[kind](value)


def check_result(schema: FunctionSchema, result: Any) -> None:
    """Raise PyTorch's RuntimeError for a result of a kernel that does not fit the schema."""
    kinds = [returned.type for returned in schema.returns]
    if len(kinds) == 1:
        is_right = fits(kinds[0], result)
    elif not kinds:
        is_right = result is None
    else:
        is_right = isinstance(result, (tuple, list)) and len(result) == len(kinds)
        is_right = is_right and all(map(fits, kinds, result))
    if not is_right:
        expected = kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"
        raise RuntimeError(
            f"{schema.name}() Expected its kernel to return a value of type '{expected}' but it "
            f"returned a value of type '{type(result).__name__}'.\nValue: {result!r}\n"
            f"Declaration: {schema}"
        )


def check_arguments(schema: FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise PyTorch's RuntimeError for arguments that do not fit the schema."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    if len(args) > len(positional):
        raise RuntimeError(
            f"{schema.name}() expected at most {len(positional)} argument(s) but received "
            f"{len(args)} argument(s). Declaration: {schema}"
        )
    given = dict(zip((a.name for a in positional), args, strict=False))
    for name, value in kwargs.items():
        if name in given or all(a.name != name for a in schema.arguments):
            raise RuntimeError(
                f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: {schema}"
            )
        given[name] = value
    for position, argument in enumerate(schema.arguments):
        if argument.name not in given:
            if not argument.has_default:
                raise RuntimeError(
                    f"{schema.name}() is missing value for argument '{argument.name}'. "
                    f"Declaration: {schema}"
                )
            continue
        value = given[argument.name]
        if not fits(argument.type, value):
            raise RuntimeError(
                f"{schema.name}() Expected a value of type '{argument.type}' for argument "
                f"'{argument.name}' but instead found type '{type(value).__name__}'.\n"
                f"Position: {position}\nValue: {value!r}\nDeclaration: {schema}"
            )

"""What operations refuse: something else where a tensor, or another kind of argument, is wanted."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula._exports import own_module

# How to make a tensor of the usual things that are none.
_CONVERSIONS = {
    "PIL": "facula.vision.transforms.ToTensor(), or with pil_to_tensor() to keep its numbers",
    "list": "facula.tensor()",
    "numpy.ndarray": "facula.from_numpy()",
    "torch": "facula.from_dlpack()",
    "tuple": "facula.tensor()",
}

# What functions of lists take, by the name of the parameter: the core reads the lists itself, so
# that its signatures say "object", which is anything but None.
_IN_LISTS = {
    "exponent": "Sequence[Tensor] | Number | Sequence[Number]",
    "other": "Sequence[Tensor] | Tensor | Number",
    "scalar": "Number",
    "scalars": "Sequence[Number] | Tensor",
    "value": "Number",
    "weight": "Number",
    "weights": "Sequence[Tensor]",
}


def check_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """PyTorch's TypeError, if an argument is of another type than the operation's hints say."""
    import inspect  # slow to import, and needed for an error only

    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:  # too many or too few: the call says so
        return
    written = inspect.unwrap(function)
    names: dict[str, Any] = getattr(written, "__globals__", {})
    # PyTorch writes the functions of networks in Python, where any object is true or false, and
    # what names a mode is compared with those that there are.
    loose = {"bool", "str"} if written.__module__.startswith("facula.nn.") else set()
    for name, value in given.items():
        parameter = signature.parameters[name]
        if not isinstance(parameter.annotation, str) or parameter.kind is parameter.VAR_KEYWORD:
            continue
        kinds = _split(_hint_of(parameter.annotation, names), " | ")
        # Where something else may stand too, a function for example, it is not for us to refuse.
        if not all(_is_known(kind) for kind in kinds) or not loose.isdisjoint(kinds):
            continue
        several = value if parameter.kind is parameter.VAR_POSITIONAL else (value,)
        for x in several:
            if any(_fits(kind, x) for kind in kinds):
                continue
            # Of several tensors, the one thing among them that is none.
            if isinstance(x, (list, tuple)) and any(kind.endswith("[Tensor]") for kind in kinds):
                x, kinds = next(t for t in x if not isinstance(t, Tensor)), ["Tensor"]
            if parameter.kind is parameter.VAR_POSITIONAL and "Tensor" in kinds:
                kinds = ["Tensor"]
            raise _refusal(function.__name__, name, x, kinds) from None


def _hint_of(text: str, names: dict[str, Any]) -> str:
    """The hint, or what it is short for in its module: ``_Ints`` is ``int | Sequence[int]``."""
    parts = []
    for part in _split(text, " | "):
        alias = names.get(part) if part.startswith("_") else None
        parts.append(part if alias is None else str(alias).replace("collections.abc.", ""))
    return " | ".join(parts)


def _is_known(kind: str) -> bool:
    if "[" in kind:
        is_sequence = kind.partition("[")[0] in ("Sequence", "list", "tuple")
        return is_sequence and all(_is_known(k) for k in _split(_inner(kind), " | "))
    return kind in _kinds()


def _refusal(name: str, argument: str, value: Any, kinds: list[str]) -> Exception:
    """The error for an argument that is of none of the kinds."""
    *most, last = dict.fromkeys(_words(kind) for kind in kinds)
    expected = f"{', '.join(most)} or {last}" if most else last
    convert = advice(value) if "Tensor" in kinds else ""
    text = f"{name}: expected {expected} as {argument}, got {described(value)}.{convert}"
    if _is_short(value):
        return TypeError(text)
    # PyTorch has these types for an int of more than 64 bits where a shorter one would do.
    if any(kind in ("Number", "complex") for kind in kinds):
        return OverflowError(f"{name}: int too big to convert: {value} needs more than 64 bits.")
    return ValueError(text) if "int" in kinds else TypeError(text)


def wrap_dim(name: str, x: Tensor, dim: int) -> int:
    """The dimension, counted from the front; an error of the operation where there is none such."""
    n_dims = max(x.dim(), 1)
    if not -n_dims <= dim < n_dims:
        raise IndexError(f"{name}: dim {dim} is out of range for {tuple(x.shape)}.")
    return dim % n_dims


def type_name(value: Any) -> str:
    """The type as the user knows it: ``float``, ``numpy.ndarray``."""
    kind = type(value)
    is_plain = own_module(kind) in ("builtins", "facula")
    return kind.__qualname__ if is_plain else f"{kind.__module__}.{kind.__qualname__}"


def advice(value: Any) -> str:
    """How to make a tensor of the value, as a sentence; "" where there is no usual way."""
    if isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) for x in value):
        return " Join its tensors with facula.stack() or facula.cat()."
    name = type_name(value)
    way = _CONVERSIONS.get(name) or _CONVERSIONS.get(name.partition(".")[0])
    return f" Convert it with {way}." if way else ""


def explain(text: str, args: list[Any], kwargs: dict[str, Any]) -> Exception:
    """The error for arguments that fit no signature of a bound function.

    ``text`` is what nanobind says: the name of the function, and its signatures, one to a line.
    """
    name = text.partition("(")[0]
    if not name.startswith("__") and not hasattr(facula, name):
        name = name.removeprefix("_")  # behind a function whose public name has no underscore
    signatures = [
        line.partition(". ")[2]
        .partition(" -> ")[0]
        .replace("bool | int | float | complex", "Number")
        for line in text.splitlines()
        if line.startswith("    ")
    ]
    problems = [_problem(signature, args, kwargs) for signature in signatures]
    first, argument, value, _ = max(problems, key=lambda problem: problem[0])
    if argument:
        kinds = [kind for p in problems if p[:2] == (first, argument) for kind in p[3]]
        return _refusal(name, argument, value, kinds)
    is_method = all("(self" in signature for signature in signatures)
    given = [described(x) for x in args[is_method:]]
    given += [f"{key}={described(x)}" for key, x in kwargs.items()]
    expected = " or ".join(
        signature[signature.index("(") :].replace("(self, ", "(").replace("(self)", "()")
        for signature in signatures
    ).replace("collections.abc.", "")
    return TypeError(f"{name}: expected {expected}, got ({', '.join(given)}).")


def _problem(
    signature: str, args: list[Any], kwargs: dict[str, Any]
) -> tuple[int, str, Any, list[str]]:
    """The first argument that does not fit: its place, name, value, and the kinds that would.

    The place is -1 if the arguments are too many or too few, the name "" if all seem to fit.
    """
    hints: dict[str, str] = {}
    required, positional = set(), []
    is_positional, takes_more = True, False
    for part in _split(signature[signature.index("(") + 1 : -1], ", "):
        name, _, rest = part.partition(": ")
        if not name.isidentifier():  # /, *, *args or **kwargs
            is_positional, takes_more = is_positional and name == "/", takes_more or len(name) > 1
            continue
        hints[name], _, default = rest.partition(" = ")
        if is_positional:
            positional.append(name)
        if not default:
            required.add(name)
    given = {**dict(zip(positional, args, strict=False)), **kwargs}
    are_too_many = len(args) > len(positional) and not takes_more
    are_given_twice = kwargs.keys() & positional[: len(args)]
    if are_too_many or are_given_twice or not required <= given.keys() <= hints.keys():
        return -1, "", None, []
    for place, (name, value) in enumerate(given.items()):
        if signature.startswith("_foreach_") and hints[name] == "object":
            hint = _IN_LISTS.get(name, "Sequence[Tensor]")
        else:
            hint = hints[name] if name != "self" or hints[name] == "Number" else "Tensor"
        kinds = _split(hint, " | ")
        if not any(_fits(kind, value) for kind in kinds):
            return place, name, value, kinds
    return len(given), "", None, []


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators that are not in brackets."""
    import re

    return re.split(re.escape(separator) + r"(?![^\[(]*[\])])", text) if text else []


def _fits(kind: str, value: Any, is_in_list: bool = False) -> bool:
    """Whether the value is of the kind; True for kinds not known here."""
    if "[" in kind:
        inner = _split(_inner(kind), " | ")
        return isinstance(value, (list, tuple)) and all(
            any(_fits(k, x, is_in_list=True) for k in inner) for x in value
        )
    if isinstance(value, Tensor) and kind in ("Number", "complex", "float", "int"):
        is_integer = not (value.is_floating_point() or value.is_complex())
        if kind != "int":
            return value.dim() == 0
        # One of several ints may have any shape.
        is_one = value.numel() == 1 if is_in_list else value.dim() == 0
        return is_one and is_integer and value.dtype != _core.bool
    if kind == "int":  # no bool, which Python counts among the integers
        return not isinstance(value, bool) and hasattr(value, "__index__") and _is_short(value)
    if kind == "bool" and type(value).__module__ == "numpy":
        return type(value).__name__ in ("bool", "bool_")
    return isinstance(value, _kinds().get(kind, object)) and (kind != "Number" or _is_short(value))


def _is_short(value: Any) -> bool:
    """Whether an int is one of 64 bits; True for whatever is no int."""
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _inner(kind: str) -> str:
    """The kind of the elements, of the first one for ``tuple[Tensor, Tensor]``."""
    return kind.partition("[")[2].removesuffix("]").partition(", ")[0]


@functools.cache
def _kinds() -> dict[str, Any]:
    from numbers import Complex, Integral

    return {
        "None": type(None),
        "Number": Complex,
        "Tensor": Tensor,
        "bool": bool,
        "complex": Complex,
        "device": _core.device,
        "dtype": (_core.dtype, type),
        "float": Complex,  # what is not real is refused as a number, not for its type
        "int": Integral,
        "str": str,
    }


def _words(kind: str) -> str:
    """What the kind is called: "an int", "a sequence of ints", "None"."""
    if "[" in kind:
        return f"a sequence of {_words(_inner(kind).partition(' | ')[0]).split()[-1]}s"
    kind = kind.rpartition(".")[2]
    kind = kind.lower() if kind in ("Number", "Tensor") else kind
    return kind if kind == "None" else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def described(value: Any) -> str:
    """The type, that of a list with the types in it."""
    if isinstance(value, int) and value.bit_length() > 63:
        return "an int of more than 64 bits"
    # Not imported for this: an error that a damaged file causes must not run other code.
    absent = sys.modules.get("facula._absent_types")
    if absent is not None and isinstance(value, absent.AbsentDType):
        return f"{value}, of which there are no tensors"
    if not isinstance(value, (list, tuple)) or not value:
        return type_name(value)
    inside = " | ".join(dict.fromkeys(type_name(x) for x in value))
    return f"{type_name(value)}[{inside}]"

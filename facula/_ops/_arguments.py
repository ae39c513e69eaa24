"""What operations refuse: something else where a tensor, or another kind of argument, is wanted."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor

# How to make a tensor of the usual things that are none.
_CONVERSIONS = {
    "PIL": "facula.vision.transforms.ToTensor(), or with pil_to_tensor() to keep its numbers",
    "list": "facula.tensor()",
    "numpy.ndarray": "facula.from_numpy()",
    "torch": "facula.from_dlpack()",
    "tuple": "facula.tensor()",
}


def refuse_other_than_tensors(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """PyTorch's TypeError, if something else was given where the operation wants a tensor."""
    import inspect  # slow to import, and needed for an error only
    import re

    many = r"(Sequence|list|tuple)\[Tensor(, \.\.\.)?\]"
    only_tensors = re.compile(rf"(Tensor|{many}|Tensor \| {many})( \| None)?")
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:  # too many or too few: the call says so
        return
    for name, value in given.items():
        hint = signature.parameters[name].annotation
        # Where something else may stand too, a function for example, it is not for us to refuse.
        if not only_tensors.fullmatch(hint):
            continue
        takes_several = (
            "[" in hint or signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        )
        for x in value if takes_several and isinstance(value, (list, tuple)) else (value,):
            if not isinstance(x, Tensor) and not (x is None and "None" in hint):
                raise TypeError(
                    f"{function.__name__}: expected a tensor as {name}, got {type_name(x)}."
                    f"{advice(x)}"
                ) from None


def wrap_dim(name: str, x: Tensor, dim: int) -> int:
    """The dimension, counted from the front; an error of the operation where there is none such."""
    n_dims = max(x.dim(), 1)
    if not -n_dims <= dim < n_dims:
        raise IndexError(f"{name}: dim {dim} is out of range for {tuple(x.shape)}.")
    return dim % n_dims


def type_name(value: Any) -> str:
    """The type as the user knows it: ``float``, ``numpy.ndarray``."""
    kind = type(value)
    is_plain = kind.__module__ in ("builtins", "facula")
    return kind.__qualname__ if is_plain else f"{kind.__module__}.{kind.__qualname__}"


def advice(value: Any) -> str:
    """How to make a tensor of the value, as a sentence; "" where there is no usual way."""
    if isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) for x in value):
        return " Join its tensors with facula.stack() or facula.cat()."
    name = type_name(value)
    way = _CONVERSIONS.get(name) or _CONVERSIONS.get(name.partition(".")[0])
    return f" Convert it with {way}." if way else ""


def explain(text: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    """What is wrong with arguments that fit no signature of a bound function.

    ``text`` is what nanobind says: the name of the function, and its signatures, one to a line.
    """
    name = text.partition("(")[0]
    name = name if name.startswith("__") else name.removeprefix("_")
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
        wanted = [w for p in problems if p[:2] == (first, argument) for w in p[3]]
        *most, last = dict.fromkeys(wanted)
        expected = f"{', '.join(most)} or {last}" if most else last
        convert = advice(value) if "a tensor" in wanted else ""
        return f"{name}: expected {expected} as {argument}, got {_described(value)}.{convert}"
    is_method = all("(self" in signature for signature in signatures)
    given = [_described(x) for x in args[is_method:]]
    given += [f"{key}={_described(x)}" for key, x in kwargs.items()]
    expected = " or ".join(
        signature[signature.index("(") :].replace("(self, ", "(").replace("(self)", "()")
        for signature in signatures
    ).replace("collections.abc.", "")
    return f"{name}: expected {expected}, got ({', '.join(given)})."


def _problem(
    signature: str, args: list[Any], kwargs: dict[str, Any]
) -> tuple[int, str, Any, list[str]]:
    """The first argument that does not fit: its place, name, value, and what would fit.

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
        kinds = _split("Tensor" if name == "self" else hints[name], " | ")
        if not any(_fits(kind, value) for kind in kinds):
            return place, name, value, [_words(kind) for kind in kinds]
    return len(given), "", None, []


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators that are not in brackets."""
    import re

    return re.split(re.escape(separator) + r"(?![^\[(]*[\])])", text) if text else []


def _fits(kind: str, value: Any) -> bool:
    """Whether the value is of the kind; True for kinds not known here."""
    if "[" in kind:
        inner = _split(_inner(kind), " | ")
        return isinstance(value, (list, tuple)) and all(
            any(_fits(k, x) for k in inner) for x in value
        )
    if isinstance(value, Tensor) and value.dim() == 0 and kind in ("Number", "float", "int"):
        return True
    return isinstance(value, _kinds().get(kind, object))


def _inner(kind: str) -> str:
    """The kind of the elements, of the first one for ``tuple[Tensor, Tensor]``."""
    return kind.partition("[")[2].removesuffix("]").partition(", ")[0]


@functools.cache
def _kinds() -> dict[str, Any]:
    from numbers import Complex, Integral, Real

    return {
        "None": type(None),
        "Number": Complex,
        "Tensor": Tensor,
        "bool": bool,
        "device": _core.device,
        "dtype": (_core.dtype, type),
        "float": Real,
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


def _described(value: Any) -> str:
    """The type, that of a list with the types in it."""
    if isinstance(value, int) and value.bit_length() > 63:
        return "an int of more than 64 bits"
    if not isinstance(value, (list, tuple)) or not value:
        return type_name(value)
    inside = " | ".join(dict.fromkeys(type_name(x) for x in value))
    return f"{type_name(value)}[{inside}]"

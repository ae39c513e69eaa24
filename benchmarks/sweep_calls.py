"""The calls of the sweep: each public function with arguments, by family.

A function that needs no more than tensors, and perhaps a dim, is called as its signature says;
sweep_table.py has the calls of the others.
"""

import functools
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from sweep_inputs import DTYPES, LAYOUTS
from sweep_table import WRITTEN

Combination = tuple[str, str, str, int]  # size, layout, dtype, threads


def _plan(
    first: str, *others: str, largest: str = "1M", layouts: tuple[str, ...] = LAYOUTS
) -> list[Combination]:
    """All layouts for one dtype alone; two threads only where there is work for them."""
    rows = [("8", "contiguous", first, 1)]
    rows += [("1k", layout, first, 1) for layout in layouts]
    rows += [(largest, layout, first, n) for layout, n in product(layouts, (1, 2))]
    return rows + [(size, "contiguous", d, 1) for d in others for size in ("1k", largest)]


PLANS: dict[str, list[Combination]] = {
    "all": _plan(*DTYPES),
    "slow": _plan(*DTYPES, largest="64k"),
    "floating": _plan("float32", "float64", "bfloat16", "float16"),
    "integers": _plan("int64", "int32", "uint8", "bool"),
    "factors": _plan("float32", "float64", "complex64", largest="64k", layouts=LAYOUTS[:2]),
    "new": _plan(*DTYPES, layouts=LAYOUTS[:1]),
    "brief": [("8", "contiguous", "float32", 1), ("1M", "contiguous", "float32", 1)],
    "brief integers": [("8", "contiguous", "int64", 1), ("1M", "contiguous", "int64", 1)],
    "once": [("8", "contiguous", "float32", 1)],
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# These take numbers between 0 and 1, or from 1 on.
_BETWEEN_0_AND_1 = _names(
    """log log2 log10 log1p sqrt rsqrt asin arcsin acos arccos atanh arctanh erfinv logit entr ndtri
    xlogy xlog1py lgamma digamma bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1
    scaled_modified_bessel_k0 scaled_modified_bessel_k1 cumprod prod histc"""
)
_FROM_1 = _names("acosh arccosh")
# Other names of functions that have all rows already.
_ALIASES = _names(
    """absolute arccos arccosh arcsin arcsinh arctan arctan2 arctanh clip divide true_divide fix
    greater greater_equal less less_equal multiply negative not_equal subtract"""
)
# They take longer than 20 ns an element.
_SLOW = _names("erfinv lgamma digamma i0 nextafter")

_MODULES = ("torch", "F", "torch.linalg", "torch.fft", "torch.special")
_FUNCTION = re.compile(r"\b((?:torch\.(?:linalg|fft|special)|torch|F)\.\w+)")
_LAYER = re.compile(r"\bnn\.(\w+)")
_METHOD = re.compile(r"\.(\w+)")
# A call whose first argument can be changed in place: module, function, the argument, the rest.
_SIMPLE = re.compile(r"(torch|F)\.(\w+)\((x|p|above_1)((?:, .*)?)\)")


@dataclass(frozen=True)
class Call:
    family: str
    text: str
    plan: str
    is_beside: bool = False  # the one that the signature gives

    def functions(self) -> list[str]:
        return _FUNCTION.findall(self.text.rpartition("; ")[2])

    def names(self) -> set[str]:
        """What the call covers: functions, layers, and methods."""
        methods = {f"Tensor.{name}" for name in _METHOD.findall(self.text.rpartition("; ")[2])}
        layers = {f"nn.{name}" for name in _LAYER.findall(self.text)}
        return {*self.functions()} | layers | methods


def find(torch: Any, name: str) -> Any:
    """The object that calls name ``torch.exp`` or ``F.gelu``."""
    path = name.replace("F.", "torch.nn.functional.").split(".")[1:]
    return functools.reduce(getattr, path, torch)


def exported(torch: Any) -> dict[str, Any]:
    """The functions by their names, ``F.gelu``; one that has several is there once."""
    found: dict[int, tuple[str, Any]] = {}
    for module in _MODULES:
        for name in sorted(find(torch, f"{module}.__all__")):
            function = find(torch, f"{module}.{name}")
            if callable(function) and not isinstance(function, (type, types.ModuleType)):
                found.setdefault(id(function), (f"{module}.{name}", function))
    return dict(found.values())


def methods(torch: Any) -> list[str]:
    """The methods that are no functions too."""
    functions = {name for module in _MODULES for name in find(torch, f"{module}.__all__")}
    return [n for n in dir(torch.Tensor) if not n.startswith("_") and n not in functions]


def expanded(line: str) -> list[str]:
    """A call for each name in braces."""
    before, _, rest = line.partition("{")
    if not rest:
        return [line]
    names, _, after = rest.partition("}")
    return [before + name + end for name in names.split() for end in expanded(after)]


def written() -> Iterator[Call]:
    for (family, plan), lines in WRITTEN.items():
        for line in lines.strip().splitlines():
            text = line.strip().removeprefix("+ ")
            is_beside = text != line.strip()
            yield from (Call(family, one, plan, is_beside) for one in expanded(text))


def from_signature(name: str, function: Any) -> Iterator[Call]:
    """Calls with tensors alone, and along a dim; none if the function needs more."""
    from tests.random_calls import parameters_of

    module, _, leaf = name.rpartition(".")
    parameters = parameters_of(function)
    needed = [p.name for p in parameters if not p.is_optional]
    if not needed and leaf.startswith(("is_", "get_", "are_")):
        yield Call("views", f"{name}()", "once")
    x = "p" if leaf in _BETWEEN_0_AND_1 else "above_1" if leaf in _FROM_1 else "x"
    is_slow = module == "torch.special" or leaf in _SLOW
    plan = "brief" if leaf in _ALIASES else "slow" if is_slow else "all"
    if leaf.startswith("bitwise_") or leaf in ("gcd", "lcm"):
        args = "x, y" if needed == ["input", "other"] else "x"
        yield Call("integers", f"{name}({args})", "integers")
        return
    if needed == ["input", "other"]:
        yield Call("special" if is_slow else "binary", f"{name}({x}, y)", plan)
    if needed == ["input", "dim"]:
        yield Call("reductions", f"{name}({x}, 1)", plan)
    if needed != ["input"]:
        return
    dim = next((p for p in parameters if p.name == "dim"), None)
    family = "spectra" if module == "torch.fft" else "reductions" if dim else "unary"
    if module != "F" or not dim:
        yield Call("special" if is_slow else family, f"{name}({x})", plan)
    if dim and (module == "F" or "None" in dim.type):
        yield Call(family, f"{name}({x}, dim=1)", plan)


def in_place(torch: Any, calls: list[Call]) -> Iterator[Call]:
    """For functions and methods whose names end in _, the call of the function without it."""
    functions, known = exported(torch), {name for call in calls for name in call.names()}
    for call in calls:
        found = _SIMPLE.fullmatch(call.text)
        if found is None or call.family == "views":
            continue
        module, leaf, x, rest = found.groups()
        function, method = f"{module}.{leaf}_", f"Tensor.{leaf}_"
        plan = {"integers": "brief integers", "slow": "once"}.get(call.plan, "brief")
        if function in functions and function not in known:
            yield Call("in place", f"{function}(w.copy_({x}){rest})", plan)
        elif module == "torch" and hasattr(torch.Tensor, f"{leaf}_") and method not in known:
            yield Call("in place", f"w.copy_({x}).{leaf}_({rest.removeprefix(', ')})", plan)
        known |= {function, method}


def all_calls(torch: Any) -> list[Call]:
    """Every call of the sweep, in the order of the table."""
    calls = list(written())
    alone = [call for call in calls if not call.is_beside]
    covered = {id(find(torch, name)) for call in alone for name in call.functions()}
    for name, function in exported(torch).items():
        if id(function) not in covered and not name.endswith("_"):
            calls += from_signature(name, function)
    calls += in_place(torch, calls)
    families = list(dict.fromkeys(call.family for call in calls))
    return sorted(dict.fromkeys(calls), key=lambda call: (families.index(call.family), call.text))


def public(torch: Any) -> list[str]:
    """Functions, methods that are no functions too, and layers."""
    layers = [n for n in torch.nn.__all__ if isinstance(getattr(torch.nn, n), type)]
    names = [f"Tensor.{name}" for name in methods(torch)] + [f"nn.{name}" for name in layers]
    return [*exported(torch), *names]


def uncovered(torch: Any, calls: list[Call]) -> list[str]:
    """Those of the public names that no call has."""
    names = {name for call in calls for name in call.names()}
    objects = {id(find(torch, name)) for name in names if name.startswith(("torch.", "F."))}
    names |= {name for name, function in exported(torch).items() if id(function) in objects}
    return [name for name in public(torch) if name not in names]

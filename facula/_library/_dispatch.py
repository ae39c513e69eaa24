"""``__torch_dispatch__``: the operations of programs as those of PyTorch's core, ``aten``.

Modes and classes with ``__torch_dispatch__`` are asked at the seam, where every operation of the
core enters. They see the overload of ``aten`` that PyTorch would run, with arguments in the order
of its schema and defaults left out. In the place of an operation that PyTorch composes of others
they see those, which a rule of :mod:`facula._library._parts` calls, or what it is composed of here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from facula import _core, return_types
from facula._core import Tensor
from facula._library import _aten, _parts
from facula._library._aten import REDUCTIONS
from facula._library._schemas import dispatched_overloads, schema_of
from facula._library.operators import OpOverload, OpOverloadPacket, _find_aten, namespace
from facula._library.schema import Argument, FunctionSchema, fits
from facula._transform import map_tensors, name_of, tensors_in
from facula._utils import form_of
from facula.autograd.function import Function

__all__ = ["ask_classes", "ask_mode", "push_mode"]

# dispatch(overload, *args, **kwargs): the answer of a ``__torch_dispatch__``.
Dispatch = Callable[..., Any]

# Operations that take a number for a tensor also where there is an overload for numbers.
_TAKE_NUMBERS = {
    *("add", "add_", "div", "div_", "divide", "divide_", "floor_divide", "floor_divide_"),
    *("mul", "mul_", "multiply", "multiply_", "sub", "sub_", "subtract", "subtract_"),
    *("true_divide", "true_divide_"),
}
# By other names than in schemas: what our functions call their parameters.
_OTHER_NAMES = {
    "axis": "dim",
    "keepdims": "keepdim",
    "split_size_or_sections": "split_size",
    "other": "src",
}
# Parameters of functions that not every overload has, and that change nothing as None or False.
_OPTIONS = {
    *("as_tuple", "generator", "inplace", "keepdim", "names", "range", "reduce", "requires_grad"),
    *("return_indices", "size_average", "stable", "stride"),
}
_NOTHING: Any = object()


# ---- who is asked


def ask_mode(mode: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of a mode that is out of the way: what it calls goes to the next one."""

    def dispatch(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
        types = tuple(type(x) for x in _asked(args, kwargs))
        return mode.__torch_dispatch__(op, types, args, kwargs)

    def dispatch_part(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
        _core._pop_torch_function_mode()
        try:
            return dispatch(op, *args, **kwargs)
        finally:
            push_mode(mode)

    def in_parts(function: Callable[[Dispatch], Any]) -> Any:
        push_mode(mode)
        try:
            return function(dispatch_part)
        finally:
            _core._pop_torch_function_mode()

    return _translated(func, args, kwargs, dispatch, in_parts, func)


def ask_classes(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of the classes with ``__torch_dispatch__`` among the arguments."""

    def as_it_is(*args: Any, **kwargs: Any) -> Any:
        if func.__name__ in ("stride", "is_contiguous") and hasattr(args[0], "_wrapper_strides"):
            args = (form_of(args[0]), *args[1:])
        return _core._resume(func, args, kwargs)

    def answer() -> Any:
        return _translated(func, args, kwargs, _ask, lambda function: function(_ask), as_it_is)

    # The view of a wrapper that is written to has no base here: the wrapper gets the history too.
    if func.__name__ == "__setitem__":
        return _write(_parts.aten("copy_"), args, kwargs, answer)
    return answer()


def push_mode(mode: Any) -> None:
    """Make a mode the innermost one."""
    _core._push_transform(mode, _composed_operations())


def _asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The tensors that are asked, one of each class, subclasses before what they are made of."""
    found: list[Any] = []
    for x in tensors_in((*args, *kwargs.values())):
        if type(x).__torch_dispatch__ is Tensor.__torch_dispatch__:
            continue
        if any(type(x) is type(y) for y in found):
            continue
        place = next((i for i, y in enumerate(found) if isinstance(x, type(y))), len(found))
        found.insert(place, x)
    return found


def _ask(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    asked = _asked(args, kwargs)
    if not asked:  # a part that has none of the tensors
        return op(*args, **kwargs)

    def answer() -> Any:
        types = tuple(map(type, asked))
        for x in asked:
            result: Any = x.__torch_dispatch__(op, types, args, kwargs)
            if result is not NotImplemented:
                return result
        raise TypeError(
            f"Multiple dispatch failed for 'torch.ops.{op}'; all __torch_dispatch__ handlers "
            "returned NotImplemented:\n"
            + "".join(f"\n  - tensor subclass {type(x)!r}" for x in asked)
        )

    if _is_in_place(op) and args and isinstance(args[0], Tensor):
        return _write(op, args, kwargs, answer)
    result = _without_gradient(op, args, kwargs, answer())
    if _is_view(op):
        for x in tensors_in([result]):
            if hasattr(x, "_wrapper_strides"):
                vars(x)["_wrapper_base"] = args[0]
    return result


@functools.cache
def _is_view(op: OpOverload) -> bool:
    """Whether a write to the result changes the first argument, history included."""
    schema = schema_of(op._opname, op._overloadname) or ""
    return "(Tensor(a) " in schema and op._opname != "detach"


def _write(op: OpOverload, args: Any, kwargs: Any, answer: Callable[[], Any]) -> Tensor:
    """The tensor that an operation in place writes to, whatever the class returns."""
    written: Tensor = args[0]
    is_leaf = written.requires_grad and written.is_leaf
    if is_leaf and _core.is_grad_enabled() and op._opname != "detach_":
        raise RuntimeError(
            f"{op._opname}: a leaf that requires grad cannot be written to while gradients are "
            "recorded. Write to it under no_grad(), or work on a copy. (a leaf Variable that "
            "requires grad is being used in an in-place operation)"
        )
    history = written.grad_fn
    answer()
    if op._opname == "detach_":
        return _core._resume(Tensor.detach_, (written,), {})  # type: ignore[no-any-return]
    if written.grad_fn is history:  # else the class passed the operation on, which was recorded
        _without_gradient(op, args, kwargs, written, is_written=True)
        base = getattr(written, "_wrapper_base", None)
        while base is not None:
            _without_gradient(op, (base, *args), kwargs, base, is_written=True)
            base = getattr(base, "_wrapper_base", None)
    return written


def _is_in_place(op: OpOverload) -> bool:
    return op._opname.endswith("_") and not op._opname.endswith("__")


class _NoDerivative(Function):
    """Gives results a history that ends in an error, not in a gradient that is missing."""

    @staticmethod
    def forward(
        ctx: Any, op: OpOverload, made: list[Tensor], is_written: bool, *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.op = op
        if is_written:
            ctx.mark_dirty(*made)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotImplementedError(
            f"{ctx.op.name()}: no derivative is recorded for what __torch_dispatch__ of a class "
            "computes. Give the class a __torch_function__ that calls an autograd.Function, or let "
            "the tensors inside of it require gradients."
        )


def _without_gradient(
    op: OpOverload, args: Any, kwargs: Any, result: Any, is_written: bool = False
) -> Any:
    """The result with a history, where the class recorded none though an input has one."""
    if not _core.is_grad_enabled() or op._opname in ("detach", "alias"):
        return result
    inputs = [
        x
        for x in tensors_in((*args, *kwargs.values()))
        if x.requires_grad and type(x) is not Tensor
    ]
    made = {
        id(x): x
        for x in tensors_in([result])
        if (is_written or not x.requires_grad) and (x.is_floating_point() or x.is_complex())
    }
    if not inputs or not made:
        return result
    if is_written and hasattr(result, "_wrapper_strides"):
        # The core writes to no wrapper, whose elements share a place: it is given a history as if
        # it were new, and stands for itself before by an alias.
        inputs = [_core._resume(Tensor.view_as, (x, x), {}) if x is result else x for x in inputs]
        is_written = False
    elif is_written:  # to a view, perhaps, whose base takes its history from the first input
        inputs = [result, *(x for x in inputs if x is not result)]
    outputs = _NoDerivative.apply(op, list(made.values()), is_written, *inputs)
    recorded = dict(zip(made, outputs, strict=True))
    return map_tensors(lambda x: recorded.get(id(x), x), result)


# ---- which overload they see


def _translated(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dispatch: Dispatch,
    in_parts: Callable[[Callable[[Dispatch], Any]], Any],
    as_it_is: Callable[..., Any],
) -> Any:
    name = name_of(func)
    is_question = name in _parts.QUESTIONS or name.endswith(("__get__", "__set__"))
    if is_question and name not in _parts.RULES:
        return as_it_is(*args, **kwargs)
    if isinstance(func, _core._Operation) and func not in _composed_operations():
        return in_parts(lambda dispatch: _core._resume(func, args, kwargs))
    if kwargs.get("out", _NOTHING) is None:
        del kwargs["out"]
    rule = _parts.RULES.get(name) if "out" not in kwargs else None
    if rule is not None and _takes(rule, args, kwargs):
        result = in_parts(lambda dispatch: rule(dispatch, *args, **kwargs))
        if result is not NotImplemented:
            return result
    if is_question:
        return as_it_is(*args, **kwargs)
    own_name = _own_name(func, name)
    op, given, named = _chosen(own_name, args, kwargs)
    if op is not None:
        return _as_of_python(own_name, dispatch(op, *given, **named))
    return dispatch(_overload_of(func, own_name), *args, **kwargs)


def _takes(rule: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a rule has parameters for these arguments."""
    try:
        _signature(rule).bind(None, *args, **kwargs)
    except TypeError:
        return False
    return True


_signature = functools.cache(inspect.signature)


def _as_of_python(name: str, result: Any) -> Any:
    """A result of a kernel as the function returns it: tuples, with names where they have some."""
    kind = getattr(return_types, name, None) if isinstance(result, (tuple, list)) else None
    if kind is not None and len(result) == kind.n_fields:
        return kind(result)
    return tuple(result) if type(result) is list else result


def _own_name(func: Any, name: str) -> str:
    """The name in ``aten``: ``linalg_inv``, and ``mse_loss`` for the core's ``_mse_loss``."""
    module = getattr(func, "__module__", None) or ""
    for chapter in ("linalg", "fft"):
        if module.startswith(f"facula.{chapter}") and dispatched_overloads(f"{chapter}_{name}"):
            return f"{chapter}_{name}"
    if name.startswith("_") and not name.startswith("__") and not dispatched_overloads(name):
        return name[1:]
    return name


def _chosen(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[OpOverload | None, list[Any], dict[str, Any]]:
    """The overload that takes these arguments, and they in its form."""
    overloads = dispatched_overloads(name)
    packet = getattr(namespace("aten"), name, None) if overloads else None
    for overload in overloads if packet is not None else ():
        op: OpOverload = getattr(packet, overload)
        if op._schema is not None:
            bound = _bound(op._schema, args, kwargs)
            if bound is not None:
                return op, *bound
    return None, [], {}


def _overload_of(func: Any, name: str) -> OpOverload:
    """The operation of a function that PyTorch composes, or has not: then of our own namespace."""
    packet: Any = getattr(namespace("aten"), name, None)
    # Another function may take other arguments than the operation of its name.
    is_same = packet is not None and func in (packet.op, getattr(Tensor, name, None))
    if not is_same or packet.op in vars(_aten).values():
        place = namespace("facula")
        packet = vars(place).get(func.__name__)
        if packet is None:
            packet = OpOverloadPacket("facula", func.__name__)
            packet._overloads["default"] = OpOverload(packet, "default", None, func)
            setattr(place, func.__name__, packet)
    return next(iter(packet._overloads.values()))  # type: ignore[no-any-return]


def _bound(
    schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """Arguments in the order of a schema, without those at the end that are defaults."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    given = dict(zip((a.name for a in positional), args, strict=False))
    last = positional[min(len(args), len(positional)) - 1] if positional and args else None
    rest = args[len(positional) - 1 :] if len(args) >= len(positional) else args[-1:]
    if last is not None and last.type.endswith("[]") and all(type(n) is int for n in rest):
        given[last.name] = list(rest)  # x.view(2, 3)
    elif len(args) > len(positional):
        return None
    known = {a.name for a in schema.arguments}
    for key, value in kwargs.items():
        name = key if key in known else _OTHER_NAMES.get(key, key)
        if name not in known and key in ("input", "tensor", "tensors") and not args:
            name = schema.arguments[0].name
        if name in known:
            given[name] = value
        elif key not in _OPTIONS or (value is not None and value is not False):
            return None
    values = {}
    for argument in schema.arguments:
        value = _value(schema.name, argument, given.get(argument.name, _NOTHING))
        if value is _NOTHING:
            return None
        values[argument.name] = value
    last_given = max(
        (i for i, a in enumerate(positional) if not _is_default(a, values)), default=-1
    )
    ordered = [values[a.name] for a in positional[: last_given + 1]]
    named = [a for a in schema.arguments if a.kwarg_only and not _is_default(a, values)]
    return ordered, {a.name: values[a.name] for a in named}


def _value(name: str, argument: Argument, value: Any) -> Any:
    """The value as the schema has it; _NOTHING where it does not fit."""
    if value is _NOTHING or (value is None and not argument.type.endswith("?")):
        if argument.has_default:
            return argument.default_value
        return _NOTHING if value is _NOTHING or argument.type != "Tensor" else value
    if argument.name == "reduction" and value in REDUCTIONS:
        value = REDUCTIONS.index(value)
    kind = argument.type.rstrip("?")
    takes_number = kind == "Tensor" and name.removeprefix("aten::") in _TAKE_NUMBERS
    if takes_number and isinstance(value, (int, float, complex)):
        return value
    if not fits(argument.type, value):
        return _NOTHING
    if kind.endswith("]") and value is not None:
        if isinstance(value, (tuple, list)):
            return list(value)
        length = kind[:-1].rpartition("[")[2]
        return [value] * int(length or 1)
    return value


def _is_default(argument: Argument, values: dict[str, Any]) -> bool:
    value = values[argument.name]
    if not argument.has_default or isinstance(value, Tensor):
        return False
    default = argument.default_value
    if isinstance(default, int) and isinstance(value, list):  # int[2] padding=0
        return all(n == default for n in value)
    return bool(value is default or (type(value) is type(default) and value == default))


@functools.cache
def _composed_operations() -> set[Any]:
    """Operations composed in Python that have an overload or a rule of their own."""
    import facula
    from facula.nn import functional

    found: set[Any] = set()
    for place in (facula, facula.linalg, facula.special, facula.fft, functional, Tensor):
        for name, function in vars(place).items():
            if not isinstance(function, _core._Operation):
                continue
            # A function that calls one of the core of its own name checks arguments only.
            is_front = hasattr(_core, name) or hasattr(_core, f"_{name}")
            is_other = place is functional and _find_aten(name) is not function
            own_name = _own_name(function, name)
            has_overload = dispatched_overloads(own_name) and not is_other
            if (has_overload or name in _parts.RULES) and not is_front:
                found.add(function)
    return found

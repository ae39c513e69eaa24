"""``ops.namespace.name.overload``: operations by name, of programs and of the package."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._library import _aten
from facula._library._overloads import overloads_of
from facula._library._schemas import schema_of
from facula._library.schema import FunctionSchema, check_arguments, check_result, parse
from facula._ops._mark import LOOPED
from facula._transform import tensors_in
from facula.autograd.function import Function
from facula.autograd.grad_mode import no_grad

__all__ = ["OpOverload", "OpOverloadPacket", "namespaces"]

# The keys of PyTorch's dispatcher that a kernel can be given for, and the kind of device they mean.
_DEVICES = {kind: kind for kind in ("cpu", "cuda", "meta")}
_DEVICES |= {"CPU": "cpu", "CUDA": "cuda", "Meta": "meta"}
_EVERYWHERE = ("default", "CompositeExplicitAutograd", "")
_AS_IT_IS = "CompositeImplicitAutograd"


Undo = Callable[[], None]


class Registry(dict[str, Any]):
    """What is registered by name: of several by one name, the last that was not taken away."""

    def __init__(self) -> None:
        super().__init__()
        self._layers: dict[str, dict[object, Any]] = {}

    def add(self, name: str, value: Any) -> Undo:
        """Register a value; returns what takes this one away again, and no other."""
        layers, key = self._layers.setdefault(name, {}), object()
        layers[key] = self[name] = value

        def undo() -> None:
            layers.pop(key, None)
            if layers:
                self[name] = next(reversed(layers.values()))
            else:
                self.pop(name, None)

        return undo


class OpOverload:
    """One operation: a schema, a kernel for each kind of device, a derivative.

    Args:
        packet: the name that it belongs to.
        overload: its own name, ``"default"`` where there is one.
        schema: its parameters and results; None for most operations of the package.
        function: what it does, for operations of the package.
    """

    def __init__(
        self,
        packet: OpOverloadPacket,
        overload: str,
        schema: FunctionSchema | None = None,
        function: Callable[..., Any] | None = None,
    ) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname = overload
        self._schema = schema
        self.namespace, self._opname = packet.namespace, packet.opname
        self.__name__ = f"{packet.opname}.{overload}"
        self.__qualname__, self.__module__ = f"{packet.opname}_{overload}", packet.__module__
        self.tags: list[Any] = []
        self.kernels = Registry()
        self.disabled: set[str] = set()
        self.checks_aliases = False
        self.casts = Registry()
        self._rules = Registry()  # "composed", "autograd" and "vmap"
        # Entered through the seam, so that modes and subclasses see the operation.
        self._op: Any = function
        self.is_of_package = function is not None
        if function is None:
            self._op = _core._Operation(self._run, None, False)
            self._op.__name__ = self._op.__qualname__ = self.__name__
            LOOPED.add(self._op)

    @property
    def op(self) -> Any:
        """What is called."""
        return self._op

    def name(self) -> str:
        """The full name, ``mylib::scale``."""
        name = f"{self.namespace}::{self._opname}"
        return name if self._overloadname == "default" else f"{name}.{self._overloadname}"

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        where = f"{self.namespace}.{self._opname}"
        return f"<OpOverload(op='{where}', overload='{self._overloadname}')>"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _find, (self.namespace, self._opname, self._overloadname)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Whether a kernel was given for a key of PyTorch's dispatcher.

        Args:
            k: the key.
        """
        return _DEVICES.get(str(k).rpartition(".")[2], str(k)) in self.kernels

    # What programs register; each of these returns what takes it away again

    def set_kernel(
        self, key: str, function: Callable[..., Any], allow_override: bool = True
    ) -> Undo:
        """Keep what the operation does on a kind of device, or everywhere."""
        if self.is_of_package:
            raise RuntimeError(
                f"library: the operations of the package have kernels of their own, which cannot "
                f"be replaced: {self.name()}. Use a TorchFunctionMode."
            )
        place, name = self.kernels, _DEVICES.get(key, "default")
        if key == _AS_IT_IS or key.startswith("Autograd"):
            place, name = self._rules, "composed"
        elif key not in _DEVICES and key not in _EVERYWHERE:
            raise RuntimeError(
                f"library: expected a kind of device such as 'cpu' or 'cuda' for {self.name()}, "
                f"got {key!r}."
            )
        if name in place and not allow_override:
            raise RuntimeError(
                f"library: {self.name()} has a kernel for {key!r} already, which "
                "allow_override=False must not replace."
            )
        return place.add(name, function)

    def set_autograd(self, backward: Any, setup_context: Any) -> Undo:
        """Keep the derivative."""
        return self._rules.add("autograd", (backward, setup_context))

    def set_vmap(self, function: Callable[..., Any]) -> Undo:
        """Keep what is done for many examples at once."""
        remove_rule = self._rules.add("vmap", function)
        LOOPED.discard(self._op)

        def undo() -> None:
            remove_rule()
            if "vmap" not in self._rules:
                LOOPED.add(self._op)

        return undo

    @property
    def _backward(self) -> Callable[..., Any] | None:
        return self._rules.get("autograd", (None, None))[0]  # type: ignore[no-any-return]

    @property
    def _setup_context(self) -> Callable[..., Any] | None:
        return self._rules.get("autograd", (None, None))[1]  # type: ignore[no-any-return]

    @property
    def _vmap(self) -> Callable[..., Any] | None:
        return self._rules.get("vmap")

    # What a call does

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        if self._schema is not None:
            check_arguments(self._schema, args, kwargs)
        cast = self._cast(args, kwargs)
        if cast is not None:
            return cast
        composed = self._rules.get("composed")
        if composed is not None:
            result = composed(*args, **kwargs)
            self._check_result(result)
            return result
        if not self.checks_aliases and self._backward is None and self._vmap is None:
            return self._kernel(args, kwargs)  # whose own operations are recorded
        return self._recorded(args, kwargs)

    def _cast(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result under autocast; None where there is none for the operation."""
        from facula.amp import autocast
        from facula.utils._pytree import tree_map

        for kind, dtype in self.casts.items():
            if _core.is_autocast_enabled(kind):

                def convert(x: Any, kind: str = kind, dtype: Any = dtype) -> Any:
                    is_cast = isinstance(x, Tensor) and x.is_floating_point()
                    return x.to(dtype) if is_cast and x.device.type == kind else x

                args, kwargs = tree_map(convert, (args, kwargs))
                with autocast(kind, enabled=False):
                    return self(*args, **kwargs)
        return None

    def _kernel(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensors = list(tensors_in((*args, *kwargs.values())))
        kind = tensors[0].device.type if tensors else "cpu"
        if any(t.device.type == "meta" for t in tensors):
            kind = "meta"
        has_own = kind in self.kernels and kind not in self.disabled
        kernel = self.kernels.get(kind if has_own else "default")
        if kind == "meta" and not has_own and self.checks_aliases:
            raise RuntimeError(
                f"There was no fake impl registered for {self.name()}: what it gives on the "
                "device meta is not known. Add one with register_fake."
            )
        if kernel is None:
            raise NotImplementedError(
                f"Could not run '{self.name()}' with arguments from the '{kind.upper()}' backend: "
                f"it has kernels for {sorted(self.kernels) or 'no device'}."
            )
        result = kernel(*args, **kwargs)
        self._check_result(result)
        if self.checks_aliases:
            self._check_aliases(result, tensors)
        for tensor in self._written(args, kwargs):
            tensor._bump_version()
        return result

    def _check_result(self, result: Any) -> None:
        if self._schema is not None:
            check_result(self._schema, result)

    def _written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
        if self._schema is None or not self._schema.is_mutable:
            return
        for i, argument in enumerate(self._schema.arguments):
            if argument.is_write:
                value = args[i] if i < len(args) else kwargs.get(argument.name)
                yield from tensors_in((value,))

    def _check_aliases(self, result: Any, inputs: list[Tensor]) -> None:
        places = {x.untyped_storage()._address() for x in inputs if x.device.type != "meta"} - {0}
        for x in tensors_in((result,)):
            if any(x is y for y in inputs) or x.untyped_storage()._address() in places:
                raise RuntimeError(
                    f"{self.name()}: the output of this custom operator must not also be an input "
                    "to it, nor share memory with one. Return a clone."
                )

    def _recorded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the kernel, which is not seen into, with the derivative of the program."""
        names = list(kwargs)
        flat, form = _flattened((*args, *kwargs.values()))
        n_args = len(args)

        def rebuilt(leaves: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
            values = _rebuilt(form, iter(leaves))
            return tuple(values[:n_args]), dict(zip(names, values[n_args:], strict=True))

        result: Any = _function_of(self).apply(rebuilt, *flat)
        return result


def _flattened(values: tuple[Any, ...]) -> tuple[list[Any], list[int | None]]:
    """Arguments with those of lists of tensors one by one: a Function sees no tensors in lists."""
    flat: list[Any] = []
    form: list[int | None] = []
    for value in values:
        is_list = isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) for x in value)
        form.append(len(value) if is_list else None)
        flat.extend(value if is_list else [value])
    return flat, form


def _rebuilt(form: list[int | None], leaves: Iterator[Any]) -> list[Any]:
    return [next(leaves) if n is None else [next(leaves) for _ in range(n)] for n in form]


def _function_of(op: OpOverload) -> type[Function]:
    """The Function of an operation; made anew where something was registered since."""
    known = getattr(op, "_function", None)
    parts = (op._backward, op._setup_context, op._vmap)
    if known is not None and known[0] == parts:
        return known[1]  # type: ignore[no-any-return]
    members: dict[str, Any] = {
        "forward": staticmethod(lambda ctx, rebuilt, *flat: _forward(op, ctx, rebuilt, flat)),
        "backward": staticmethod(lambda ctx, *grads: _backward(op, ctx, grads)),
    }
    if op._vmap is not None:
        rule = op._vmap

        def vmap(info: Any, in_dims: Any, rebuilt: Any, *flat: Any) -> Any:
            args, kwargs = rebuilt(flat)
            dims, named_dims = rebuilt(in_dims[1:])
            if named_dims:
                dims = (*dims, *named_dims.values())
            return rule(info, dims, *args, **kwargs)

        members["vmap"] = staticmethod(vmap)
    name = f"GeneratedBackwardFor_{op.namespace}_{op._opname}_{op._overloadname}"
    made = type(name, (Function,), members)
    op._function = (parts, made)  # type: ignore[attr-defined]
    return made


def _forward(op: OpOverload, ctx: Any, rebuilt: Any, flat: tuple[Any, ...]) -> Any:
    args, kwargs = rebuilt(flat)
    with no_grad():
        result = op._kernel(args, kwargs)
    written = list(op._written(args, kwargs))
    if written:
        ctx.mark_dirty(*[x for x in written if x.requires_grad])
    ctx.rebuilt, ctx.n_flat = rebuilt, len(flat)
    ctx.inputs, ctx.n_args = None, len(args)
    if op._setup_context is not None:
        named = {"keyword_only_inputs": kwargs} if _has_named(op) else {}
        op._setup_context(ctx=ctx, inputs=(*args, *_missing(op, args)), output=result, **named)
    ctx.is_single = not isinstance(result, (tuple, list))
    return tuple(result) if isinstance(result, list) else result


def _has_named(op: OpOverload) -> bool:
    return op._schema is not None and any(a.kwarg_only for a in op._schema.arguments)


def _missing(op: OpOverload, args: tuple[Any, ...]) -> list[Any]:
    """The defaults of arguments that a caller has left out."""
    if op._schema is None:
        return []
    positional = [a for a in op._schema.arguments if not a.kwarg_only]
    return [a.default_value for a in positional[len(args) :]]


def _backward(op: OpOverload, ctx: Any, grads: tuple[Any, ...]) -> Any:
    if op._backward is None:
        raise RuntimeError(
            f"Trying to backward through {op} but no autograd formula was registered. Please use "
            "register_autograd to add one."
        )
    result = op._backward(ctx, *grads)
    values = result if isinstance(result, tuple) else (result,)
    flat: list[Any] = []
    for value in values:
        flat.extend(value if isinstance(value, (list, tuple)) else [value])
    flat = flat[: ctx.n_flat]
    return None, *flat, *[None] * (ctx.n_flat - len(flat))


class OpOverloadPacket:
    """All operations of one name.

    Args:
        namespace: the namespace.
        opname: the name in it.
    """

    def __init__(self, namespace: str, opname: str) -> None:
        self.namespace, self.opname = namespace, opname
        self.__name__ = self._name = opname
        self.__module__ = f"facula.ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{opname}"
        self._overloads: dict[str, OpOverload] = {}

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("_overloads", {}).get(name)
        if found is None:
            raise AttributeError(
                f"The underlying op of '{self.namespace}.{self.opname}' has no overload name "
                f"'{name}'"
            )
        return found

    def overloads(self) -> list[str]:
        """The names of the operations."""
        return list(self._overloads)

    @property
    def op(self) -> Any:
        """What is called."""
        return next(iter(self._overloads.values())).op

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        errors = []
        for overload in self._overloads.values():
            try:
                if overload._schema is not None:
                    check_arguments(overload._schema, args, kwargs)
            except RuntimeError as error:
                errors.append(error)
                continue
            return overload(*args, **kwargs)
        raise errors[0]

    def __str__(self) -> str:
        return f"{self.namespace}.{self.opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self


class _PackageOperation(OpOverloadPacket):
    """An operation of the package: its overloads, PyTorch's, are the same function."""

    def __init__(self, namespace: str, opname: str, function: Callable[..., Any]) -> None:
        super().__init__(namespace, opname)
        for name in overloads_of(opname) if namespace == "aten" else ("default",):
            text = schema_of(opname, name) if namespace == "aten" else None
            self._overloads[name] = OpOverload(
                self, name, None if text is None else parse(text), function
            )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.op(*args, **kwargs)  # which checks its arguments itself


class Namespace(types.ModuleType):
    """The operations of one namespace.

    Args:
        name: the namespace.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"facula.ops.{name}")
        self._ns = name
        self.__file__ = "torch.ops"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and self._ns in _PACKAGES:
            function = _PACKAGES[self._ns](name)
            if function is not None:
                packet = _PackageOperation(self._ns, name, function)
                setattr(self, name, packet)
                return packet
        raise AttributeError(f"'_OpNamespace' '{self._ns}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [n for n, v in vars(self).items() if isinstance(v, OpOverloadPacket)]


def _find_aten(name: str) -> Callable[..., Any] | None:
    """The function or method of the package with the name of one of PyTorch's own operations."""
    import facula
    from facula.nn import functional

    if name in _aten.__all__:
        return getattr(_aten, name)  # type: ignore[no-any-return]
    if any(name in names for names in facula._RARE.values()):
        return getattr(facula, name)  # type: ignore[no-any-return]
    for place in (facula, functional, facula.linalg, facula.special, facula.fft, Tensor, _core):
        # Modules, and old names that warn, are no operations.
        found = getattr(place, name, None) if name in dir(place) else None
        if callable(found) and not isinstance(found, type):
            return found  # type: ignore[no-any-return]
    chapter, _, rest = name.partition("_")
    if chapter in ("linalg", "special", "fft"):
        return getattr(getattr(facula, chapter), rest, None) or getattr(facula.fft, name, None)
    return None


def _find_vision(name: str) -> Callable[..., Any] | None:
    from facula.vision import ops

    return getattr(ops, name, None)


_PACKAGES: dict[str, Callable[[str], Callable[..., Any] | None]] = {
    "aten": _find_aten,
    "prims": _find_aten,
    "torchvision": _find_vision,
}
namespaces: dict[str, Namespace] = {}


def namespace(name: str) -> Namespace:
    """The namespace of this name, which is made where there is none."""
    if name not in namespaces:
        namespaces[name] = Namespace(name)
    return namespaces[name]


def split_name(qualname: str) -> tuple[str, str, str]:
    """``ns::name.overload`` in its parts."""
    ns, colons, rest = qualname.partition("::")
    if not colons or not ns or not rest:
        raise ValueError(f"library: expected a name such as 'mylib::scale', got {qualname!r}.")
    name, _, overload = rest.partition(".")
    return ns, name, overload or "default"


def own_name(qualname: str) -> str:
    """``ns::name.overload`` without its namespace."""
    _, name, overload = split_name(qualname)
    return name if overload == "default" else f"{name}.{overload}"


def define(qualname: str, schema: str) -> OpOverload:
    """Make an operation without kernels."""
    ns, name, overload = split_name(qualname)
    parsed = parse(f"{qualname}{schema}")  # before anything is there that an error would leave
    place = namespace(ns)
    packet = vars(place).get(name)
    if packet is None:
        packet = OpOverloadPacket(ns, name)
        setattr(place, name, packet)
    if overload in packet._overloads:
        raise RuntimeError(
            f"Tried to register an operator ({qualname}{schema}) with the same name and overload "
            "name multiple times."
        )
    op = OpOverload(packet, overload, parsed)
    packet._overloads[overload] = op
    return op


def remove(op: OpOverload) -> None:
    """Take an operation away again."""
    op.overloadpacket._overloads.pop(op._overloadname, None)
    LOOPED.discard(op._op)
    if not op.overloadpacket._overloads:
        vars(namespace(op.namespace)).pop(op._opname, None)


def find(qualname: str) -> OpOverload:
    """The operation of a full name; raises where there is none."""
    ns, name, overload = split_name(qualname)
    return _find(ns, name, overload)


def _find(ns: str, name: str, overload: str) -> OpOverload:
    try:
        return getattr(getattr(namespace(ns), name), overload)  # type: ignore[no-any-return]
    except AttributeError:
        raise RuntimeError(
            f"library: there is no operator {ns}::{name}. Define it first, with custom_op or "
            "define."
        ) from None

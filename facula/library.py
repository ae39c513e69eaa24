"""Operations of one's own: a schema, a kernel for each device, a derivative, rules for transforms.

:func:`custom_op` makes one of a Python function. :class:`Library`, :func:`define` and :func:`impl`
make one in steps. All are found as ``facula.ops.namespace.name``.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from facula import _core
from facula._core import Tensor
from facula._library import operators
from facula._library.custom_ops import CustomOpDef, as_overload, custom_op
from facula._library.operators import OpOverload, Undo
from facula._library.schema import infer_schema
from facula._refusing import refusing
from facula._transform import tensors_in

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

_defined: set[str] = set()  # namespaces with a Library of the kind "DEF"
_RESERVED = ("prim",)


class Library:
    """A set of operations, or of kernels for operations, which are taken away together.

    They are there for as long as the library is: keep it in a variable of a module.

    Args:
        ns: the namespace.
        kind: ``"DEF"`` for the first that defines operations in the namespace, ``"FRAGMENT"`` for
            others, ``"IMPL"`` for kernels only.
        dispatch_key: the kind of device that kernels are for, where they do not say it.

    Example:
        >>> lib = facula.library.Library("docs_lib", "DEF")
        >>> lib.define("twice(Tensor x) -> Tensor")
        'twice'
        >>> lib.impl("twice", lambda x: 2 * x, "CPU")
        >>> facula.ops.docs_lib.twice(facula.ones(2))
        tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError(f"Library: expected 'DEF', 'IMPL' or 'FRAGMENT', got {kind!r}.")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"Library: {ns} is reserved.")
        if kind == "DEF":
            if ns in _defined:
                raise RuntimeError(
                    "Only a single TORCH_LIBRARY can be used to register the namespace "
                    f"{ns}. Use the kind 'FRAGMENT' for more."
                )
            _defined.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Undo] = []
        if kind == "DEF":
            self._undo.append(lambda: _defined.discard(ns))
        # What takes things away must not refer to the library, which could never be collected then.
        self._finalizer = weakref.finalize(self, _undo_all, self._undo)
        self._finalizer.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Make an operation without kernels; returns its name.

        Args:
            schema: such as ``"scale(Tensor x, float by=2.0) -> Tensor"``.
            alias_analysis: accepted for compatibility.
            tags: accepted for compatibility.
        """
        if self.kind == "IMPL":
            raise RuntimeError(
                "Library.define: expected a library of the kind 'DEF' or 'FRAGMENT', got 'IMPL', "
                "which has kernels only."
            )
        name, bracket, rest = schema.partition("(")
        ns, colons, own = name.strip().rpartition("::")
        if colons and ns != self.ns:
            raise RuntimeError(
                f"Library.define: expected an operation of the namespace {self.ns}, got {ns}."
            )
        op = operators.define(f"{self.ns}::{own}", bracket + rest)
        self._keep(lambda: operators.remove(op))
        return op._opname

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Give an operation a kernel.

        Args:
            op_name: the operation's name in the namespace, or the operation.
            fn: the kernel.
            dispatch_key: the kind of device, ``"CPU"``, ``"CUDA"`` or ``"Meta"``, or
                ``"CompositeImplicitAutograd"`` for a function that is differentiated through.
            with_keyset: accepted for compatibility, must be False.
            allow_override: whether there may be a kernel already, which is then not used until
                this one is taken away.
        """
        if with_keyset:
            raise RuntimeError("Library.impl: there are no sets of dispatch keys to give.")
        if not callable(fn):
            raise TypeError(
                f"Library.impl: expected a function as the kernel, got {type(fn).__name__}."
            )
        if isinstance(op_name, str):
            op = operators.find(op_name if "::" in op_name else f"{self.ns}::{op_name}")
        else:
            op = as_overload(op_name)
        key = dispatch_key or self.dispatch_key or "default"
        self._keep(op.set_kernel(key, fn, allow_override))

    def fallback(self, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False) -> NoReturn:
        """Cannot be called: there is no dispatcher to fall through.

        Args:
            fn: the function.
            dispatch_key: the key.
            with_keyset: whether it takes the keys.
        """
        raise RuntimeError("Library.fallback: there is no dispatcher. Use a TorchFunctionMode.")

    def _destroy(self) -> None:
        """Take away what this library has defined and registered."""
        self._finalizer()

    def _keep(self, undo: Undo) -> None:
        """Take a registration away together with the library."""
        if not self._finalizer.alive:
            undo()
            raise AssertionError("Library object has been destroyed")
        self._undo.append(undo)


def _undo_all(undo: list[Undo]) -> None:
    for take_away in reversed(undo):
        take_away()


def _keep(undo: Undo, lib: Library | None) -> None:
    """Leave a registration to the library, where there is one; else it stays."""
    if lib is not None:
        lib._keep(undo)


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A library for a block."""
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Make an operation without kernels, which :func:`impl` adds.

    Args:
        qualname: the full name, ``"mylib::scale"``.
        schema: its parameters and results, ``"(Tensor x, float by=2.0) -> Tensor"``.
        lib: the library that takes it away again; by default it stays.
        tags: accepted for compatibility.

    Example:
        >>> facula.library.define("docs::half", "(Tensor x) -> Tensor")
        >>> @facula.library.impl("docs::half", "cpu")
        ... def half(x):
        ...     return x / 2
        >>> facula.ops.docs.half(facula.ones(2))
        tensor([0.5000, 0.5000])
    """
    if not isinstance(qualname, str):
        raise ValueError(f"library.define: expected a name, got {type(qualname).__name__}.")
    if lib is None:
        operators.define(qualname, schema)
    else:
        lib.define(operators.own_name(qualname) + schema)


def impl(
    qualname: Any,
    types: str | Sequence[str] = (),
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Give an operation a kernel.

    Args:
        qualname: the full name; or a :class:`Library`, for the older form of this decorator.
        types: the kinds of devices, ``"cpu"`` or ``["cpu", "cuda"]``, ``"default"`` for all; in
            the older form the operation's name.
        func: the kernel; None for a decorator.
        lib: the library that takes it away again; by default it stays.
    """
    if isinstance(qualname, Library):
        library, key = qualname, func if isinstance(func, str) else ""

        def register_old(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(types, function, key)
            return function

        return register_old
    kinds = [types] if isinstance(types, str) else list(types)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        op = operators.find(qualname)
        for kind in kinds:
            _keep(op.set_kernel(kind, function), lib)
        return function

    if func is None:
        return register
    register(func)
    return None


def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Give an operation that :func:`custom_op` has made a kernel for other devices.

    Args:
        op: the operation, or its full name.
        device_types: the kinds of devices; None for all.
        func: the kernel; None for a decorator.
        lib: the library that takes it away again.
    """
    kinds = [device_types] if isinstance(device_types, str) else device_types
    overload = as_overload(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for kind in kinds or ["default"]:
            _keep(overload.set_kernel(kind, function), lib)
        return function

    return register if func is None else register(func)


def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Say what an operation gives on the device meta: shapes and dtypes.

    Args:
        op: the operation, or its full name.
        func: takes what the operation takes; None for a decorator.
        lib: the library that takes it away again.
        allow_override: whether there may be one already.

    Example:
        >>> @facula.library.custom_op("docs::double", mutates_args=())
        ... def double(x: facula.Tensor) -> facula.Tensor:
        ...     return facula.from_numpy(2 * x.numpy())
        >>> @facula.library.register_fake("docs::double")
        ... def _(x):
        ...     return facula.empty_like(x)
        >>> double(facula.empty(2, 3, device="meta")).shape
        torch.Size([2, 3])
    """
    overload = as_overload(op)
    if not allow_override and "meta" in overload.kernels:
        raise RuntimeError(f"register_fake: {overload.name()} has one already.")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _keep(overload.set_kernel("meta", function), lib)
        return function

    return register if func is None else register(func)


def impl_abstract(
    qualname: str,
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
) -> Any:
    """The older name of :func:`register_fake`.

    Args:
        qualname: the full name.
        func: takes what the operation takes; None for a decorator.
        lib: the library that takes it away again.
    """
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Give an operation its derivative.

    Args:
        op: the operation, or its full name.
        backward: takes ``ctx`` and the gradients of the results, and returns one gradient, or
            None, for each argument.
        setup_context: takes ``ctx``, ``inputs`` and ``output``, and saves what is needed.
        lib: the library that takes it away again.
    """
    overload = as_overload(op)
    if overload._schema is not None and overload._schema.is_mutable:
        raise RuntimeError(
            f"register_autograd: {overload.name()} changes its arguments, and can have no autograd "
            "formula. Make one that does not."
        )
    _keep(overload.set_autograd(backward, setup_context), lib)


def register_vmap(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Say what is done inside of ``vmap``; without it, the examples are done one by one.

    Args:
        op: the operation, or its full name.
        func: takes ``info``, ``in_dims`` and the arguments, and returns the result and its
            ``out_dims``; None for a decorator.
        lib: the library that takes it away again.
    """
    overload = as_overload(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _keep(overload.set_vmap(function), lib)
        return function

    return register if func is None else register(func)


def register_autocast(
    op: Any, device_type: str, cast_inputs: _core.dtype, /, *, lib: Library | None = None
) -> None:
    """Say which dtype floating-point tensors are cast to under autocast.

    Args:
        op: the operation, or its full name.
        device_type: ``"cpu"`` or ``"cuda"``.
        cast_inputs: the dtype.
        lib: the library that takes it away again.
    """
    if device_type not in ("cpu", "cuda"):
        raise ValueError(
            f"register_autocast: expected the device type 'cpu' or 'cuda', got {device_type!r}."
        )
    _keep(as_overload(op).casts.add(device_type, cast_inputs), lib)


register_torch_dispatch = refusing(
    "torch.library.register_torch_dispatch",
    "there is no level below autograd to dispatch at. Give the class a __torch_function__.",
)
get_kernel = refusing(
    "torch.library.get_kernel", "there is no dispatcher to take kernels from. Call the operation."
)


def triton_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    schema: str | None = None,
) -> Any:
    """Make a Python function that calls Triton's kernels an operation, as :func:`custom_op` does.

    Packages define such operations beside others that are called where there is no GPU. There is no
    Triton here: :func:`wrap_triton`, which the function asks for its kernels, says so.

    Args:
        name: the full name, ``"mylib::scale"``.
        fn: the function, all parameters of which have types; None for a decorator.
        mutates_args: the names of the arguments that it changes in place, or ``"unknown"``.
        schema: its parameters and results, by default read from the types.

    Example:
        >>> @facula.library.triton_op("docs::third", mutates_args=())
        ... def third(x: facula.Tensor) -> facula.Tensor:
        ...     return x / 3
        >>> third(facula.tensor([3.0]))
        tensor([1.])
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


wrap_triton = refusing(
    "torch.library.wrap_triton",
    "there is no Triton. Write the operation with tensor operations, or as a custom_op around a "
    "kernel of another package.",
)
get_ctx = refusing(
    "torch.library.get_ctx",
    "sizes that depend on values are not known on the device meta.",
)


def fallthrough_kernel() -> NoReturn:
    """Stands for "no kernel" in :meth:`Library.impl`; it is not meant to be called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class OpCheckError(Exception):
    """What :func:`opcheck` has found."""


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Try an operation that was registered, and say whether it does what it promises.

    Args:
        op: the operation, what ``custom_op`` has made or its full name.
        args: arguments to try it with.
        kwargs: arguments by name to try it with.
        test_utils: the tests: ``"test_schema"`` (only what the schema names is changed, and results
            share no memory with arguments), ``"test_autograd_registration"`` (results of arguments
            that are differentiated have a history), ``"test_faketensor"`` (shapes and dtypes on the
            device meta are those of the result).
        raise_exception: whether the first failure is raised.
        atol, rtol: accepted for compatibility.

    Returns:
        for each test ``"SUCCESS"`` or its error.

    Example:
        >>> @facula.library.custom_op("docs::triple", mutates_args=())
        ... def triple(x: facula.Tensor) -> facula.Tensor:
        ...     return 3 * x
        >>> facula.library.opcheck(triple, (facula.ones(2),), test_utils="test_schema")
        {'test_schema': 'SUCCESS'}
    """
    overload = as_overload(op)
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    results: dict[str, Any] = {}
    for name in names:
        if name not in _TESTS:
            raise RuntimeError(f"opcheck: expected tests of {list(_TESTS)}, got {name!r}.")
        try:
            _TESTS[name](overload, args, kwargs or {})
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def _test_schema(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    inputs = list(tensors_in((*args, *kwargs.values())))
    before = [x.detach().clone() for x in inputs]
    op(*args, **kwargs)
    written = {id(x) for x in op._written(args, kwargs)}
    for x, old in zip(inputs, before, strict=True):
        if id(x) not in written and not _core.equal(x, old):
            raise RuntimeError(
                f"{op.name()} changes an argument that its schema does not name: {op._schema}"
            )


def _test_autograd(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    inputs = list(tensors_in((*args, *kwargs.values())))
    if not any(x.requires_grad for x in inputs):
        return
    results = [x for x in tensors_in((op(*args, **kwargs),)) if x.is_floating_point()]
    if results and not any(x.requires_grad for x in results):
        raise RuntimeError(f"{op.name()} has results without a history. Use register_autograd.")


def _test_fake(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from facula.utils._pytree import tree_map

    def on_meta(x: Any) -> Any:
        return x.detach().to("meta") if isinstance(x, Tensor) else x

    real = list(tensors_in((op(*args, **kwargs),)))
    meta_args, meta_kwargs = tree_map(on_meta, (args, kwargs))
    fake = list(tensors_in((op(*meta_args, **meta_kwargs),)))
    expected = [(tuple(x.shape), x.dtype) for x in fake]
    found = [(tuple(x.shape), x.dtype) for x in real]
    if expected != found:
        raise RuntimeError(f"{op.name()} gives {found}, but its fake impl says {expected}.")


_TESTS: dict[str, Callable[[OpOverload, tuple[Any, ...], dict[str, Any]], None]] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd,
    "test_faketensor": _test_fake,
}

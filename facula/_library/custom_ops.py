"""``custom_op``: a Python function as an operation that nothing looks into."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from facula import _core
from facula._library import operators
from facula._library.operators import OpOverload
from facula._library.schema import infer_schema

__all__ = ["CustomOpDef", "custom_op"]

OPDEFS: dict[str, CustomOpDef] = {}


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a Python function an operation, which is then also ``ops.namespace.name``.

    Nothing looks into the function: its derivative, its rule for ``vmap`` and its result on the
    device meta are what is registered for them. It may do anything, such as call NumPy.

    Args:
        name: the full name, ``"mylib::scale"``.
        fn: the function, all parameters of which have types; None for a decorator.
        mutates_args: the names of the arguments that it changes in place, or ``"unknown"``.
        device_types: the kinds of devices that it is for, by default all.
        schema: its parameters and results, by default read from the types.
        tags: accepted for compatibility.

    Example:
        >>> @facula.library.custom_op("docs::cube", mutates_args=())
        ... def cube(x: facula.Tensor) -> facula.Tensor:
        ...     return facula.from_numpy(x.numpy() ** 3)
        >>> cube.register_autograd(
        ...     lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        ... )
        >>> x = facula.tensor([2.0], requires_grad=True)
        >>> cube(x).backward()
        >>> x.grad, facula.ops.docs.cube(x.detach())
        (tensor([12.]), tensor([8.]))
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        text = schema or infer_schema(function, mutates_args=mutates_args)
        ns, own, _ = operators.split_name(name)
        if name in OPDEFS:
            operators.remove(OPDEFS[name]._opoverload)  # a notebook's cell that runs again
        op = CustomOpDef(ns, own, text, function)
        kinds = [device_types] if isinstance(device_types, str) else device_types
        for kind in kinds or ["default"]:
            op._opoverload.set_kernel(kind, function)
        OPDEFS[name] = op
        return op

    return make if fn is None else make(fn)


class CustomOpDef:
    """An operation that :func:`custom_op` has made; calling it runs the kernel of the device.

    Args:
        namespace: the namespace.
        name: the name in it.
        schema: its parameters and results.
        fn: the function.
    """

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable[..., Any]) -> None:
        self._namespace, self._name, self._schema = namespace, name, schema
        self._init_fn = fn
        self._qualname = f"{namespace}::{name}"
        self._opoverload: OpOverload = operators.define(self._qualname, schema)
        self._opoverload.checks_aliases = True
        self.__name__ = name
        self.__doc__ = fn.__doc__

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """What the operation does on other kinds of devices.

        Args:
            device_types: the kinds; None for all.
            fn: the function; None for a decorator.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            kinds = [device_types] if isinstance(device_types, str) else device_types
            for kind in kinds or ["default"]:
                self._opoverload.set_kernel(kind, function)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """What comes out on the device meta: shapes and dtypes.

        Args:
            fn: takes what the operation takes.
        """
        self._opoverload.set_kernel("meta", fn)
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """The derivative.

        Args:
            backward: takes ``ctx`` and the gradients of the results, and returns one gradient, or
                None, for each argument.
            setup_context: takes ``ctx``, ``inputs`` and ``output``, and saves what is needed.
        """
        if self._opoverload._schema is not None and self._opoverload._schema.is_mutable:
            raise RuntimeError(
                f"{self._qualname}: no autograd formula can be registered for an operator that "
                "changes its arguments. Make one that does not."
            )
        self._opoverload.set_autograd(backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """What is done for many examples at once; without it, they are done one by one.

        Args:
            func: takes ``info``, ``in_dims`` and the arguments, and returns the result and its
                ``out_dims``; None for a decorator.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._opoverload.set_vmap(function)
            return function

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: _core.dtype) -> None:
        """The dtype that floating-point tensors are cast to under autocast.

        Args:
            device_type: ``"cpu"`` or ``"cuda"``.
            cast_inputs: the dtype.
        """
        if not isinstance(device_type, str) or device_type not in ("cpu", "cuda"):
            raise ValueError(
                f"register_autocast: expected the device type 'cpu' or 'cuda', got {device_type!r}."
            )
        self._opoverload.casts.add(device_type, cast_inputs)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """A block in which the kernel of a kind of device is used, or the one for all is.

        Args:
            device_type: the kind.
            enabled: which of the two.
        """
        disabled = self._opoverload.disabled
        before = set(disabled)
        (disabled.discard if enabled else disabled.add)(device_type)
        try:
            yield
        finally:
            disabled.clear()
            disabled.update(before)


def as_overload(op: Any) -> OpOverload:
    """The operation that is meant by its name, by itself, or by what ``custom_op`` has made."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, operators.OpOverloadPacket):
        return op.default  # type: ignore[no-any-return]
    if isinstance(op, str):
        return operators.find(op)
    raise ValueError(f"library: expected an operator or its name, got {op!r}.")

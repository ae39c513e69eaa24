"""User-defined differentiable functions.

How ``Function.apply`` is divided between Python and the core:

1. Python makes a ctx, which is the node-to-be (``_core._FunctionNode``), and runs ``forward`` (and
   ``setup_context``) without recording.
2. ``_core._record_function(ctx, inputs, outputs)`` connects it. ``inputs`` is the tuple of all
   positional arguments, ``outputs`` the tuple that forward returned, tensors or not. It reads
   ``ctx._to_save``, ``ctx._dirty`` and ``ctx._non_differentiable`` (tuples of tensors, ``None``
   allowed in ``_to_save``), gives the node the name ``type(ctx).__name__``, and returns the tuple
   of outputs to hand to the user: an output that is an unchanged input becomes a view of it, a
   dirty input is rebased onto the node. The saved tensors live in the node; an output among
   them is kept without its history, so that no cycle keeps the graph alive.
3. ``_core._unpack_saved(ctx)`` gives the saved tensors back, after the checks for freed graphs and
   in-place changes.
4. Backward calls ``ctx._run_backward(*grads)`` with one gradient or ``None`` per output, grad mode
   on only for ``create_graph``; the result is one gradient or ``None`` per input.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._notes import note
from facula._transform import apply_function
from facula.autograd.grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "once_differentiable"]


class FunctionCtx(_core._FunctionNode):
    """What ``forward`` leaves behind for ``backward``.

    Any attribute may be set on it; tensors belong in :meth:`save_for_backward`, which lets the
    engine free them and notice when they have been overwritten.
    """

    needs_input_grad: tuple[bool, ...] = ()
    _to_save: tuple[Tensor | None, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _saved_for_forward: tuple[Tensor | None, ...] = ()
    # What saved_tensors gives instead of what is kept in the node: in jvp, and inside of vmap.
    _shown: tuple[Tensor | None, ...] | None = None
    _materializes_grads = True
    # Shape, dtype and device of every output (None for what is no tensor), to make zeros from.
    _output_specs: tuple[tuple[Any, Any, Any] | None, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``backward``, where ``ctx.saved_tensors`` gives them back."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    "save_for_backward: expected tensors or None, got "
                    f"{type(tensor).__name__}. Keep other values as attributes of ctx."
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``jvp``, where ``ctx.saved_tensors`` gives them back."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    "save_for_forward: expected tensors or None, got "
                    f"{type(tensor).__name__}. Keep other values as attributes of ctx."
                )
        self._saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to :meth:`save_for_backward`, or to :meth:`save_for_forward` in jvp."""
        if self._shown is not None:
            return self._shown
        return tuple(_core._unpack_saved(self))

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The older name of :attr:`saved_tensors`."""
        note("saved_variables is the older name of saved_tensors.")
        return self.saved_tensors

    def mark_shared_storage(self, *pairs: tuple[Tensor, Tensor]) -> None:
        """Does nothing: that an output is a view of an input is seen without it."""
        note("mark_shared_storage is no longer needed. Leave it out.")

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare inputs that ``forward`` changed in place; each must also be returned."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare outputs that have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether ``backward`` sees zeros (True) or ``None`` for unused outputs."""
        self._materializes_grads = value

    def _run_backward(self, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Called by the engine; see the module's docstring."""
        if self._materializes_grads:
            grads = tuple(map(_zeros_if_missing, grads, self._output_specs))
        function = self._function
        result = function._user_backward()(self, *grads)
        results = result if isinstance(result, tuple) else (result,)
        return _checked_grads(function, results, len(self.needs_input_grad))


def _with_defaults(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """All arguments by position: setup_context sees each, and backward has a gradient for each."""
    if not kwargs and not getattr(forward, "__defaults__", None):
        return args, kwargs
    import inspect  # here: it is slow to import, and few functions have defaults

    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _zeros_if_missing(grad: Tensor | None, spec: tuple[Any, Any, Any] | None) -> Tensor | None:
    if grad is not None or spec is None:
        return grad
    shape, dtype, device = spec
    return _core.zeros(shape, dtype=dtype, device=device)


def _checked_grads(
    function: type, grads: tuple[Tensor | None, ...], n_inputs: int
) -> tuple[Tensor | None, ...]:
    # As in PyTorch, more gradients than inputs are accepted if the extra ones are None.
    if len(grads) < n_inputs or any(g is not None for g in grads[n_inputs:]):
        raise RuntimeError(
            f"{function.__name__}.backward: expected {n_inputs} gradients, one for each argument "
            f"of forward, got {len(grads)}. Return None for arguments without a gradient. "
            "(returned an incorrect number of gradients)"
        )
    for index, grad in enumerate(grads):
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(
                f"{function.__name__}.backward: expected a tensor or None as gradient {index}, "
                f"got {type(grad).__name__}."
            )
    return grads[:n_inputs]


class Function(FunctionCtx):
    """Base of user-defined operations: subclass it, write ``forward`` and ``backward``.

    Either ``forward(ctx, *args)`` does both jobs, or ``forward(*args)`` computes and
    ``setup_context(ctx, inputs, output)`` saves.

    Example:
        >>> class Square(facula.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> x = facula.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
    """

    _ctx_type: type[FunctionCtx]
    _is_called = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._function = cls  # an instance that is called is the node itself
        # The node is called after the function, as in grad_fn=<SquareBackward>.
        members = {"_function": cls, "__module__": cls.__module__}
        cls._ctx_type = type(cls.__name__ + "Backward", (FunctionCtx,), members)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            raise TypeError(
                f"{type(self).__name__}: its constructor takes no arguments. Give them to "
                f"{type(self).__name__}.apply(...)."
            )

    def __call__(self, *args: Any) -> Any:
        """Run the function, as objects of it were called once: ``Square()(x)``.

        ``forward`` and ``backward`` are then methods of the object, which is the ctx itself.
        """
        cls = type(self)
        note(
            f"{cls.__name__}()(...): a Function that is called as an object is an older form. Make "
            "forward and backward static methods with a first argument ctx, and call "
            f"{cls.__name__}.apply(...)."
        )
        node = self
        if self._is_called:  # every call is a node of its own
            node = cls.__new__(cls)
            node.__dict__.update(self.__dict__)
        self._is_called = True
        return apply_function(cls, node, args, {})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; ``ctx`` comes first unless ``setup_context`` is defined."""
        raise NotImplementedError("Function: a subclass must define a static method forward.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what ``backward`` needs, where ``forward`` takes no ``ctx``."""
        raise NotImplementedError("Function: setup_context is not defined.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return one gradient (or None) for each argument of ``forward``."""
        raise NotImplementedError(
            "Function: a subclass must define a static method backward or vjp to be differentiated."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return one tangent for each output of ``forward``, in forward mode.

        It gets one tangent for each argument, None for those that have none. Where it is not
        defined, the tangent is computed from ``backward``.
        """
        raise NotImplementedError("Function: jvp is not defined.")

    # Whether vmap runs forward and backward by its rules for operations.
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Return ``(outputs, out_dims)`` for a batch, inside of ``func.vmap``.

        Args:
            info: ``info.batch_size`` and ``info.randomness`` of the vmap.
            in_dims: the batch dimension of each argument, or None.
            args: the arguments, with the batch.
        """
        raise NotImplementedError("Function: vmap is not defined.")

    @classmethod
    def _user_backward(cls) -> Callable[..., Any]:
        has_vjp = cls.vjp is not Function.vjp
        if has_vjp and cls.backward is not Function.backward:
            raise RuntimeError(
                f"{cls.__name__}: both backward and vjp are defined. They are two names of one "
                "method; define one."
            )
        return cls.vjp if has_vjp else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it in the graph."""
        if cls.setup_context is not Function.setup_context:
            args, kwargs = _with_defaults(cls.forward, args, kwargs)
        return apply_function(cls, cls._ctx_type(), args, kwargs)

    @classmethod
    def _run(cls, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_volatile = any(isinstance(a, Tensor) and a.volatile for a in args)
        is_recorded = _core.is_grad_enabled() and not is_volatile
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        # What forward does is not recorded: backward alone says what the derivative is.
        with no_grad():
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        outputs = output if isinstance(output, tuple) else (output,)
        if is_volatile:
            for o in outputs:
                if isinstance(o, Tensor):
                    o.volatile = True
        # An input changed in place has to go through the core even without recording, which counts
        # the change in its version.
        if not (is_recorded and any(ctx.needs_input_grad)) and not ctx._dirty:
            return output
        ctx._output_specs = tuple(
            (o.shape, o.dtype, o.device) if isinstance(o, Tensor) else None for o in outputs
        )
        if is_volatile:
            with no_grad():
                recorded = _core._record_function(ctx, args, outputs)
        else:
            recorded = _core._record_function(ctx, args, outputs)
        return tuple(recorded) if isinstance(output, tuple) else recorded[0]


class InplaceFunction(Function):
    """A Function with an ``inplace`` flag, kept for old code."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function of nested lists and tuples of tensors, kept for old code.

    A subclass defines ``forward_extended`` and ``backward_extended`` and is called as an object:
    both see arguments and gradients nested as the caller nests them.

    Example:
        >>> class Swap(facula.autograd.function.NestedIOFunction):
        ...     def forward_extended(self, pair):
        ...         return pair[1] * 1, pair[0] * 1
        ...     def backward_extended(self, first, second):
        ...         return ((second, first),)
        >>> x, y = facula.ones(1, requires_grad=True), facula.zeros(1)
        >>> [tensor.tolist() for tensor in Swap()((x, y))]
        [[0.0], [1.0]]
    """

    def __call__(self, *args: Any) -> Any:
        self._nested_input = args
        results = super().__call__(*_tensors_in(args))
        return _nested_like(self._nested_output, iter(results))

    def forward(self, *flat: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        self._nested_output = self.forward_extended(*_nested_like(self._nested_input, iter(flat)))
        return tuple(_tensors_in(self._nested_output))

    def backward(self, *grads: Any) -> Any:  # type: ignore[override]
        nested = _nested_like(self._nested_output, iter(grads))
        nested = nested if isinstance(nested, (list, tuple)) else (nested,)
        return tuple(_leaves(self.backward_extended(*nested)))

    def forward_extended(self, *args: Any) -> Any:
        """Compute the result from nested arguments."""
        raise NotImplementedError("NestedIOFunction: a subclass must define forward_extended.")

    def backward_extended(self, *grad_outputs: Any) -> Any:
        """Return gradients nested as the arguments of ``forward_extended``."""
        raise NotImplementedError("NestedIOFunction: a subclass must define backward_extended.")


def _leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, (list, tuple)):
        for part in nested:
            yield from _leaves(part)
    else:
        yield nested


def _tensors_in(nested: Any) -> Iterator[Tensor]:
    return (leaf for leaf in _leaves(nested) if isinstance(leaf, Tensor))


def _nested_like(model: Any, tensors: Iterator[Any]) -> Any:
    """The tensors one after the other, in the places of the model's."""
    if isinstance(model, (list, tuple)):
        return type(model)(_nested_like(part, tensors) for part in model)
    return next(tensors) if isinstance(model, Tensor) else model


class _OnceDifferentiated(Function):
    """Stands for a gradient that has no gradient of its own."""

    @staticmethod
    def forward(ctx: Any, name: str, *grads: Tensor) -> tuple[Tensor, ...]:
        ctx.name = name
        return tuple(g.view_as(g) for g in grads)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            f"{ctx.name}: its backward is marked with @once_differentiable, and has no derivative "
            "itself. Write it with differentiable operations and remove the mark."
        )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a ``backward`` whose own result cannot be differentiated.

    It runs without recording; differentiating its result raises instead of giving a wrong zero.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args)
        # Recording is on in backward for create_graph only: nobody else can differentiate the
        # result.
        if not _core.is_grad_enabled():
            return outputs
        needs_grad = any(isinstance(a, Tensor) and a.requires_grad for a in args)
        needs_grad = needs_grad or any(
            isinstance(t, Tensor) and t.requires_grad for t in ctx.saved_tensors
        )
        if not needs_grad:
            return outputs
        as_tuple = outputs if isinstance(outputs, tuple) else (outputs,)
        return _poisoned(type(ctx).__name__, as_tuple)

    return wrapper


def _poisoned(name: str, outputs: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    grads = [o.detach().requires_grad_() for o in outputs if o is not None]
    poisoned = iter(_OnceDifferentiated.apply(name, *grads))
    return tuple(None if o is None else next(poisoned) for o in outputs)

"""Checkpointing of activations: a function's intermediate results are computed again in backward.

It takes less memory for one more forward pass. Files that hold the state of a training are another
thing that is called a checkpoint: see ``facula.save`` and ``facula.resume``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.autograd._backward import backward
from facula.autograd.function import Function
from facula.autograd.grad_mode import enable_grad
from facula.autograd.graph import saved_tensors_hooks
from facula.random import _get_states, _set_states

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn"]

_Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function differs from the first.

    For a damaged file there is :class:`facula.serialization.CheckpointError`.
    """


def noop_context_fn() -> _Contexts:
    """The default ``context_fn``: no context around either run."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], _Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run ``function`` without keeping what its backward needs, and run it again there.

    Args:
        function: any function of tensors; the second run must do the same as the first.
        args: positional arguments of ``function``.
        use_reentrant: True runs a backward inside backward: arguments are positional, one of
            them requires grad, and ``autograd.grad`` is refused. False has none of these limits.
        context_fn: function that makes two context managers, for the first run and for the second.
        determinism_check: ``"default"`` compares shapes, dtypes and devices of what the two
            runs save, ``"none"`` does not.
        debug: name the saved tensors that differ in the error.
        early_stop: end the second run as soon as everything needed is there.
        preserve_rng_state: give the second run the random numbers of the first; default True.
        kwargs: keyword arguments of ``function``.

    Example:
        >>> from facula.utils.checkpoint import checkpoint
        >>> x = facula.tensor(2.0, requires_grad=True)
        >>> checkpoint(lambda x: x.exp().log() ** 2, x, use_reentrant=False).backward()
        >>> x.grad
        tensor(4.)
    """
    use_reentrant = _chosen_form("checkpoint", use_reentrant)
    preserves_rng = bool(kwargs.pop("preserve_rng_state", True))
    if not use_reentrant:
        contexts = context_fn()
        options = _Options(preserves_rng, determinism_check, debug, early_stop)
        return _checkpoint_by_hooks(function, args, kwargs, contexts, options)
    if kwargs:
        raise ValueError(
            f"checkpoint: unexpected keyword arguments {', '.join(kwargs)}; with "
            "use_reentrant=True arguments are positional."
        )
    if context_fn is not noop_context_fn or debug:
        raise ValueError("checkpoint: context_fn and debug need use_reentrant=False.")
    if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
        warnings.warn(
            "checkpoint: no argument requires grad, so no gradient will be computed.", stacklevel=2
        )
    return _Reentrant.apply(function, preserves_rng, *args)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Tensor,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run functions one after the other, in segments that are checkpointed, except the last.

    Args:
        functions: an ``nn.Sequential`` or a sequence of functions of one argument.
        segments: number of segments.
        input: argument of the first function.
        use_reentrant: True runs a backward inside backward; see :func:`checkpoint`.
        preserve_rng_state: whether a second run gets the random numbers of the first one.

    Example:
        >>> from facula.utils.checkpoint import checkpoint_sequential
        >>> x = facula.tensor(2.0, requires_grad=True)
        >>> functions = [facula.exp, facula.log, facula.square]
        >>> checkpoint_sequential(functions, 2, x, use_reentrant=False).item()
        4.0
    """
    use_reentrant = _chosen_form("checkpoint_sequential", use_reentrant)
    preserves_rng = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(
            f"checkpoint_sequential: unexpected keyword arguments {', '.join(kwargs)}."
        )
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(
            _chain(steps[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserves_rng,
        )
    return _chain(steps[size * (segments - 1) :])(input)


def _chosen_form(name: str, use_reentrant: bool | None) -> bool:
    if use_reentrant is not None:
        return use_reentrant
    warnings.warn(
        f"{name}: pass use_reentrant; without it the older use_reentrant=True is used, while "
        "use_reentrant=False has fewer limits.",
        stacklevel=3,
    )
    return True


def _chain(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run


@contextlib.contextmanager
def _random_state(states: list[Tensor] | None) -> Iterator[None]:
    """Run a block with random numbers from ``states``, then go on with those of before."""
    if states is None:
        yield
        return
    previous = _get_states()
    _set_states(states)
    try:
        yield
    finally:
        _set_states(previous)


class _Autocast:
    """The thread's autocast when the object is made, which is on again in a block."""

    def __init__(self) -> None:
        is_cached = _core.is_autocast_cache_enabled()
        self._states = [
            (kind, _core.is_autocast_enabled(kind), _core.get_autocast_dtype(kind), is_cached)
            for kind in ("cpu", "cuda")
        ]

    def __enter__(self) -> None:
        for state in self._states:
            _core._enter_autocast(*state)

    def __exit__(self, *exc_info: object) -> None:
        for _ in self._states:
            _core._exit_autocast()


class _Reentrant(Function):
    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserves_rng: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.rng_state = _get_states() if preserves_rng else None
        ctx.autocast = _Autocast()
        # Tensors are saved for backward, not kept as attributes: a change in place is noticed, and
        # they are freed when backward is done.
        ctx.args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.positions))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        # The inner backward adds to .grad of all leaves that it finds, parameters included. Where
        # gradients of some inputs only are asked for, that would be wrong.
        if not _core._is_backward_to_leaves():
            raise RuntimeError(
                "checkpoint: with use_reentrant=True only backward() without inputs is possible; "
                "autograd.grad is not. Pass use_reentrant=False."
            )
        args = list(ctx.args)
        for position, tensor in zip(ctx.positions, ctx.saved_tensors, strict=True):
            # Leaves of a graph of their own, which this backward walks inside the outer one.
            args[position] = tensor.detach().requires_grad_(tensor.requires_grad)
        with _random_state(ctx.rng_state), ctx.autocast, enable_grad():
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (o, g)
            for o, g in zip(outputs, grads, strict=True)
            if isinstance(o, Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "checkpoint: no output of the second run requires grad, so there is nothing to "
                "differentiate."
            )
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a.grad if isinstance(a, Tensor) else None for a in args))


@dataclasses.dataclass(frozen=True)
class _Options:
    preserves_rng: bool
    determinism_check: str
    debug: bool
    early_stop: bool


class _Complete(Exception):
    """Leaves the second run: all that backward needs is there."""


def _description(tensor: Tensor) -> tuple[Any, Any, Any]:
    return tuple(tensor.shape), tensor.dtype, tensor.device


class _Frame:
    """One call of a checkpointed function: what it saved, as numbers, and how to get it back."""

    def __init__(self, run: Callable[[], Any], options: _Options) -> None:
        self.run = run
        self.options = options
        self.descriptions: list[tuple[Any, Any, Any]] = []
        self.values: dict[int, Tensor] = {}
        self.call = -1  # the call of backward or grad that the values were computed for

    def pack(self, tensor: Tensor) -> int:
        self.descriptions.append(_description(tensor))
        return len(self.descriptions) - 1

    def unpack(self, index: int) -> Tensor:
        # A second backward (retain_graph) computes the values anew: parameters may have changed in
        # between. It may ask for others than the first, so it must not find what that left over.
        call = _core._current_graph_task_id()
        if call != self.call or index not in self.values:
            self.recompute()
            self.call = call
        return self.values.pop(index)  # each is freed as soon as backward has used it

    def recompute(self) -> None:
        values: list[Tensor] = []

        # The hooks number what is saved: the second run saves the same tensors in the same order.
        def keep(tensor: Tensor) -> Tensor:
            values.append(tensor.detach())
            if self.options.early_stop and len(values) == len(self.descriptions):
                raise _Complete  # what follows the last saved tensor is of no use
            return tensor

        def unpack_again(tensor: Tensor) -> Tensor:
            return tensor

        with contextlib.suppress(_Complete), saved_tensors_hooks(keep, unpack_again):
            self.run()
        self.check(values)
        self.values = dict(enumerate(values))

    def check(self, values: list[Tensor]) -> None:
        if len(values) != len(self.descriptions):
            raise CheckpointError(
                f"checkpoint: the first run saved {len(self.descriptions)} tensors for backward, "
                f"the second {len(values)}. The function must do the same both times."
            )
        if self.options.determinism_check == "none":
            return
        again = [_description(v) for v in values]
        different = [i for i, d in enumerate(self.descriptions) if d != again[i]]
        if not different:
            return
        shown = different if self.options.debug else different[:1]
        lines = [f"saved tensor {i}: first {self.descriptions[i]}, then {again[i]}" for i in shown]
        raise CheckpointError(
            "checkpoint: the second run saved other tensors than the first: " + "; ".join(lines)
        )


def _checkpoint_by_hooks(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    contexts: _Contexts,
    options: _Options,
) -> Any:
    if options.determinism_check not in ("default", "none"):
        raise ValueError(
            "checkpoint: expected determinism_check 'default' or 'none', got "
            f"{options.determinism_check!r}."
        )
    first_context, second_context = contexts
    if not _core.is_grad_enabled():
        with first_context:
            return function(*args, **kwargs)
    state = _get_states() if options.preserves_rng else None
    autocast = _Autocast()

    def run_again() -> None:
        with _random_state(state), autocast, enable_grad(), second_context:
            function(*args, **kwargs)

    frame = _Frame(run_again, options)
    with saved_tensors_hooks(frame.pack, frame.unpack), first_context:
        return function(*args, **kwargs)

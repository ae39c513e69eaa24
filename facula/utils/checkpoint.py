"""Checkpointing of activations: a function's intermediate results are computed again in backward.

It takes less memory for one more forward pass. Files that hold the state of a training are another
thing that is called a checkpoint: see ``facula.save`` and ``facula.resume``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._warnings import warn_user
from facula.autograd._backward import backward
from facula.autograd.function import Function
from facula.autograd.grad_mode import enable_grad
from facula.autograd.graph import saved_tensors_hooks
from facula.overrides import TorchFunctionMode
from facula.random import _get_states, _set_states

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

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
        debug = debug if _debug_enabled is None else _debug_enabled
        early_stop = early_stop and _early_stop_enabled
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
        warn_user("checkpoint: no argument requires grad, so no gradient will be computed.")
    return CheckpointFunction.apply(function, preserves_rng, *args)


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
    warn_user(
        f"{name}: pass use_reentrant; without it the older use_reentrant=True is used, while "
        "use_reentrant=False has fewer limits.",
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


class CheckpointFunction(Function):
    """``apply(function, preserve_rng_state, *args)``: the form with a backward inside backward."""

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
        # The call of backward or grad, or their group, that the values were computed for.
        self.call: Any = -1

    def pack(self, tensor: Tensor) -> int:
        self.descriptions.append(_description(tensor))
        return len(self.descriptions) - 1

    def unpack(self, index: int) -> Tensor:
        # A second backward (retain_graph) computes the values anew: parameters may have changed in
        # between. It may ask for others than the first, so it must not find what that left over.
        group = GraphExecGroup._get_current_group()
        call: Any = _core._current_graph_task_id() if group is None else group
        if call != self.call or index not in self.values:
            self.recompute()
            self.call = call
        if group is not None:
            return self.values[index]  # which another backward of the group may ask for
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


_early_stop_enabled = True
_debug_enabled: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A block in which the second run of functions may end early, or runs to its end.

    Args:
        enable: which of the two.

    Example:
        >>> from facula.utils.checkpoint import checkpoint, set_checkpoint_early_stop
        >>> x = facula.ones(1, requires_grad=True)
        >>> with set_checkpoint_early_stop(False):
        ...     y = checkpoint(facula.exp, x, use_reentrant=False)
    """
    global _early_stop_enabled
    before, _early_stop_enabled = _early_stop_enabled, enable
    try:
        yield
    finally:
        _early_stop_enabled = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A block in which errors name all tensors that differ, or not.

    Args:
        enabled: which of the two; None leaves it to the argument ``debug``.
    """
    global _debug_enabled
    before, _debug_enabled = _debug_enabled, enabled
    try:
        yield
    finally:
        _debug_enabled = before


class GraphExecGroup:
    """A block of several backward calls, in which a function is run again once for all of them.

    Example:
        >>> from facula.utils.checkpoint import GraphExecGroup, checkpoint
        >>> x = facula.ones(2, requires_grad=True)
        >>> y = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
        >>> with GraphExecGroup():
        ...     y[0].backward(retain_graph=True)
        ...     y[1].backward()
    """

    _current: GraphExecGroup | None = None

    def __enter__(self) -> None:
        if GraphExecGroup._current is not None:
            raise RuntimeError("GraphExecGroup: it is entered already, and does not nest.")
        GraphExecGroup._current = self

    def __exit__(self, *error: object) -> None:
        GraphExecGroup._current = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return cls._current


class DefaultDeviceType:
    """The kind of accelerator whose random numbers are repeated where arguments do not tell."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose the kind.

        Args:
            device: its name.
        """
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The kind that was chosen, ``"cuda"`` by default."""
        return DefaultDeviceType._default_device_type


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where none of the inputs requires grad.

    Args:
        inputs: what a function is called with.
    """
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warn_user("None of the inputs have requires_grad=True. Gradients will be None")


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as leaves of a graph of their own.

    Args:
        inputs: a tuple; what is no tensor stays.

    Example:
        >>> from facula.utils.checkpoint import detach_variable
        >>> detach_variable((facula.ones(1, requires_grad=True), 3))
        (tensor([1.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"detach_variable: expected a tuple of tensors, got {type(inputs).__name__}."
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs
    )


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The GPUs of the arguments, and the states of their generators.

    Args:
        args: tensors and other objects.
    """
    from facula import cuda

    devices = sorted({x.get_device() for x in args if isinstance(x, Tensor) and x.is_cuda})
    return devices, [cuda.get_rng_state(device) for device in devices]


def set_device_states(
    devices: list[int], states: list[Tensor], *, device_type: str | None = None
) -> None:
    """Set the generators of GPUs to states that :func:`get_device_states` has returned.

    Args:
        devices: the GPUs.
        states: the states.
        device_type: the kind of the devices.
    """
    from facula import cuda

    for device, state in zip(devices, states, strict=True):
        cuda.set_rng_state(state, device)


class CheckpointPolicy(enum.Enum):
    """What is done with the result of an operation inside of a checkpointed function."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a policy is told besides the operation.

    Args:
        is_recompute: whether this is the second run.
        op_output: the result of the operation, where it is known.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


SAC_IGNORED_OPS: set[Any] = set()

# By the name of the operation, in the order of the calls: the type of the result, and for each of
# its tensors the value, whether it requires grad, and its version.
_Kept = defaultdict[str, "deque[tuple[type, list[tuple[Tensor, bool, int]]]]"]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> _Contexts:
    """Contexts for :func:`checkpoint`, in which some operations are not run a second time.

    Their results, and what their own derivatives need, are kept; all others are computed again.

    Args:
        policy_fn_or_list: the operations that are kept, such as ``[facula.mm]`` or
            ``[facula.ops.aten.mm.default]``; or a function that is asked for each operation, with
            a :class:`SelectiveCheckpointContext`, the operation and its arguments, and returns a
            :class:`CheckpointPolicy`.
        allow_cache_entry_mutation: whether a kept result may be changed in place.

    Example:
        >>> from functools import partial
        >>> from facula.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
        >>> context_fn = partial(create_selective_checkpoint_contexts, [facula.matmul])
        >>> x = facula.ones(2, 2, requires_grad=True)
        >>> function = lambda x: facula.matmul(x, x).sin().sum()
        >>> checkpoint(function, x, use_reentrant=False, context_fn=context_fn).backward()
        >>> x.grad.shape
        torch.Size([2, 2])
    """
    policy = policy_fn_or_list
    if isinstance(policy_fn_or_list, list):
        names = {_operation_name(op) for op in policy_fn_or_list}

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            is_listed = _operation_name(op) in names
            return CheckpointPolicy.MUST_SAVE if is_listed else CheckpointPolicy.PREFER_RECOMPUTE

    elif not callable(policy_fn_or_list):
        raise TypeError(
            "create_selective_checkpoint_contexts: expected a list of operations or a function, "
            f"got {type(policy_fn_or_list).__name__}."
        )
    kept: _Kept = defaultdict(deque)
    return _Keeping(policy, kept), _Repeating(policy, kept, allow_cache_entry_mutation)


def _operation_name(op: Any) -> str:
    """The name that an operation, its method and ``ops.aten`` have in common."""
    name: str = getattr(op, "_opname", None) or getattr(op, "opname", None) or op.__name__
    return name


class _Selective(TorchFunctionMode):
    """Asks the policy for each operation that makes something new."""

    is_recompute = False

    def __init__(self, policy: Callable[..., Any], kept: _Kept) -> None:
        self._policy, self._kept = policy, kept

    def is_kept(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        name = getattr(func, "__name__", "")
        if name.startswith("__") or name.endswith("_"):  # properties, and changes in place
            return False
        from facula import ops

        packet = getattr(ops.aten, name, None)
        if packet is not None:
            overloads = packet.overloads()
            func = getattr(packet, "default" if "default" in overloads else overloads[0])
        context = SelectiveCheckpointContext(is_recompute=self.is_recompute)
        chosen = self._policy(context, func, *args, **kwargs)
        if isinstance(chosen, bool):
            return chosen
        return chosen in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class _Keeping(_Selective):
    """The first run: kept operations save what they need themselves, and their results stay."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if not self.is_kept(func, args, kwargs):
            return func(*args, **kwargs)
        with saved_tensors_hooks(_as_it_is, _as_it_is):
            result = func(*args, **kwargs)
        outputs = result if isinstance(result, (tuple, list)) else [result]
        if all(isinstance(x, Tensor) for x in outputs):
            values = [(x.detach(), x.requires_grad, x._n_writes) for x in outputs]
            self._kept[_operation_name(func)].append((type(result), values))
        return result


class _Repeating(_Selective):
    """The second run: what was kept is not computed again."""

    is_recompute = True

    def __init__(self, policy: Any, kept: _Kept, allows_mutation: bool) -> None:
        super().__init__(policy, kept)
        self._allows_mutation = allows_mutation

    def __enter__(self) -> Any:
        # Each backward repeats the function from the beginning.
        self._left = {name: deque(entries) for name, entries in self._kept.items()}
        return super().__enter__()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if not self.is_kept(func, args, kwargs):
            return func(*args, **kwargs)
        left = self._left.get(_operation_name(func))
        if not left:
            raise RuntimeError(
                f"checkpoint: {_operation_name(func)} encountered during backward, but not found "
                "among what the first run has kept."
            )
        kind, values = left.popleft()
        outputs = [self._again(*value) for value in values]
        make: Any = kind
        return outputs[0] if issubclass(kind, Tensor) else make(outputs)

    def _again(self, value: Tensor, requires_grad: bool, version: int) -> Tensor:
        if value._n_writes != version and not self._allows_mutation:
            raise RuntimeError(
                "checkpoint: a tensor that was kept has been changed in place since. Pass "
                "allow_cache_entry_mutation=True if that is meant."
            )
        return value.detach().requires_grad_(requires_grad)


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor

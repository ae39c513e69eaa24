"""Looking at the graph and intervening in it: nodes, saved tensors, hooks over several tensors.

Hooks ask the engine two things: ``_core._current_graph_task_id()`` is the number of the running
call of backward (-1 outside), and ``_core._will_engine_execute_node(node)`` says whether that call
reaches the node.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from facula import _core
from facula._core import Tensor
from facula._core import _Node as Node

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: an edge of the graph.

    :func:`facula.autograd.backward` and :func:`facula.autograd.grad` take it in the place of the
    tensor, which need not be kept for that.

    Args:
        node: the node that the gradient goes to.
        output_nr: which of the outputs of the node's operation the tensor is.
        ownership_token: an object that is kept alive with the edge.
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that the gradient of a tensor takes.

    Args:
        tensor: the tensor, which must require grad.

    Example:
        >>> x = facula.tensor(3.0, requires_grad=True)
        >>> y = x * x
        >>> edge = facula.autograd.graph.get_gradient_edge(y)
        >>> del y
        >>> facula.autograd.grad(edge, x)
        (tensor(6.),)
    """
    return GradientEdge(*_core._gradient_edge(tensor))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to a tensor that was made behind autograd's back.

    Backward then notices that a tensor which it needs has changed.

    Args:
        tensor: the tensor, or several.

    Example:
        >>> x = facula.ones(2)
        >>> facula.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        one._bump_version()


class saved_tensors_hooks:
    """Change how operations recorded inside the block keep their tensors for backward.

    Args:
        pack_hook: a function that is called with each tensor when it is saved; what it returns is
            kept instead.
        unpack_hook: a function that is called in backward with what ``pack_hook`` returned, and
            returns the tensor.

    Example:
        >>> x = facula.tensor(3.0, requires_grad=True)
        >>> with facula.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), facula.tensor):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    # The core keeps a stack for each thread, and the innermost pair is used. Operations keep the
    # pair that they were recorded with: backward may run after the block.
    def __enter__(self) -> None:
        _core._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc_info: object) -> None:
        _core._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the CPU's memory, and bring them back for backward.

    Args:
        pin_memory: whether to use page-locked memory, from which copies to the device are faster.
        device_type: the kind of device that the computation runs on.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack_to_cpu(tensor: Tensor) -> tuple[Any, Tensor]:
            if not pin_memory or tensor.device.type != device_type:
                return tensor.device, tensor.cpu()
            # Detached: a recorded copy would keep the tensor on the device alive through its graph.
            copy = _core.empty_like(tensor, device="cpu", pin_memory=True)
            return tensor.device, copy.copy_(tensor.detach())

        def unpack_from_cpu(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack_to_cpu, unpack_from_cpu)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Forbid ``saved_tensors_hooks`` inside the block.

    Args:
        error_message: the text of the RuntimeError raised for an attempt.
    """
    # The message is the switch, None for off: blocks can be nested, each with its own.
    previous = _core._saved_tensors_hooks_disabled_message()
    _core._disable_saved_tensors_hooks(error_message)
    try:
        yield
    finally:
        _core._disable_saved_tensors_hooks(previous)


class _Kept:
    """A saved tensor: as it is, or a copy made before it was written to."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class _MutationContext:
    """The tensors that operations of a block have saved, by the memory that they are in."""

    def __init__(self) -> None:
        self._is_open = True
        self._kept: dict[int, weakref.WeakSet[_Kept]] = defaultdict(weakref.WeakSet)

    def pack(self, tensor: Tensor) -> _Kept:
        kept = _Kept(tensor)
        self._kept[_memory_of(tensor)].add(kept)
        return kept

    def unpack(self, kept: _Kept) -> Tensor:
        if not self._is_open:
            raise AssertionError(
                "allow_mutation_on_saved_tensors: Trying to backward outside of the "
                "'allow_mutation_on_saved_tensors' context in which the graph was originally "
                "recorded."
            )
        return kept.tensor

    def before(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Copies what an operation is going to write to and backward needs."""
        out = kwargs.get("out")
        written = list(out) if isinstance(out, (list, tuple)) else [out]
        if _is_in_place(name) and args:
            written.append(args[0])
        for tensor in written:
            if isinstance(tensor, Tensor):
                for kept in self._kept.pop(_memory_of(tensor), ()):
                    kept.tensor = kept.tensor.detach().clone()

    def clear(self) -> None:
        """Forget the saved tensors: their operations have no backward any more."""
        self._is_open = False
        self._kept.clear()


def _memory_of(tensor: Tensor) -> int:
    return tensor.untyped_storage()._address()


def _is_in_place(name: str) -> bool:
    if name.startswith("__"):
        return name == "__setitem__" or (name.startswith("__i") and name not in _NOT_IN_PLACE)
    return name.endswith("_")


_NOT_IN_PLACE = {"__index__", "__int__", "__invert__"}


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_MutationContext]:
    """A block in which tensors that backward needs may be written to in place.

    They are copied before. Backward has to run inside of the block, too.

    Example:
        >>> x = facula.ones(2, requires_grad=True)
        >>> with facula.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.clone()
        ...     z = y * y
        ...     y.zero_()
        ...     z.sum().backward()
        tensor([0., 0.], grad_fn=<ZeroBackward0>)
        >>> x.grad
        tensor([2., 2.])
    """
    context = _MutationContext()
    observer = _core._Observer(None, context.before)
    try:
        with saved_tensors_hooks(context.pack, context.unpack):
            observer.start()
            yield context
    finally:
        observer.stop()
        context.clear()


class _HandleGroup:
    """Removes several hooks as one."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _HandleGroup:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> _HandleGroup:
    """Call a function when the gradients of several tensors have been computed.

    Args:
        tensors: the tensors to watch; all must require grad.
        fn: the function to call: for ``"all"`` with the list of gradients, None for tensors that
            this backward does not reach; for ``"any"`` with the first gradient that arrives.
        mode: whether to wait for every gradient, ``"all"``, or for the first, ``"any"``.

    Returns:
        a handle with ``remove()``.

    Example:
        >>> x = facula.ones(1, requires_grad=True)
        >>> y = facula.ones(1, requires_grad=True)
        >>> h = facula.autograd.graph.register_multi_grad_hook((x, y), lambda grads: print(grads))
        >>> (x * 2 + y * 3).backward()
        [tensor([2.]), tensor([3.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: expected mode 'all' or 'any', got {mode!r}.")
    for index, tensor in enumerate(tensors):
        if not tensor.requires_grad:
            raise RuntimeError(
                f"register_multi_grad_hook: tensor {index} does not require grad, so it can "
                "never have one."
            )
    watch = _watch_all if mode == "all" else _watch_any
    return _HandleGroup(watch(tuple(tensors), fn))


def _watch_all(tensors: tuple[Tensor, ...], fn: Callable[..., None]) -> list[Any]:
    lock = threading.Lock()
    nodes = [get_gradient_edge(t).node for t in tensors]
    # By backward call, because hooks of two calls (nested, or of two threads) interleave.
    pending: dict[int, tuple[list[Tensor | None], int]] = {}

    def make_hook(index: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            call = _core._current_graph_task_id()
            with lock:
                # Which of the tensors a call reaches is known to the engine only while it runs.
                if call not in pending:
                    n_expected = sum(map(_core._will_engine_execute_node, nodes))
                    pending[call] = ([None] * len(tensors), n_expected)
                grads, n_missing = pending[call]
                grads[index] = grad
                pending[call] = (grads, n_missing - 1)
                is_last = n_missing == 1
                if is_last:
                    del pending[call]
            if is_last:  # outside of the lock: fn may itself call backward
                fn(grads)

        return hook

    return [t.register_hook(make_hook(i)) for i, t in enumerate(tensors)]


def _watch_any(tensors: tuple[Tensor, ...], fn: Callable[..., None]) -> list[Any]:
    lock = threading.Lock()
    seen: set[int] = set()

    def hook(grad: Tensor) -> None:
        call = _core._current_graph_task_id()
        with lock:
            is_first = call not in seen
            # One entry is enough: calls are numbered upwards, and old ones never come back.
            seen.clear()
            seen.add(call)
        if is_first:
            fn(grad)

    return [t.register_hook(hook) for t in tensors]


_switches = {"override_stale_capture_stream": False, "warn_on_stream_mismatch": True}


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Keep whether backward, captured in a graph, may replace a stream that is not captured.

    Backward runs on the stream of the thread that calls it, so that there is none to replace.

    Args:
        enabled: what is kept.
    """
    _switches["override_stale_capture_stream"] = enabled


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Keep whether gradients of other streams are warned of; backward has one stream.

    Args:
        enabled: what is kept.
    """
    _switches["warn_on_stream_mismatch"] = enabled


@contextmanager
def region_activation_memory_budget(budget: float) -> Iterator[None]:
    """A block whose activations a compiler would keep in part; eager code keeps what it needs.

    Args:
        budget: the part, from 0 to 1.

    Example:
        >>> with facula.autograd.graph.region_activation_memory_budget(0.5):
        ...     facula.ones(2) + 1
        tensor([2., 2.])
    """
    if not 0 <= budget <= 1:
        raise ValueError(
            f"region_activation_memory_budget: expected a number from 0 to 1, got {budget}."
        )
    yield

"""Looking at the graph and intervening in it: nodes, saved tensors, hooks over several tensors.

Hooks ask the engine two things: ``_core._current_graph_task_id()`` is the number of the running
call of backward (-1 outside), and ``_core._will_engine_execute_node(node)`` says whether that call
reaches the node.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from facula import _core
from facula._core import Tensor
from facula._core import _Node as Node
from facula.autograd.grad_mode import enable_grad

__all__ = [
    "Node",
    "disable_saved_tensors_hooks",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


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


def _accumulation_node(tensor: Tensor) -> Node:
    """The node that a tensor's gradient arrives at; for a leaf the accumulating one."""
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    # A leaf does not name its node; whatever is recorded of the leaf has it as the next one.
    with enable_grad():
        grad_fn = tensor.view_as(tensor).grad_fn
    assert grad_fn is not None  # the callers pass only tensors that require grad
    node: Node = grad_fn.next_functions[0][0]
    return node


def _watch_all(tensors: tuple[Tensor, ...], fn: Callable[..., None]) -> list[Any]:
    lock = threading.Lock()
    nodes = [_accumulation_node(t) for t in tensors]
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

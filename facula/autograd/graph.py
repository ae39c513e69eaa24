"""Looking at the graph and intervening in it: nodes and saved tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from facula import _core
from facula._core import Node, Tensor

__all__ = [
    "Node",
    "disable_saved_tensors_hooks",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class saved_tensors_hooks:
    """Change how operations recorded inside the block keep their tensors for backward.

    Args:
        pack_hook: called with each tensor when it is saved; what it returns is kept instead.
        unpack_hook: called with that in backward; must return the tensor.

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

    def __enter__(self) -> None:
        _core.push_saved_tensors_hooks_(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc_info: object) -> None:
        _core.pop_saved_tensors_hooks_()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the CPU's memory, and bring them back for backward.

    Args:
        pin_memory: keep them in page-locked memory, from which copies to the device are faster.
        device_type: the kind of device that the computation runs on.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack_to_cpu(tensor: Tensor) -> tuple[Any, Tensor]:
            copy = tensor.cpu()
            is_from_device = tensor.device.type == device_type
            return tensor.device, copy.pin_memory() if pin_memory and is_from_device else copy

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
    previous = _core.saved_tensors_hooks_disabled_message()
    _core.disable_saved_tensors_hooks_(error_message)
    try:
        yield
    finally:
        _core.disable_saved_tensors_hooks_(previous)

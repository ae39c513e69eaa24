"""The methods of a module that move and convert all of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import facula
from facula import __future__, _core
from facula._core import Tensor
from facula._ops._arguments import described
from facula.autograd.grad_mode import no_grad
from facula.nn.parameter import Parameter

_Self = TypeVar("_Self", bound="Movable")


class Movable:
    """The methods of :class:`Module` that give its tensors another device, dtype or memory."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    children: Callable[[], Iterator[Any]]

    def _apply(self: _Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> _Self:
        """Replace the data of all parameters, gradients and buffers by ``fn`` of it.

        The parameters stay the same objects, so that an optimiser that holds them sees the change.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        # New data in the old objects: gradients move with their parameters, and tied parameters,
        # which come here twice, stay tied.
        for name, param in self._parameters.items():
            if param is None:
                continue
            if __future__.get_overwrite_module_params_on_conversion():
                self._parameters[name] = _converted(param, fn)
                continue
            with no_grad():
                for tensor in (param, param.grad):
                    if tensor is not None:
                        tensor.data = fn(tensor)
        # Buffers are new objects, as in PyTorch: nobody else is expected to hold them.
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: _Self, *args: Any, **kwargs: Any) -> _Self:
        """Move the module, or change the dtype of its floating-point and complex tensors.

        ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype)``, ``to(tensor)`` and
        ``to(memory_format=...)``; the last one changes parameters and buffers of 4 or 5 dimensions.

        Example:
            >>> m = facula.nn.Linear(2, 2).to(facula.float64)
            >>> m.weight.dtype
            torch.float64
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"Module.to: expected a floating-point or complex dtype, got {dtype}.")

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            layout = memory_format if memory_format is not None and t.dim() in (4, 5) else None
            options = {} if layout is None else {"memory_format": layout}
            if t.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use Module.to_empty() instead "
                    "of Module.to() when moving module from meta to a different device."
                )
            return t.to(device or t.device, wanted or t.dtype, non_blocking, **options)

        return self._apply(convert)

    def to_empty(self: _Self, *, device: Any, recurse: bool = True) -> _Self:
        """Move the module without its values: they are undefined on the new device.

        Args:
            device: where parameters and buffers get their memory.
            recurse: whether the modules inside of this one move, too.

        Example:
            >>> m = facula.nn.Linear(2, 3, device="meta").to_empty(device="cpu")
            >>> m.weight.is_meta
            False
        """
        return self._apply(lambda t: facula.empty_like(t, device=device), recurse=recurse)

    def cpu(self: _Self) -> _Self:
        """Move the module to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self: _Self, device: Any = None) -> _Self:
        """Move the module to a GPU, by default the current one."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self: _Self, device: Any = None) -> _Self:
        """Move the module to one of Intel's GPUs: there is none, and it raises.

        Args:
            device: the number of the GPU.
        """
        return self.to(_core.device("xpu"))

    def ipu(self: _Self, device: Any = None) -> _Self:
        """Move the module to one of Graphcore's accelerators: there is none, and it raises.

        Args:
            device: the number of the accelerator.
        """
        return self.to(_core.device("ipu"))

    def mtia(self: _Self, device: Any = None) -> _Self:
        """Move the module to one of Meta's accelerators: there is none, and it raises.

        Args:
            device: the number of the accelerator.
        """
        return self.to(_core.device("mtia"))

    def type(self: _Self, dst_type: Any) -> _Self:
        """Convert all parameters and buffers."""
        return self._apply(lambda t: cast(Tensor, t.type(dst_type)))

    def float(self: _Self) -> _Self:
        """Convert floating-point tensors to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self: _Self) -> _Self:
        """Convert floating-point tensors to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self: _Self) -> _Self:
        """Convert floating-point tensors to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self: _Self) -> _Self:
        """Convert floating-point tensors to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def share_memory(self: _Self) -> _Self:
        """Move all parameters and buffers to memory that other processes can map."""
        return self._apply(lambda t: cast(Any, t).share_memory_())


def _converted(param: Parameter, fn: Callable[[Tensor], Tensor]) -> Parameter:
    """A new parameter, and a new gradient: optimisers keep the old ones."""
    with no_grad():
        new = Parameter(fn(param), param.requires_grad)
        if param.grad is not None:
            new.grad = fn(param.grad).requires_grad_(param.grad.requires_grad)
    return new


def _parse_to(
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    tensor: Tensor | None = None,
    memory_format: Any = None,
) -> tuple[Any, Any, bool, Any]:
    if len(args) > 4:
        raise TypeError(f"Module.to: expected at most 4 arguments without a name, got {len(args)}.")
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        tensor = rest.pop(0)
    elif rest and not isinstance(rest[0], _core.dtype):
        device = rest.pop(0)
    if rest and (rest[0] is None or isinstance(rest[0], _core.dtype)):
        dtype = rest.pop(0)
    if rest:
        non_blocking = rest.pop(0)
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    if dtype is not None and not isinstance(dtype, _core.dtype):
        raise TypeError(f"to: expected a dtype, got {type(dtype).__name__}.")
    if device is not None and not isinstance(device, (_core.device, str, int)):
        what = described(device)
        raise TypeError(f"Module.to: expected a device, a dtype or a tensor, got {what}.")
    return None if device is None else _core.device(device), dtype, non_blocking, memory_format

"""A module on several GPUs of one machine."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from facula import _core, cuda
from facula._utils import _get_all_device_indices, _get_available_device_type, _get_device_index
from facula.nn.modules.module import Module
from facula.nn.parallel.comm import Device, as_device, is_at
from facula.nn.parallel.parallel_apply import parallel_apply
from facula.nn.parallel.replicate import replicate
from facula.nn.parallel.scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """A module that computes each batch on several GPUs.

    The batch is cut into pieces, each GPU has a replica of the module that computes one piece in a
    thread of its own, and the results are joined. In backward the gradients of all replicas are
    summed into the module, which optimisers and checkpoints see as ever. On a machine without a
    GPU, and with one GPU, the module itself computes.

    Args:
        module: the module, whose parameters and buffers are on the first device.
        device_ids: the GPUs, by default all.
        output_device: the GPU of the results, by default the first.
        dim: the dimension of the inputs that is the batch.

    Example:
        >>> net = facula.nn.DataParallel(facula.nn.Linear(2, 3))
        >>> list(net.state_dict())
        ['module.weight', 'module.bias']
        >>> net(facula.ones(4, 2)).shape
        torch.Size([4, 3])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Device] | None = None,
        output_device: Device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []
        if _get_available_device_type() is None:
            return
        if device_ids is None:
            device_ids = _get_all_device_indices() or []
        if not device_ids:
            raise RuntimeError("DataParallel: no available devices were found.")
        self.dim = dim
        self.device_ids = [_get_device_index(device, True) for device in device_ids]
        first = self.device_ids[0] if output_device is None else output_device
        self.output_device: Any = _get_device_index(first, True)
        self.src_device_obj = as_device(self.device_ids[0])
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result for the whole batch.

        Args:
            inputs: what the module takes; tensors are cut, other objects go to all replicas.
            kwargs: what the module takes by name; tensors are cut here too.
        """
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        _check_places(self.module, self.src_device_obj)
        pieces, named = self.scatter(inputs, kwargs, self.device_ids)
        if not pieces and not named:  # a module without arguments
            pieces, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*pieces[0], **named[0])
        replicas = self.replicate(self.module, self.device_ids[: len(pieces)])
        return self.gather(self.parallel_apply(replicas, pieces, named), self.output_device)

    def replicate(self, module: Module, device_ids: Sequence[Device]) -> list[Module]:
        """The replicas of a module; without gradients where none are recorded.

        Args:
            module: the module.
            device_ids: the devices.
        """
        return replicate(module, device_ids, not _core.is_grad_enabled())

    def scatter(
        self, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, device_ids: Sequence[Device]
    ) -> Any:
        """The arguments in pieces.

        Args:
            inputs: the arguments without a name.
            kwargs: the arguments by name.
            device_ids: the devices.
        """
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(
        self, replicas: Sequence[Module], inputs: Sequence[Any], kwargs: Any
    ) -> list[Any]:
        """The results of all replicas.

        Args:
            replicas: the replicas.
            inputs: for each its arguments without a name.
            kwargs: for each its arguments by name.
        """
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Device) -> Any:
        """The results joined.

        Args:
            outputs: for each replica its result.
            output_device: where the joined ones are to be.
        """
        return gather(outputs, output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Device] | None = None,
    output_device: Device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """One call of a module on several devices, as :class:`DataParallel` makes it.

    Args:
        module: the module, whose parameters and buffers are on the first device.
        inputs: a tensor, or a tuple of arguments.
        device_ids: the devices, by default all GPUs.
        output_device: the device of the result, by default the first.
        dim: the dimension of the inputs that is the batch.
        module_kwargs: the arguments by name.

    Example:
        >>> net = facula.nn.Linear(2, 3)
        >>> x = facula.ones(4, 2)
        >>> facula.nn.parallel.data_parallel(net, x, ["cpu", "cpu"]).shape
        torch.Size([4, 3])
    """
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    if device_ids is None:
        if not cuda.is_available():
            raise RuntimeError("data_parallel: no available devices were found.")
        device_ids = list(range(cuda.device_count()))
    if not device_ids:
        raise RuntimeError("data_parallel: expected at least one device, got device_ids=[].")
    places = [as_device(device) for device in device_ids]
    target = places[0] if output_device is None else as_device(output_device)
    _check_places(module, places[0])
    pieces, named = scatter_kwargs(args, module_kwargs, places, dim)
    if not pieces and not named:
        pieces, named = ((),), ({},)
    if len(places) == 1:
        return module(*pieces[0], **named[0])
    used = places[: len(pieces)]
    replicas = replicate(module, used, not _core.is_grad_enabled())
    return gather(parallel_apply(replicas, pieces, named, used), target, dim)


def _check_places(module: Module, source: _core.device) -> None:
    for tensor in chain(module.parameters(), module.buffers()):
        if not is_at(tensor, source):
            raise RuntimeError(
                "module must have its parameters and buffers on device "
                f"{source} (device_ids[0]) but found one of them on device: {tensor.device}"
            )

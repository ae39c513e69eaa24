"""One module in several processes, which needs an engine that is not there yet."""

from __future__ import annotations

from facula._refusing import refusing_class
from facula.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]

DistributedDataParallel = refusing_class(
    "torch.nn.parallel.DistributedDataParallel",
    "there is no engine yet that sums gradients over several processes "
    "(torch.distributed.is_available() is False). Train in one process: the module itself on one "
    "device, or torch.nn.DataParallel on several GPUs.",
    Module,
)

"""Devices of several processes as a grid, which needs an engine that is not there yet."""

from __future__ import annotations

from facula._refusing import refusing, refusing_class
from facula.distributed.distributed_c10d import NO_ENGINE

__all__ = ["DeviceMesh", "init_device_mesh"]

DeviceMesh = refusing_class("torch.distributed.device_mesh.DeviceMesh", NO_ENGINE)
init_device_mesh = refusing("torch.distributed.device_mesh.init_device_mesh", NO_ENGINE)

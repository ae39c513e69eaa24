"""Processes with different numbers of batches, which need an engine that is not there yet."""

from facula._refusing import refusing_class
from facula.distributed.distributed_c10d import NO_ENGINE

__all__ = ["Join", "JoinHook", "Joinable"]

Join = refusing_class("torch.distributed.algorithms.Join", NO_ENGINE)
JoinHook = refusing_class("torch.distributed.algorithms.JoinHook", NO_ENGINE)
Joinable = refusing_class("torch.distributed.algorithms.Joinable", NO_ENGINE)

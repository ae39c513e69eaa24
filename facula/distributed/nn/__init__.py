"""Modules and functions of several processes, which need an engine that is not there yet."""

from facula._refusing import refusing_class
from facula.distributed.distributed_c10d import NO_ENGINE
from facula.distributed.nn import functional
from facula.distributed.nn.functional import *  # noqa: F403
from facula.distributed.nn.functional import __all__ as _functions

__all__ = ["RemoteModule", "functional", *_functions]

RemoteModule = refusing_class("torch.distributed.nn.RemoteModule", NO_ENGINE)

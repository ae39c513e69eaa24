"""Calls of functions in other processes, of which there are none."""

from facula.distributed.rpc import RRef as PyRRef
from facula.distributed.rpc.api import _is_current_rpc_agent_set as _is_current_rpc_agent_set

__all__ = ["PyRRef"]

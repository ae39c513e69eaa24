"""Calls of functions in other processes, which are not part of the package."""

from facula._refusing import refusing, refusing_class
from facula.distributed.rpc import api

__all__ = [
    "RRef",
    "TensorPipeRpcBackendOptions",
    "api",
    "get_worker_info",
    "init_rpc",
    "is_available",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

_NO_CALLS = "functions are not called in other processes. Use multiprocessing."


def is_available() -> bool:
    """Whether functions can be called in other processes: no."""
    return False


RRef = refusing_class("torch.distributed.rpc.RRef", _NO_CALLS)
TensorPipeRpcBackendOptions = refusing_class(
    "torch.distributed.rpc.TensorPipeRpcBackendOptions", _NO_CALLS
)
get_worker_info = refusing("torch.distributed.rpc.get_worker_info", _NO_CALLS)
init_rpc = refusing("torch.distributed.rpc.init_rpc", _NO_CALLS)
remote = refusing("torch.distributed.rpc.remote", _NO_CALLS)
rpc_async = refusing("torch.distributed.rpc.rpc_async", _NO_CALLS)
rpc_sync = refusing("torch.distributed.rpc.rpc_sync", _NO_CALLS)
shutdown = refusing("torch.distributed.rpc.shutdown", _NO_CALLS)

"""How tensors and storages are pickled for another process."""

from __future__ import annotations

import resource
from collections.abc import Callable
from multiprocessing import reduction, resource_sharer
from multiprocessing.connection import Connection
from typing import Any

from facula import _core
from facula._core import Tensor, UntypedStorage
from facula.storage import TypedStorage, _rebuild_typed_storage

__all__ = ["init_reductions", "reduce_storage", "reduce_tensor"]

# The thread that hands descriptors to other processes. The standard library has it for its own
# connections, with no public name.
_sharer: Any = resource_sharer._resource_sharer  # type: ignore[attr-defined]


def _hold(storage: UntypedStorage, by_descriptor: bool, number: int) -> Any:
    """Keep ``storage`` until another process has fetched it by the ticket that is returned."""
    held = [storage]  # a list: the sharer drops the storage by clearing it

    def send(connection: Connection[Any, Any], pid: int) -> None:
        try:
            if by_descriptor:
                reduction.send_handle(connection, number, pid)
            else:
                connection.send_bytes(b"here")
                connection.recv_bytes()  # a segment ends with its last user: wait for the other
        except (OSError, EOFError):
            pass  # the other process has gone

    # The sharer calls `send` for one process, and then `held.clear`. So a ticket is good once: a
    # storage held for a second process that never comes would never be freed.
    return _sharer.register(send, held.clear)


def _fetch(ticket: Any, by_descriptor: bool, number: int, nbytes: int) -> UntypedStorage:
    try:
        connection = _sharer.get_connection(ticket)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise type(error)(
            error.errno,
            "a tensor was received whose sender has ended. The process that sends a tensor must "
            "live until the tensor has arrived",
        ) from None
    with connection:
        try:
            if by_descriptor:
                number = reduction.recv_handle(connection)
            else:
                connection.recv_bytes()
        except (EOFError, ConnectionResetError):
            raise RuntimeError(
                "a tensor was received that has been fetched before: what multiprocessing "
                "pickles can be read once. Its sender may have ended, too."
            ) from None
        except RuntimeError:
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            raise RuntimeError(
                f"a tensor was received, but all {limit} descriptors of this process are in use. "
                'Raise ulimit -n, or share memory by set_sharing_strategy("file_system").'
            ) from None
        storage: UntypedStorage = _core._open_shared(by_descriptor, number, nbytes)
        if not by_descriptor:
            connection.send_bytes(b"mine")
    return storage


def reduce_storage(storage: UntypedStorage) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A storage for another process, which will see the same memory."""
    if storage.device.type != "cpu":
        raise NotImplementedError(
            f"multiprocessing: a tensor on {storage.device} cannot be sent to another process. "
            "Send tensor.cpu()."
        )
    # In place: all tensors that the sender has over this storage see what the receiver writes.
    storage.share_memory_()
    if storage.nbytes() == 0:  # no bytes cannot be mapped
        return UntypedStorage, (0,)
    handle = storage._shared_handle()
    return _fetch, (_hold(storage, *handle), *handle, storage.nbytes())


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """A tensor for another process, over the same memory."""
    if tensor.grad_fn is not None:
        raise RuntimeError(
            "multiprocessing: expected a leaf of the graph or a tensor without gradient, got a "
            f"result of operations ({tensor.grad_fn.name()}): backward does not cross the border "
            "between processes. Send tensor.detach()."
        )
    # The ordinary pickle of a tensor, in which only the storage is another: see reduce_storage.
    reduced: tuple[Any, ...] = tensor.__reduce_ex__(2)
    return reduced


def _reduce_typed_storage(storage: TypedStorage) -> tuple[Any, ...]:
    # Not as its pickle for files, which would be a copy of the bytes.
    return _rebuild_typed_storage, (storage.untyped(), storage.dtype)


def init_reductions() -> None:
    """Let ``multiprocessing`` send storages and tensors by this module."""
    reduction.ForkingPickler.register(UntypedStorage, reduce_storage)
    reduction.ForkingPickler.register(TypedStorage, _reduce_typed_storage)
    reduction.ForkingPickler.register(Tensor, reduce_tensor)

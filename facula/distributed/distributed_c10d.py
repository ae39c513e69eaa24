"""Groups of processes and what they do together, without an engine that would do it.

Questions are answered (nothing is initialised), and constants and classes are there to be named.
Whatever needs other processes raises the exception that PyTorch raises without a group, and says
that there is no engine.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NoReturn

from facula import _core
from facula._refusing import refusing, refusing_class

__all__ = [
    "AllToAllOptions",
    "AllreduceOptions",
    "Backend",
    "BackendConfig",
    "BarrierOptions",
    "BroadcastOptions",
    "DebugLevel",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GatherOptions",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "ReduceOp",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "register_rendezvous_handler",
    "rendezvous",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "split_group",
    "supports_complex",
]

NO_ENGINE = (
    "there is no engine yet for several processes (torch.distributed.is_available() is False). "
    "Train in one process; torch.nn.DataParallel computes on several GPUs of one machine."
)

default_pg_timeout = timedelta(minutes=30)


def _no_group(name: str) -> NoReturn:
    raise ValueError(
        f"distributed.{name}: Default process group has not been initialized, and {NO_ENGINE}"
    )


def _needs_group(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        _no_group(name)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Cannot be called: {NO_ENGINE}"
    return refuse


def is_initialized() -> bool:
    """Whether there is a group of processes: no.

    Example:
        >>> facula.distributed.is_initialized()
        False
    """
    return False


def is_backend_available(backend: str) -> bool:
    """Whether there is an engine of this name: no.

    Args:
        backend: the name, such as ``"gloo"``.
    """
    return False


def is_nccl_available() -> bool:
    """Whether processes can talk through NCCL: no."""
    return False


def is_gloo_available() -> bool:
    """Whether processes can talk through Gloo: no."""
    return False


def is_mpi_available() -> bool:
    """Whether processes can talk through MPI: no."""
    return False


def is_ucc_available() -> bool:
    """Whether processes can talk through UCC: no."""
    return False


def is_xccl_available() -> bool:
    """Whether processes can talk through XCCL: no."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` has started the process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of the process on this machine, as the launcher has set ``LOCAL_RANK``.

    Args:
        fallback_rank: the answer where no launcher has set it.

    Example:
        >>> facula.distributed.get_node_local_rank(fallback_rank=0)
        0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "get_node_local_rank: LOCAL_RANK is not in the environment. Pass fallback_rank=0 for a "
        "process that is alone."
    )


init_process_group = refusing("torch.distributed.init_process_group", NO_ENGINE)
rendezvous = refusing("torch.distributed.rendezvous", NO_ENGINE)
register_rendezvous_handler = refusing("torch.distributed.register_rendezvous_handler", NO_ENGINE)

all_gather = _needs_group("all_gather")
all_gather_coalesced = _needs_group("all_gather_coalesced")
all_gather_into_tensor = _needs_group("all_gather_into_tensor")
all_gather_object = _needs_group("all_gather_object")
all_reduce = _needs_group("all_reduce")
all_reduce_coalesced = _needs_group("all_reduce_coalesced")
all_to_all = _needs_group("all_to_all")
all_to_all_single = _needs_group("all_to_all_single")
barrier = _needs_group("barrier")
batch_isend_irecv = _needs_group("batch_isend_irecv")
broadcast = _needs_group("broadcast")
broadcast_object_list = _needs_group("broadcast_object_list")
gather = _needs_group("gather")
gather_object = _needs_group("gather_object")
get_backend = _needs_group("get_backend")
get_backend_config = _needs_group("get_backend_config")
get_global_rank = _needs_group("get_global_rank")
get_group_rank = _needs_group("get_group_rank")
get_process_group_ranks = _needs_group("get_process_group_ranks")
irecv = _needs_group("irecv")
isend = _needs_group("isend")
monitored_barrier = _needs_group("monitored_barrier")
new_group = _needs_group("new_group")
new_subgroups = _needs_group("new_subgroups")
new_subgroups_by_enumeration = _needs_group("new_subgroups_by_enumeration")
recv = _needs_group("recv")
recv_object_list = _needs_group("recv_object_list")
reduce = _needs_group("reduce")
reduce_scatter = _needs_group("reduce_scatter")
reduce_scatter_tensor = _needs_group("reduce_scatter_tensor")
scatter = _needs_group("scatter")
scatter_object_list = _needs_group("scatter_object_list")
send = _needs_group("send")
send_object_list = _needs_group("send_object_list")
split_group = _needs_group("split_group")
_all_gather_base = _needs_group("_all_gather_base")
_reduce_scatter_base = _needs_group("_reduce_scatter_base")


def get_rank(group: Any = None) -> int:
    """The number of this process in a group; -1 if it is not in it.

    There is no group that it is in, so that all others raise a ValueError.

    Args:
        group: the group, by default that of all processes.

    Example:
        >>> facula.distributed.get_rank(facula.distributed.GroupMember.NON_GROUP_MEMBER)
        -1
    """
    if _rank_not_in_group(group):
        return -1
    _no_group("get_rank")


def get_world_size(group: Any = None) -> int:
    """How many processes are in a group; -1 if this one is not in it.

    There is no group that it is in, so that all others raise a ValueError.

    Args:
        group: the group, by default that of all processes.

    Example:
        >>> facula.distributed.get_world_size(facula.distributed.GroupMember.NON_GROUP_MEMBER)
        -1
    """
    if _rank_not_in_group(group):
        return -1
    _no_group("get_world_size")


def destroy_process_group(group: Any = None) -> None:
    """End a group of processes, of which there is none.

    Args:
        group: the group; one that this process is not in needs no end.
    """
    if _rank_not_in_group(group):
        return
    raise AssertionError("distributed.destroy_process_group: there is no process group.")


def get_pg_count() -> int:
    """How many groups of processes there are: none."""
    return 0


def get_default_backend_for_device(device: str | _core.device) -> str:
    """The engine that PyTorch takes for tensors of a device.

    Args:
        device: the device.

    Example:
        >>> facula.distributed.get_default_backend_for_device("cpu")
        'gloo'
    """
    kind = _core.device(device).type
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"get_default_backend_for_device: there is none for {kind!r}.")
    return Backend.default_device_backend_map[kind]


class DistError(RuntimeError):
    """What goes wrong between processes."""


class DistBackendError(DistError):
    """An engine that has failed."""


class DistNetworkError(DistError):
    """A connection that has failed."""


class DistStoreError(DistError):
    """A store that has failed."""


class QueueEmptyError(DistStoreError):
    """A queue of a store that is empty."""


class DebugLevel(enum.Enum):
    """How much an engine checks."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_debug_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """What :func:`set_debug_level` was given last."""
    return _debug_level


def set_debug_level(level: DebugLevel) -> None:
    """Keep how much an engine is to check.

    Args:
        level: one of ``DebugLevel``.
    """
    global _debug_level
    _debug_level = level


def set_debug_level_from_env() -> None:
    """Take the level from ``TORCH_DISTRIBUTED_DEBUG``."""
    set_debug_level(DebugLevel[os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()])


class RedOpType(enum.Enum):
    """The ways to join tensors of several processes."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """How tensors of several processes are joined, ``ReduceOp.SUM`` for example.

    Args:
        op: one of the ways.
    """

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __init__(self, op: Any) -> None:
        self.op = op

    def __eq__(self, other: object) -> bool:
        return bool(self.op == (other.op if isinstance(other, ReduceOp) else other))

    def __hash__(self) -> int:
        return hash(self.op)


class _OldReduceOp:
    """The older name of ``ReduceOp``."""

    SUM, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX


reduce_op = _OldReduceOp()


def supports_complex(reduceOp: Any) -> bool:
    """Whether complex tensors can be joined in this way.

    Args:
        reduceOp: one of the ways.
    """
    without = {"MAX", "MIN", "PRODUCT", "BAND", "BOR", "BXOR"}
    return getattr(getattr(reduceOp, "op", reduceOp), "name", "") not in without


class Backend(str):
    """The name of an engine, in small letters.

    Args:
        name: the name in any letters.

    Example:
        >>> facula.distributed.Backend("NCCL") == facula.distributed.Backend.NCCL
        True
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"
    backend_list = (UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE)
    default_device_backend_map: dict[str, str] = {  # noqa: RUF012
        "cpu": GLOO,
        "cuda": NCCL,
        "xpu": XCCL,
        "mps": GLOO,
    }

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend: expected a str, got {type(name).__name__}.")
        return super().__new__(cls, name.lower())

    register_backend = staticmethod(
        refusing("torch.distributed.Backend.register_backend", NO_ENGINE)
    )


ProcessGroup = refusing_class("torch.distributed.ProcessGroup", NO_ENGINE)
Work = _Work = refusing_class("torch.distributed.Work", NO_ENGINE)
P2POp = refusing_class("torch.distributed.P2POp", NO_ENGINE)
BackendConfig = refusing_class("torch.distributed.BackendConfig", NO_ENGINE)
Store = refusing_class("torch.distributed.Store", NO_ENGINE)
FileStore = refusing_class("torch.distributed.FileStore", NO_ENGINE, Store)
HashStore = refusing_class("torch.distributed.HashStore", NO_ENGINE, Store)
PrefixStore = refusing_class("torch.distributed.PrefixStore", NO_ENGINE, Store)
TCPStore = refusing_class("torch.distributed.TCPStore", NO_ENGINE, Store)
AllToAllOptions = refusing_class("torch.distributed.AllToAllOptions", NO_ENGINE)
AllreduceOptions = refusing_class("torch.distributed.AllreduceOptions", NO_ENGINE)
BarrierOptions = refusing_class("torch.distributed.BarrierOptions", NO_ENGINE)
BroadcastOptions = refusing_class("torch.distributed.BroadcastOptions", NO_ENGINE)
GatherOptions = refusing_class("torch.distributed.GatherOptions", NO_ENGINE)
ReduceOptions = refusing_class("torch.distributed.ReduceOptions", NO_ENGINE)
ReduceScatterOptions = refusing_class("torch.distributed.ReduceScatterOptions", NO_ENGINE)
ScatterOptions = refusing_class("torch.distributed.ScatterOptions", NO_ENGINE)


class _World(type):
    @property
    def WORLD(cls) -> None:
        """The group of all processes: there is none."""
        return None


class group(metaclass=_World):
    """The groups by name: ``group.WORLD``, of all processes, is None as long as there is none."""


class GroupMember(metaclass=_World):
    """The groups by name, and the one that this process does not belong to."""

    NON_GROUP_MEMBER = -100


def _rank_not_in_group(group: Any) -> bool:
    """Whether this process does not belong to a group."""
    return group is not None and group == GroupMember.NON_GROUP_MEMBER


def _get_default_group() -> NoReturn:
    _no_group("_get_default_group")


def _get_default_store() -> NoReturn:
    _no_group("_get_default_store")

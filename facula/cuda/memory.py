"""The memory of a GPU: how much of it tensors hold, and how much is kept for reuse."""

from __future__ import annotations

from typing import Any

from facula import _core
from facula._refusing import refusing, refusing_class
from facula.cuda._devices import DeviceLike, device_index, is_available

__all__ = [
    "CUDAPluggableAllocator",
    "MemPool",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_disabled",
    "caching_allocator_enable",
    "change_current_allocator",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]

_COUNTS = ("allocated_bytes", "reserved_bytes", "allocation", "segment")


def memory_stats_as_nested_dict(device: DeviceLike = None) -> dict[str, Any]:
    """What :func:`memory_stats` tells, as dicts in dicts; empty where there is no GPU.

    Args:
        device: the GPU; None for the current one.

    Example:
        >>> stats = facula.cuda.memory_stats_as_nested_dict()
        >>> sorted(stats)[-1] if facula.cuda.is_available() else "segment"
        'segment'
    """
    if not is_available():
        return {}
    given = _core._cuda_memory_stats(device_index(device))
    stats: dict[str, Any] = {name: given[name] for name in ("num_alloc_retries", "num_ooms")}
    return stats | {name: {"all": counts} for name, counts in _counts(given).items()}


def _counts(given: dict[str, Any]) -> dict[str, dict[str, int]]:
    counts = {}
    for name in _COUNTS:
        current, peak, total = given[name]
        freed = total - current
        counts[name] = {"current": current, "peak": peak, "allocated": total, "freed": freed}
    return counts


def memory_stats(device: DeviceLike = None) -> dict[str, int]:
    """Counts of the allocator: what there is, the most there was, all that came and went.

    The names are ``allocated_bytes.all.current`` and so on: ``allocated_bytes``,
    ``reserved_bytes``, ``allocation`` and ``segment``, each with ``current``, ``peak``,
    ``allocated`` and ``freed``; ``num_alloc_retries`` (the cache was given back first) and
    ``num_ooms`` (that did not help).

    Args:
        device: the GPU; None for the current one.

    Example:
        >>> stats = facula.cuda.memory_stats()  # empty without a GPU
        >>> stats.get("num_ooms", 0)
        0
    """
    flat: dict[str, int] = {}
    for name, value in memory_stats_as_nested_dict(device).items():
        if isinstance(value, int):
            flat[name] = value
        else:
            flat |= {f"{name}.all.{key}": number for key, number in value["all"].items()}
    return dict(sorted(flat.items()))


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """What :func:`host_memory_stats` tells, as dicts in dicts; empty where there is no GPU.

    Example:
        >>> stats = facula.cuda.host_memory_stats_as_nested_dict()
        >>> sorted(stats)[0] if facula.cuda.is_available() else "allocated_bytes"
        'allocated_bytes'
    """
    return dict(_counts(_core._pinned_memory_stats())) if is_available() else {}


def host_memory_stats() -> dict[str, int]:
    """Counts of page-locked memory of the CPU: of that in use, and of that kept for reuse.

    The names are ``allocated_bytes.current`` and so on, as those of :func:`memory_stats` are
    without ``all``.

    Example:
        >>> facula.cuda.host_memory_stats().get("allocated_bytes.current", 0)
        0
    """
    nested = host_memory_stats_as_nested_dict()
    flat = {f"{name}.{key}": n for name, counts in nested.items() for key, n in counts.items()}
    return dict(sorted(flat.items()))


def reset_peak_host_memory_stats() -> None:
    """Lets the peaks of :func:`host_memory_stats` start again from what there is now."""
    _core._reset_pinned_peak()


def reset_accumulated_host_memory_stats() -> None:
    """Lets what :func:`host_memory_stats` counts in all start again from 0."""
    _core._reset_pinned_accumulated()


def _count(name: str, device: DeviceLike) -> int:
    # Logs of trainings ask for it on machines without a GPU too.
    return memory_stats(device).get(name, 0)


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes of GPU memory that tensors of this process hold."""
    return _count("allocated_bytes.all.current", device)


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The most that :func:`memory_allocated` was since the start or the last reset."""
    return _count("allocated_bytes.all.peak", device)


def memory_reserved(device: DeviceLike = None) -> int:
    """Bytes that this process has of the GPU, those kept for reuse included."""
    return _count("reserved_bytes.all.current", device)


def max_memory_reserved(device: DeviceLike = None) -> int:
    """The most that :func:`memory_reserved` was since the start or the last reset."""
    return _count("reserved_bytes.all.peak", device)


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """A table of what :func:`memory_stats` counts, to be printed.

    Args:
        device: the GPU; None for the current one.
        abbreviated: accepted as in PyTorch, whose longer table has the pools one by one.

    Example:
        >>> print(facula.cuda.memory_summary().splitlines()[0])  # doctest: +SKIP
        |  GPU memory of cuda:0  |  now  |  peak  |  allocated  |  freed  |
    """
    if not is_available():
        return "There is no GPU."
    index, stats = device_index(device), memory_stats_as_nested_dict(device)
    titles = ["now", "peak", "allocated", "freed"]
    lines = [[f"GPU memory of cuda:{index}", *titles]]
    for name in _COUNTS:
        numbers = stats[name]["all"].values()
        show = _in_mib if name.endswith("bytes") else str
        lines.append([name.replace("_", " "), *map(show, numbers)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(titles) + 1)]
    rows = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    rows.insert(1, "-" * len(rows[0]))
    retries = f"given back and tried again: {stats['num_alloc_retries']}"
    return "\n".join([*rows, f"{retries}, out of memory: {stats['num_ooms']}"])


def _in_mib(nbytes: int) -> str:
    return f"{nbytes / 2**20:.1f} MiB"


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total bytes of the GPU, as the driver counts them."""
    return _core._cuda_mem_get_info(device_index(device))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Lets the peaks, as of :func:`max_memory_allocated`, start again from what there is now."""
    _core._cuda_reset_peak(device_index(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Lets the counts of what ever was allocated or freed start again from 0."""
    _core._cuda_reset_accumulated(device_index(device))


def set_per_process_memory_fraction(fraction: float, device: DeviceLike = None) -> None:
    """Lets this process take no more than a part of the GPU's memory.

    Args:
        fraction: the part, from 0 to 1; more than it raises an out-of-memory error.
        device: the GPU; None for the current one.
    """
    if not isinstance(fraction, float):
        raise TypeError("set_per_process_memory_fraction: expected fraction to be a float.")
    if not 0 <= fraction <= 1:
        raise ValueError(
            f"set_per_process_memory_fraction: expected a fraction from 0 to 1, got {fraction}."
        )
    _core._cuda_set_memory_fraction(device_index(device), fraction)


def get_per_process_memory_fraction(device: DeviceLike = None) -> float:
    """The part of the GPU's memory that this process may take.

    Args:
        device: the GPU; None for the current one.
    """
    return _core._cuda_memory_fraction(device_index(device))


def memory_cached(device: DeviceLike = None) -> int:
    """The old name of :func:`memory_reserved`.

    Args:
        device: the GPU; None for the current one.
    """
    return memory_reserved(device)


def max_memory_cached(device: DeviceLike = None) -> int:
    """The old name of :func:`max_memory_reserved`.

    Args:
        device: the GPU; None for the current one.
    """
    return max_memory_reserved(device)


def reset_max_memory_allocated(device: DeviceLike = None) -> None:
    """The old name of :func:`reset_peak_memory_stats`, which resets all peaks.

    Args:
        device: the GPU; None for the current one.
    """
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: DeviceLike = None) -> None:
    """The old name of :func:`reset_peak_memory_stats`, which resets all peaks.

    Args:
        device: the GPU; None for the current one.
    """
    reset_peak_memory_stats(device)


def memory_snapshot(
    mempool_id: tuple[int, int] | None = None, include_traces: bool = True
) -> list[dict[str, Any]]:
    """The pieces of memory that the driver gave for each GPU, and the blocks they are cut into.

    Args:
        mempool_id: the pool of which pieces are told, as :attr:`MemPool.id`; None for all.
        include_traces: accepted as in PyTorch; where blocks were allocated is not recorded.

    Returns:
        A dict for each piece: ``device``, ``address``, ``total_size``, ``allocated_size``,
        ``stream``, ``segment_type``, ``segment_pool_id`` and ``blocks``.

    Example:
        >>> isinstance(facula.cuda.memory_snapshot(), list)
        True
    """
    segments = []
    for index in range(_core._cuda_device_count()):
        for address, nbytes, owner, is_small, blocks in _core._cuda_memory_snapshot(index):
            pool = (0, owner // 2) if owner % 2 else (0, 0)  # pools have the odd numbers
            if mempool_id is not None and pool != tuple(mempool_id):
                continue
            segment: dict[str, Any] = {
                "device": index,
                "address": address,
                "total_size": nbytes,
                "allocated_size": sum(size for size, is_used in blocks if is_used),
                "stream": 0 if owner % 2 else owner,
                "segment_type": "small" if is_small else "large",
                "segment_pool_id": pool,
                "blocks": [],
            }
            for size, is_used in blocks:
                state = "active_allocated" if is_used else "inactive"
                segment["blocks"].append({"address": address, "size": size, "state": state})
                address += size
            segment["active_size"] = segment["allocated_size"]
            segments.append(segment)
    return segments


def caching_allocator_alloc(size: int, device: DeviceLike = None, stream: Any = None) -> int:
    """A block of GPU memory for another library, of the same allocator as that of tensors.

    Args:
        size: the bytes.
        device: the GPU; None for the current one.
        stream: the stream that uses it, or its address; None for the current one.

    Returns:
        Its address, for :func:`caching_allocator_delete`.
    """
    index = device_index(device)
    if stream is None:
        stream = _core._cuda_current_stream(index)
    return _core._cuda_alloc(index, size, getattr(stream, "cuda_stream", stream))


def caching_allocator_delete(mem_ptr: int) -> None:
    """Frees a block of :func:`caching_allocator_alloc`.

    Args:
        mem_ptr: its address.
    """
    _core._cuda_free(device_index(None), mem_ptr)


_ONE_ALLOCATOR = (
    "all memory comes from one allocator. torch.cuda.empty_cache() gives back what it keeps."
)


def caching_allocator_enable(value: bool = True) -> None:
    """Keep freed memory for reuse, as is always done.

    Args:
        value: must be True.

    Example:
        >>> facula.cuda.caching_allocator_enable()
    """
    if not value:
        raise RuntimeError(f"caching_allocator_enable: expected True: {_ONE_ALLOCATOR}")


caching_allocator_disabled = refusing("torch.cuda.caching_allocator_disabled", _ONE_ALLOCATOR)
change_current_allocator = refusing("torch.cuda.change_current_allocator", _ONE_ALLOCATOR)
CUDAPluggableAllocator = refusing_class("torch.cuda.CUDAPluggableAllocator", _ONE_ALLOCATOR)


def get_allocator_backend() -> str:
    """The name of the allocator, ``"native"``: there is one.

    Example:
        >>> facula.cuda.get_allocator_backend()
        'native'
    """
    return "native"


class MemPool:
    """Memory that only blocks of :class:`use_mem_pool`, and graphs of this pool, are given.

    Args:
        allocator: None; memory is that of the driver.
        use_on_oom: accepted as in PyTorch.
        no_split: accepted as in PyTorch.

    Example:
        >>> pool = facula.cuda.MemPool()
        >>> len(pool.id)
        2
    """

    def __init__(
        self, allocator: None = None, use_on_oom: bool = False, no_split: bool = False
    ) -> None:
        if allocator is not None:
            raise NotImplementedError("MemPool: allocators of other libraries are not available.")
        self.id = (0, _core._cuda_new_pool())

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """What :func:`memory_snapshot` tells about this pool.

        Args:
            include_traces: accepted as in PyTorch.
        """
        return memory_snapshot(self.id, include_traces)


class use_mem_pool:
    """A block in which what is allocated on the current stream comes from a pool.

    Args:
        pool: the pool.
        device: the GPU; None for the current one.
    """

    def __init__(self, pool: MemPool, device: DeviceLike = None) -> None:
        self.pool, self._device = pool, device

    def __enter__(self) -> None:
        self._index = device_index(self._device)
        self._stream = _core._cuda_current_stream(self._index)
        _core._cuda_begin_pool(self._index, self._stream, self.pool.id[1])

    def __exit__(self, *exception: object) -> None:
        _core._cuda_end_pool(self._index, self._stream, self.pool.id[1])


def empty_cache() -> None:
    """Gives memory that is kept for reuse back to the GPU; does nothing where there is no GPU."""
    _core._cuda_empty_cache()

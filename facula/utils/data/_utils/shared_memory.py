"""The memory that worker processes share with the caller: rings of blocks that are reused.

Note [Ring of blocks]
One file without a name (memfd) serves all workers of a loader; it takes neither a descriptor per
tensor nor room in ``/dev/shm``. Each worker has a span of it, and cuts blocks from the span as it
needs them. A batch travels as a pickle, through a socket, whose buffers (the memory of tensors and
arrays) lie in one block. The caller makes tensors over that memory without a copy, and when the
last of them is freed the block's number goes back to the worker with a later task.
A caller that keeps many batches gets copies instead, so that a ring stays small.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import pickle
import struct
import threading
from collections.abc import Callable, Sequence
from multiprocessing import reduction
from typing import Any

from facula import Tensor, _core, _utils

__all__ = ["Memory", "Ring", "collate_into_block", "dump", "empty_for_stack", "load"]

_ALIGNMENT = 64
_PAGE = mmap.PAGESIZE
# Sizes to try. This is virtual memory: only the pages that are written take room.
_SPANS = (16 << 30, 1 << 30, 64 << 20)
_MAX_WORKERS = _PAGE // 8  # each has a word for its progress in the first page

ring: Ring | None = None  # the ring of this process, if it is a worker
_collating_thread: int | None = None


class Memory:
    """The file of a loader: one page of words, then a span for each worker."""

    def __init__(self, fd: int, n_workers: int, span: int) -> None:
        self.n_workers = n_workers
        self.span = span
        self.fd = fd
        self.map = mmap.mmap(fd, _PAGE + n_workers * span)
        self.words = memoryview(self.map)[:_PAGE].cast("q")

    @staticmethod
    def create(n_workers: int) -> Memory | None:
        """A new file; None where the system has none to give, and pickles carry everything."""
        if n_workers > _MAX_WORKERS:
            return None
        for span in _SPANS:
            try:
                fd = os.memfd_create("facula-loader")
            except (AttributeError, OSError):
                return None
            try:
                os.ftruncate(fd, _PAGE + n_workers * span)
                return Memory(fd, n_workers, span)
            except (OSError, ValueError, OverflowError):
                os.close(fd)
        return None

    def close_fd(self) -> None:
        """Close the descriptor once all workers are there: the mapping has its own."""
        os.close(self.fd)

    def __reduce__(self) -> tuple[Any, ...]:  # to a process that is being spawned
        return _open_memory, (reduction.DupFd(self.fd), self.n_workers, self.span)

    def start_of(self, worker: int) -> int:
        return _PAGE + worker * self.span

    def lease(self, start: int, nbytes: int) -> Any:
        """The bytes of a block; the block is in use until the result is freed."""
        return (ctypes.c_ubyte * nbytes).from_buffer(self.map, start)


def _open_memory(handle: Any, n_workers: int, span: int) -> Memory:
    memory = Memory(handle.detach(), n_workers, span)
    memory.close_fd()
    return memory


class Ring:
    """The blocks of one worker, in the worker."""

    def __init__(self, memory: Memory, worker: int, max_blocks: int) -> None:
        self._memory = memory
        self._start = memory.start_of(worker)
        self._end = self._start + memory.span
        self._max_blocks = max_blocks
        self._sizes: dict[int, int] = {}  # bytes of all blocks, by their start
        self._free: list[int] = []  # the last one first: its pages are the likeliest in the cache
        self.block = 0  # the one that the next batch goes to; 0: none yet
        self._used = 0
        self._n_latest = 0  # bytes of the latest batch
        self._base = ctypes.addressof(ctypes.c_ubyte.from_buffer(memory.map))

    def give_back(self, starts: Sequence[int]) -> None:
        self._free.extend(starts)

    def begin_batch(self) -> None:
        """Take a free block, so that collating can write to it at once."""
        self._used = 0
        if not self.block and self._free:
            self.block = self._free.pop()
        elif not self.block and self._n_latest:
            self.take_larger_block(self._n_latest)

    def reserve(self, nbytes: int) -> int | None:
        """The start of this many bytes of the block, if it has them."""
        start = self.block + self._used
        if not self.block or self._used + nbytes > self._sizes[self.block]:
            return None
        self._used += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return start

    def take_block(self) -> int:
        """The start of the block, which now belongs to the caller."""
        block, self.block, self._n_latest = self.block, 0, self._used
        return block

    def take_larger_block(self, nbytes: int) -> bool:
        """Change the block for one that has this many bytes, and room for growth."""
        if self.block:
            self._drop(self.block)
        self._used = 0
        for start in [start for start in self._free if self._sizes[start] < nbytes]:
            self._free.remove(start)
            self._drop(start)
        self.block = self._free.pop() if self._free else 0
        if self.block:
            return True
        # A quarter more than needed: batches of sequences differ in size from one to the next.
        size = -(-(nbytes + nbytes // 4) // _PAGE) * _PAGE
        if self._start + size > self._end or len(self._sizes) >= self._max_blocks:
            return False
        self.block, self._start = self._start, self._start + size
        self._sizes[self.block] = size
        return True

    def _drop(self, start: int) -> None:
        # The pages go back to the system. The addresses are not used again: a span is virtual
        # memory, of which there is enough, and finding gaps in it would take an allocator.
        size = self._sizes.pop(start)
        self._memory.map.madvise(mmap.MADV_REMOVE, start, size)

    def offset_of(self, address: int) -> int | None:
        """Where in the block an address is, if it is there."""
        offset = address - self._base - self.block
        return offset if self.block and 0 <= offset < self._used else None

    def view(self, start: int, nbytes: int) -> memoryview:
        return memoryview(self._memory.map)[start : start + nbytes]


def collate_into_block(collate: Callable[[Any], Any], samples: Any) -> Any:
    """``collate(samples)``, whose stacks go straight to the block of this worker.

    Only for a function that keeps no tensor, since the block is used again.
    """
    global _collating_thread
    _collating_thread = threading.get_ident()
    try:
        return collate(samples)
    finally:
        _collating_thread = None


def empty_for_stack(batch: Sequence[Tensor]) -> Tensor | None:
    """A tensor in the block of this worker for the stack of these; None if it must be elsewhere."""
    if ring is None or _collating_thread != threading.get_ident():
        return None
    first = batch[0]
    shape, dtype = first.shape, first.dtype
    nbytes = len(batch) * first.numel() * first.element_size()
    if not nbytes or not all(
        type(t) is Tensor
        and t.is_cpu
        and not t.requires_grad
        and t.dtype == dtype
        and t.shape == shape
        for t in batch
    ):
        return None
    start = ring.reserve(nbytes)
    if start is None:
        return None
    return _core.frombuffer(ring.view(start, nbytes), dtype=dtype).view(len(batch), *shape)


# Pickles. Protocol 5 takes the memory of NumPy's arrays out of the pickle; tensors do the same.


class _Pickler(pickle.Pickler):
    def __init__(self, file: Any, callback: Callable[[pickle.PickleBuffer], Any]) -> None:
        super().__init__(file, 5, buffer_callback=callback)

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, Tensor):
            return NotImplemented
        if not obj.is_leaf:
            raise RuntimeError(
                "DataLoader: a tensor of the batch is a result of operations that need gradients, "
                "and these do not cross processes. Call detach() on it in the dataset."
            )
        kind = type(obj)
        if not obj.is_cpu or not obj.numel() or kind.__reduce_ex__ is not Tensor.__reduce_ex__:
            return NotImplemented
        args = _args_of(obj)
        if kind is Tensor and not obj.__dict__:
            return _rebuild_tensor, args
        return _utils._rebuild_from_type_v2, (_rebuild_tensor, kind, args, obj.__dict__)


def _args_of(tensor: Tensor) -> tuple[Any, ...]:
    x = tensor.detach().resolve_conj().resolve_neg()
    shape, stride = tuple(x.shape), x.stride()
    n_spanned = 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if n_spanned > 2 * x.numel():  # a column of a large matrix, say
        x = x.contiguous()
        stride, n_spanned = x.stride(), x.numel()
    memory = (ctypes.c_ubyte * (n_spanned * x.element_size())).from_address(x.data_ptr())
    memory.owner = x  # alive until its memory is copied or sent
    stride = None if x.is_contiguous() else stride
    return pickle.PickleBuffer(memory), x.dtype, shape, stride, tensor.requires_grad


def _rebuild_tensor(
    memory: Any, dtype: _core.dtype, shape: Any, stride: Any, requires_grad: bool
) -> Tensor:
    x = _core.frombuffer(memory, dtype=dtype)
    x = x.view(shape) if stride is None else x.as_strided(shape, stride)
    return x.requires_grad_() if requires_grad else x


# A message: where the buffers are, then the pickle, then the buffers if they are not in a block.
_HEAD = struct.Struct("<QQQ")  # the start and size of the block, and the number of buffers
_WHERE = struct.Struct("<QQ")  # for each buffer: its offset in the block or message, and its size


def dump(obj: Any) -> list[Any]:
    """The parts of the message that :func:`load` reads; buffers go to this worker's block."""
    buffers: list[memoryview] = []
    file = io.BytesIO()
    pickler = _Pickler(file, lambda buffer: buffers.append(buffer.raw()))
    pickler.dump(obj)
    content = file.getbuffer()
    places = _places_in_block(ring, buffers) if ring is not None and any(buffers) else None
    if ring is not None and places is not None:
        size = max(offset + nbytes for offset, nbytes in places)
        head = _HEAD.pack(ring.take_block(), size, len(buffers))
        return [head, *(_WHERE.pack(*place) for place in places), content]
    at = _HEAD.size + len(buffers) * _WHERE.size + len(content)
    where, tail = [_HEAD.pack(0, 0, len(buffers))], []
    for buffer in buffers:
        padding = -at % _ALIGNMENT
        where.append(_WHERE.pack(at + padding, buffer.nbytes))
        tail += [bytes(padding), buffer]
        at += padding + buffer.nbytes
    return [*where, content, *tail]


def _places_in_block(ring: Ring, buffers: list[memoryview]) -> list[tuple[int, int]] | None:
    addresses = [_address_of(buffer) for buffer in buffers]
    places = _try_places(ring, buffers, addresses)
    if places is None:
        for i, buffer in enumerate(buffers):
            if ring.offset_of(addresses[i]) is not None:  # the block is given up for a larger one
                buffers[i] = memoryview(bytearray(buffer))
        if ring.take_larger_block(sum(buffer.nbytes + _ALIGNMENT for buffer in buffers)):
            places = _try_places(ring, buffers, addresses)
    return places


def _address_of(buffer: memoryview) -> int:
    owner: Any = buffer.obj
    return ctypes.addressof(owner) if isinstance(owner, ctypes.Array) else id(buffer)


def _try_places(
    ring: Ring, buffers: list[memoryview], addresses: list[int]
) -> list[tuple[int, int]] | None:
    offsets: dict[int, int] = {}  # by address: tensors over the same memory stay so
    # The largest first: others at its address are parts of it.
    for i in sorted(range(len(buffers)), key=lambda i: -buffers[i].nbytes):
        address, buffer = addresses[i], buffers[i]
        if address in offsets:
            continue
        offset = ring.offset_of(address)
        if offset is None:
            start = ring.reserve(buffer.nbytes)
            if start is None:
                return None
            ring.view(start, buffer.nbytes)[:] = buffer
            offset = start - ring.block
        offsets[address] = offset
    return [(offsets[a], buffer.nbytes) for a, buffer in zip(addresses, buffers, strict=True)]


def block_of(message: Any) -> int:
    """The start of the block that a message has; 0 if it has none."""
    start: int = _HEAD.unpack_from(message)[0] if len(message) else 0
    return start


def load(message: Any, lease: Callable[[int, int], Any]) -> Any:
    """The object of a message; ``lease`` gives the bytes of a block for its start and size."""
    view = memoryview(message)
    start, size, n_buffers = _HEAD.unpack_from(view)
    at = _HEAD.size
    if size:
        source = memoryview(lease(start, size)).cast("B")
    else:  # tensors and arrays must be able to write
        source = memoryview(bytearray(view)) if n_buffers and view.readonly else view
    buffers = []
    for _ in range(n_buffers):
        offset, nbytes = _WHERE.unpack_from(view, at)
        buffers.append(source[offset : offset + nbytes])
        at += _WHERE.size
    return pickle.loads(view[at:], buffers=buffers)

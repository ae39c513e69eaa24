"""The safetensors format: named tensors and nothing else, behind a header of JSON.

A file is the length of the header (8 bytes), the header, and the bytes of the tensors one after
another. Weights that share their memory are written once; the header's metadata says which names
are the same tensor, and :func:`load_file` makes them one again.
"""

from __future__ import annotations

import json
import math
import mmap as _mmap
import os
import struct
from collections.abc import Mapping
from typing import IO, Any

from facula import _core
from facula._core import Tensor
from facula.serialization._atomic import replacing
from facula.serialization._errors import CheckpointError, shown
from facula.serialization._memory import bytes_of
from facula.serialization._source import FileSource

__all__ = ["load_file", "save_file"]

_DTYPES = {
    "BOOL": _core.bool,
    "U8": _core.uint8,
    "I8": _core.int8,
    "I16": _core.int16,
    "I32": _core.int32,
    "I64": _core.int64,
    "F16": _core.float16,
    "BF16": _core.bfloat16,
    "F32": _core.float32,
    "F64": _core.float64,
    "C64": _core.complex64,
}
_NAMES = {str(dtype): name for name, dtype in _DTYPES.items()}
_MAX_HEADER = 100_000_000  # as the format's own library has it
_TIED = "facula.tied"


def save_file(
    tensors: Mapping[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors by their names, all or nothing as :func:`facula.save` does.

    Names of the same tensor (tied weights) are written once and restored tied by
    :func:`load_file`. Other programs find the tensor by the first of its names.

    Args:
        tensors: what to save; each is written contiguously.
        filename: the file.
        metadata: strings to keep beside them.

    Example:
        >>> import os, tempfile
        >>> from facula.serialization.safetensors import load_file, save_file
        >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
        >>> save_file({"w": facula.ones(2)}, path)
        >>> load_file(path)
        {'w': tensor([1., 1.])}
    """
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise ValueError(
                f"save_file: expected tensors by their names, got {type(tensor).__name__} "
                f"for {name!r}."
            )
        if str(tensor.dtype) not in _NAMES:
            raise ValueError(
                f"save_file: safetensors has no {tensor.dtype}, the dtype of {name!r}."
            )
    first: dict[Any, str] = {}
    tied = {}
    for name, tensor in tensors.items():
        is_name = name == (known := first.setdefault(_place(tensor, name), name))
        if not is_name:
            tied[name] = known
    # The largest elements first: each tensor then begins at a multiple of its element size.
    names = sorted(first.values(), key=lambda name: -tensors[name].itemsize)
    strings = {**(metadata or {}), **({_TIED: json.dumps(tied)} if tied else {})}
    header: dict[str, Any] = {"__metadata__": strings} if strings else {}
    end = 0
    for name in names:
        tensor = tensors[name]
        start, end = end, end + tensor.numel() * tensor.itemsize
        kind = _NAMES[str(tensor.dtype)]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with replacing(os.fspath(filename)) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in names:
            _write(tensors[name], file)


def _place(tensor: Tensor, name: str) -> Any:
    """What two names of one tensor have in common."""
    if not tensor.numel():
        return name
    memory = tensor.device, tensor.data_ptr(), tensor.dtype
    return *memory, tuple(tensor.shape), tensor.stride()


def _write(tensor: Tensor, file: IO[bytes]) -> None:
    if not tensor.numel():
        return
    whole = tensor.detach().cpu().contiguous()
    start = whole.storage_offset() * whole.itemsize
    memory = bytes_of(whole.untyped_storage())
    file.write(memory[start : start + whole.numel() * whole.itemsize])


def load_file(
    filename: str | os.PathLike[str], device: str | _core.device = "cpu", *, mmap: bool = False
) -> dict[str, Tensor]:
    """The tensors of a safetensors file by their names, tied ones tied.

    Args:
        filename: the file.
        device: where to put them.
        mmap: look at the file in place of reading it: pages are read when they are used, and
            changes stay in memory.

    Raises:
        CheckpointError: the file is not one of safetensors, or damaged.
    """
    with open(filename, "rb", buffering=0) as file:
        source = FileSource(file)
        header, start = _read_header(source)
        metadata = header.pop("__metadata__", {})
        memory = _map(file, source.size) if mmap else None
        places = _check_places(header, source.size - start)
        tensors = {}
        for name, (dtype, shape, (begin, end)) in places.items():
            if begin == end:
                tensors[name] = _core.empty(shape, dtype=dtype, device=device)
                continue
            at = start + begin
            if memory is not None and at % dtype.itemsize == 0:
                data = _core.frombuffer(memory[at : start + end], dtype=dtype)
            else:
                data = _core.empty((end - begin) // dtype.itemsize, dtype=dtype)
                source.readinto(at, bytes_of(data.untyped_storage()))
            tensors[name] = data.reshape(shape).to(device)
    return _tie(tensors, metadata)


def _map(file: IO[bytes], size: int) -> memoryview:
    return memoryview(_mmap.mmap(file.fileno(), size, access=_mmap.ACCESS_COPY))


def _damaged(what: str, offset: int | None = None, found: Any = None) -> CheckpointError:
    return CheckpointError(f"load_file: no safetensors file, or damaged: {what}", offset, found)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _damaged("its header has a name twice")
    return result


def _read_header(source: FileSource) -> tuple[dict[str, Any], int]:
    if source.size < 8:
        raise _damaged(f"it has only {source.size} bytes", 0)
    (n,) = struct.unpack("<Q", source.read(0, 8))
    if n > min(_MAX_HEADER, source.size - 8):
        raise _damaged(f"a header of {n} bytes is announced", 0, n)
    try:
        header = json.loads(source.read(8, n).decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"its header is no JSON ({error})", 8) from None
    if type(header) is not dict:
        raise _damaged("its header is no object of JSON", 8)
    return header, 8 + n


def _check_places(header: dict[str, Any], nbytes: int) -> dict[str, Any]:
    """Dtype, shape and bytes of each tensor, which cover the file without gap or overlap."""
    places: dict[str, Any] = {}
    for name, entry in header.items():
        keys = {"dtype", "shape", "data_offsets"}
        if type(entry) is not dict or set(entry) != keys or type(entry["dtype"]) is not str:
            raise _damaged(f"the entry of {shown(name)} is not complete", found=name)
        if entry["dtype"] not in _DTYPES:
            raise _damaged(f"{shown(name)} has the dtype {shown(entry['dtype'])}", found=name)
        dtype, shape, offsets = _DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        is_whole = all(
            type(part) is list and all(type(n) is int and 0 <= n < 1 << 62 for n in part)
            for part in (shape, offsets)
        )
        if not is_whole or len(offsets) != 2 or len(shape) > 64:
            raise _damaged(f"the shape or the place of {shown(name)} are no numbers", found=name)
        if math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
            raise _damaged(f"the shape and the bytes of {shown(name)} do not agree", found=name)
        places[name] = dtype, shape, offsets
    position = 0
    for begin, end in sorted(place[2] for place in places.values()):
        if begin != position:
            raise _damaged(f"no tensor begins at byte {position} of the data", position)
        position = end
    if position != nbytes:
        raise _damaged(f"its tensors have {position} bytes, and it has {nbytes} of them", position)
    return places


def _tie(tensors: dict[str, Tensor], metadata: Any) -> dict[str, Tensor]:
    if type(metadata) is not dict or not all(type(v) is str for v in metadata.values()):
        raise _damaged("its metadata are no strings")
    try:
        tied = json.loads(metadata.get(_TIED, "{}"), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        tied = None
    if type(tied) is not dict or not all(type(v) is str for v in tied.values()):
        raise _damaged("the names of its tied tensors are not told")
    for name, known in tied.items():
        if name in tensors or known not in tensors:
            raise _damaged(f"{shown(name)} is said to be {shown(known)}", found=name)
    return tensors | {name: tensors[known] for name, known in tied.items()}

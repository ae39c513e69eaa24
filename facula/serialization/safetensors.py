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
from facula.serialization._source import FileSource
from facula.storage import _bytes_of

__all__ = ["SafeSlice", "load_file", "safe_open", "save_file"]

_DTYPES = {
    "BOOL": _core.bool,
    "U8": _core.uint8,
    "U16": _core.uint16,
    "U32": _core.uint32,
    "U64": _core.uint64,
    "I8": _core.int8,
    "I16": _core.int16,
    "I32": _core.int32,
    "I64": _core.int64,
    "F8_E4M3": _core.float8_e4m3fn,
    "F8_E5M2": _core.float8_e5m2,
    "F8_E8M0": _core.float8_e8m0fnu,
    "F16": _core.float16,
    "BF16": _core.bfloat16,
    "F32": _core.float32,
    "F64": _core.float64,
    "C64": _core.complex64,
}
_NAMES = {str(dtype): name for name, dtype in _DTYPES.items()}
_MAX_HEADER = 100_000_000  # as the format's own library has it
_TIED = "facula.tied"
_FRAMEWORKS = {"pt": False, "torch": False, "pytorch": False, "np": True, "numpy": True}


def save_file(
    tensors: Mapping[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors by their names, all or nothing as :func:`facula.save` does.

    Names of the same tensor (tied weights) are written once and restored tied by
    :func:`load_file`. Other programs find the tensor by the first of its names.

    Args:
        tensors: the tensors to save, by name; each is written contiguously.
        filename: the path of the file.
        metadata: strings to keep beside the tensors, by name.

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
    text += b" " * (-len(text) % 8)  # so that the data, too, begin at a multiple of 8
    with replacing(os.fspath(filename)) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in names:
            _write(tensors[name], file)


def _place(tensor: Tensor, name: str) -> Any:
    """What two names of one tensor have in common."""
    if not tensor.numel():  # which may all have the same address, or none
        return name
    memory = tensor.device, tensor._address(), tensor.dtype, tensor.is_conj(), tensor.is_neg()
    return *memory, tuple(tensor.shape), tensor.stride()


def _write(tensor: Tensor, file: IO[bytes]) -> None:
    if not tensor.numel():
        return
    whole = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    start = whole.storage_offset() * whole.itemsize
    memory = _bytes_of(whole.untyped_storage())
    file.write(memory[start : start + whole.numel() * whole.itemsize])


def load_file(
    filename: str | os.PathLike[str], device: str | _core.device = "cpu", *, mmap: bool = False
) -> dict[str, Tensor]:
    """The tensors of a safetensors file by their names, tied ones tied.

    Args:
        filename: the path of the file.
        device: where to put the tensors.
        mmap: look at the file in place of reading it: pages are read when they are used, and
            changes stay in memory.

    Raises:
        CheckpointError: the file is not one of safetensors, or damaged.
    """
    with safe_open(filename, device=device) as file:
        tensors = {name: file._tensor(name, mmap).to(device) for name in file._places}
        return tensors | {name: tensors[known] for name, known in file._tied.items()}


class safe_open:
    """A safetensors file whose tensors are read one by one, when they are asked for.

    Args:
        filename: the path of the file.
        framework: what tensors are returned as: ``"pt"`` for Facula's, ``"np"`` for NumPy's.
        device: where to put the tensors.

    Raises:
        CheckpointError: the file is not one of safetensors, or damaged.

    Example:
        >>> import os, tempfile
        >>> from facula.serialization.safetensors import safe_open, save_file
        >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
        >>> save_file({"w": facula.arange(6).reshape(3, 2)}, path, {"by": "hand"})
        >>> with safe_open(path, "pt") as file:
        ...     file.keys(), file.metadata(), file.get_slice("w")[1:, 0]
        (['w'], {'by': 'hand'}, tensor([2, 4]))
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        framework: str = "pt",
        device: str | _core.device = "cpu",
    ) -> None:
        if framework not in _FRAMEWORKS:
            raise ValueError(
                f"safe_open: expected the framework to be one of {sorted(_FRAMEWORKS)}, got "
                f"{framework!r}."
            )
        self._is_numpy = _FRAMEWORKS[framework]
        self._device = _core.device(device)
        self._memory: memoryview | None = None
        self._file = open(filename, "rb", buffering=0)  # noqa: SIM115
        try:
            self._source = FileSource(self._file)
            header, self._start = _read_header(self._source)
            self._metadata = header.pop("__metadata__", {})
            self._places = _check_places(header, self._source.size - self._start)
            self._tied = _read_tied(self._places, self._metadata)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def keys(self) -> list[str]:
        """The names of the tensors, in the order of the alphabet."""
        return sorted([*self._places, *self._tied])

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order of the file; tied ones after the others."""
        return [*sorted(self._places, key=lambda name: self._places[name][2]), *self._tied]

    def metadata(self) -> dict[str, str] | None:
        """The strings that are kept beside the tensors; None if there are none."""
        return {k: v for k, v in self._metadata.items() if k != _TIED} or None

    def get_tensor(self, name: str) -> Any:
        """The tensor of that name."""
        return self._given(self._tensor(name, is_mapped=False))

    def get_slice(self, name: str) -> SafeSlice:
        """The tensor of that name for an index to choose from: only what it chooses is read."""
        return SafeSlice(self, name)

    def _given(self, tensor: Tensor) -> Any:
        return tensor.numpy() if self._is_numpy else tensor.to(self._device)

    def _place(self, name: str) -> tuple[str, _core.dtype, list[int], tuple[int, int]]:
        if self._file.closed:
            raise ValueError("safe_open: the file is closed.")
        known = self._tied.get(name, name)
        if known not in self._places:
            raise KeyError(f"safe_open: the file has no tensor {name!r}.")
        return known, *self._places[known]

    def _tensor(self, name: str, is_mapped: bool) -> Tensor:
        _, dtype, shape, (begin, end) = self._place(name)
        if begin == end:
            return _core.empty(shape, dtype=dtype)
        at = self._start + begin
        # Other programs need not align their tensors, and a view must be aligned.
        if is_mapped and at % dtype.itemsize == 0:
            self._memory = self._memory or _map(self._file, self._source.size)
            data = _core.frombuffer(self._memory[at : self._start + end], dtype=dtype)
        else:
            data = _core.empty((end - begin) // dtype.itemsize, dtype=dtype)
            self._source.readinto(at, _bytes_of(data.untyped_storage()))
        return data.reshape(shape)


class SafeSlice:
    """A tensor in a file; an index reads what it chooses.

    Args:
        file: the open file.
        name: the tensor's name.
    """

    def __init__(self, file: safe_open, name: str) -> None:
        self._file = file
        self._name = name
        known, _, self._shape, _ = file._place(name)
        self._dtype = _NAMES[str(file._places[known][0])]

    def get_shape(self) -> list[int]:
        """The sizes of the whole tensor."""
        return list(self._shape)

    def get_dtype(self) -> str:
        """The format's name of the dtype, such as ``"F32"``."""
        return self._dtype

    def __getitem__(self, index: Any) -> Any:
        # Of the mapped file only the pages that are copied here are read.
        return self._file._given(self._file._tensor(self._name, is_mapped=True)[index].clone())


def _map(file: IO[bytes], size: int) -> memoryview:
    return memoryview(_mmap.mmap(file.fileno(), size, access=_mmap.ACCESS_COPY))


def _damaged(what: str, offset: int | None = None, found: Any = None) -> CheckpointError:
    return CheckpointError(f"load_file: no safetensors file, or damaged: {what}", offset, found)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of two entries of one name readers take different ones: a file could show each its own.
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
        # type() and not isinstance: in Python True is an int.
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


def _read_tied(places: dict[str, Any], metadata: Any) -> dict[str, str]:
    """The further names of tensors, with the one that the file has each by."""
    if type(metadata) is not dict or not all(type(v) is str for v in metadata.values()):
        raise _damaged("its metadata are no strings")
    try:
        tied = json.loads(metadata.get(_TIED, "{}"), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        tied = None
    if type(tied) is not dict or not all(type(v) is str for v in tied.values()):
        raise _damaged("the names of its tied tensors are not told")
    for name, known in tied.items():
        if name in places or known not in places:
            raise _damaged(f"{shown(name)} is said to be {shown(known)}", found=name)
    return tied

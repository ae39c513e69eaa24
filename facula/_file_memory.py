"""Tensors over the memory of files."""

from __future__ import annotations

from typing import Any

from facula import _core
from facula._core import Tensor


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: _core.dtype | None = None,
    layout: _core.layout | None = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor whose memory is that of a file.

    Args:
        filename: the path of the file.
        shared: whether what is written to the tensor is written to the file, which is then made,
            or made longer, if need be.
        size: the number of elements.
        dtype: their dtype, by default the default one.
        layout: must be ``strided``.
        device: must be the CPU.
        pin_memory: must be False.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = facula.from_file(file.name, shared=True, size=3).fill_(2)
        ...     facula.from_file(file.name, size=3)
        tensor([2., 2., 2.])
    """
    if device is not None and _core.device(device).type != "cpu":
        raise RuntimeError(f"from_file: expected the CPU as device, got {device}.")
    if pin_memory:
        raise RuntimeError("from_file: the memory of a file cannot be pinned.")
    if layout not in (None, _core.strided):
        raise NotImplementedError(f"from_file: expected layout torch.strided, got {layout}.")
    kind = dtype or _core.get_default_dtype()
    n = size or 0
    # The storage knows how to map a file; typing checkers know of the core's part of it only.
    make: Any = _core.UntypedStorage.from_file
    storage = make(filename, bool(shared), n * kind.itemsize)
    return _core._tensor_over(storage, kind, 0, (n,), (1,))
